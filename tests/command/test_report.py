"""What the report says, without a browser: fates of copies, folded time, faults, text, and pages of equal bytes."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captures.evidence import Event, Evidence, Notes
from harness.bench.report import synthetic_run
from harness.cli import main
from harness.report import render, write_report
from harness.report.copies import Fate, Sending, match
from harness.report.faults import bands
from harness.report.folding import fold
from harness.report.page import page
from harness.report.scene import Scene, make_scene
from harness.report.seen import seen_in
from harness.report.series import series_of
from harness.report.text import as_text
from harness.runs import open_run
from harness.verdict import Result, judge_run
from nodes.wire.note import NoteKind
from tests import ROOT
from tests.helpers.captured import Frame
from tests.helpers.reported import NODES, START, US, broadcast, data, evil_run, write_run


def judged(run: Path) -> Result:
    return judge_run(open_run(run))


def scene_of(directory: Path) -> Scene:
    result = judged(directory)
    return make_scene(result.scenario, result.evidence)


def fates(sending: Sending) -> dict[int, Fate]:
    return {copy.to: copy.fate for copy in sending.copies}


# Copies.


def test_a_lost_copy_was_lost_after_the_last_who_saw_it(tmp_path: Path) -> None:
    frames = [*broadcast(data(1, 1), 100, lost=(3,)), *broadcast(data(2, 1), 2_000, unseen=True)]
    frames += broadcast(data(3, 1), 9_000)
    scene = scene_of(write_run(tmp_path, frames))
    one, two, three = scene.sent
    assert fates(one) == {1: Fate.ARRIVED, 2: Fate.ARRIVED, 3: Fate.LOST_ON_THE_WAY}
    assert [scene.seen.places[scene.seen.place[row]] for row in one.passed] == ["channel"]
    assert set(fates(two).values()) == {Fate.LOST_AT_ONCE}
    assert set(fates(three).values()) == {Fate.ARRIVED}
    lost = next(copy for copy in one.copies if copy.to == 3)
    assert lost.time_ns == START + 300 * US  # when it would have arrived
    assert lost.lost_at == "channel>n3"
    assert {copy.lost_at for copy in two.copies} == {"n2>channel"}


def test_of_equal_frames_the_one_that_did_not_arrive_is_lost(tmp_path: Path) -> None:
    frames = [*broadcast(data(1, 1), 100, lost=(2,)), *broadcast(data(1, 1), 5_000, lost=(3,))]
    frames += broadcast(data(2, 1), 9_000)
    first, again, _ = scene_of(write_run(tmp_path, frames)).sent
    assert fates(first)[2] is Fate.LOST_ON_THE_WAY and fates(first)[3] is Fate.ARRIVED
    assert fates(again)[3] is Fate.LOST_ON_THE_WAY and fates(again)[2] is Fate.ARRIVED
    assert again.original == 0 and first.original is None


def test_a_copy_that_comes_twice_is_no_second_sending(tmp_path: Path) -> None:
    double = Frame(START + 400 * US, "n2", data(1, 1), outgoing=False)
    (one,) = scene_of(write_run(tmp_path, [*broadcast(data(1, 1), 100), double])).sent
    assert [copy.fate for copy in one.copies if copy.to == 2] == [Fate.ARRIVED, Fate.DOUBLE]


def test_what_is_under_way_when_the_captures_end_is_not_lost(tmp_path: Path) -> None:
    frames = [*broadcast(data(1, 1), 100), Frame(START + 10_000 * US, "n2", data(2, 1))]
    *_, last = scene_of(write_run(tmp_path, frames)).sent
    assert set(fates(last).values()) == {Fate.UNDER_WAY}


def test_a_new_process_that_counts_from_one_again_repeats_nothing(tmp_path: Path) -> None:
    again = Event(START + 4_000 * US, 1, NoteKind.READY, values=(START,), incarnation=2)
    frames = [*broadcast(data(1, 1), 100), *broadcast(data(1, 1), 5_000)]
    assert [one.original for one in scene_of(write_run(tmp_path / "one", frames)).sent] == [None, 0]
    assert [one.original for one in scene_of(write_run(tmp_path / "two", frames, [again])).sent] == [None, None]


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_arrivals_find_their_sendings(draw: st.DataObject) -> None:
    """Sendings far enough apart, some lost: every arrival is told its own."""
    count = draw.draw(st.integers(1, 12))
    sent = [1_000 * index for index in range(count)]
    kept = draw.draw(st.lists(st.sampled_from(range(count)), unique=True).map(sorted))
    came = [sent[index] + 300 + draw.draw(st.integers(-150, 150)) for index in kept]
    assert match(sent, came, 300) == [(index, False) for index in kept]


# Time.


@given(st.lists(st.integers(0, 10**10), min_size=1, max_size=60), st.lists(st.integers(1, 10**7), max_size=9))
@settings(max_examples=200, deadline=None)
def test_folded_time_keeps_the_order_and_folds_no_event(times: list[int], flights: list[int]) -> None:
    folding = fold(np.array(times, dtype=np.int64), flights)
    assert all(a < b for a, b in zip(folding.times, folding.times[1:], strict=False))
    assert all(a < b for a, b in zip(folding.places, folding.places[1:], strict=False))
    assert not any(begin < time < end for time in times for begin, end in folding.folds)
    for begin, end in folding.folds:
        drawn = np.interp([begin, end], folding.times, folding.places)
        assert drawn[1] - drawn[0] < end - begin


def test_an_idle_second_takes_no_more_room_than_two_messages() -> None:
    folding = fold(np.array([0, 1_000_000, 1_001_000_000, 1_002_000_000]), [1_000_000])
    assert len(folding.folds) == 1
    assert folding.places[-1] < 8_000_000


# Faults and state.


def fault(at_us: int, text: str, *peers: int) -> Event:
    return Event(START + at_us * US, 0, NoteKind.FAULT, peers=peers, text=text)


def test_faults_are_bands_from_their_beginning_to_their_end() -> None:
    found = bands(
        [
            fault(1, "crash", 1),
            fault(2, "leave", 2),
            fault(3, "restart", 1),
            fault(3, "restart", 2),
            fault(4, "link down n3-s1"),
            fault(5, "partition n1>n2 n2>n1"),
            fault(6, "heal partition"),
            fault(7, "drop DATA towards n2", 2),
            fault(8, "impair n1-s1"),
            fault(9, "impair n2-s1"),
            fault(10, "impair ends n1-s1"),
            Event(START + 20 * US, 0, NoteKind.MARK, text="heal"),
        ],
        NODES,
    )
    shown = [
        (band.kind, band.nodes, None if band.end_ns is None else (band.end_ns - START) // US, band.lasting)
        for band in found
    ]
    assert shown == [
        ("crash", (1,), 3, True),
        ("leave", (2,), 3, True),
        ("link", (3,), 20, True),
        ("partition", (1, 2), 6, True),
        ("drop", (2,), 7, False),
        ("impair", (1,), 10, True),
        ("impair", (2,), None, True),
    ]


def test_state_that_moves_is_a_series_and_what_stands_still_is_none() -> None:
    def note(at: int, kind: NoteKind, seq: int, text: str = "", values: tuple[int, ...] = ()) -> Event:
        return Event(START + at, 1, kind, 1, seq, text=text, values=values, local_ns=START + at)

    notes = [
        note(1, NoteKind.ACCEPTED, 1),
        note(2, NoteKind.ACCEPTED, 2),
        note(3, NoteKind.PREACKED, 1),
        note(4, NoteKind.STATE, 0, "NORMAL", (0,)),
        note(5, NoteKind.STATE, 0, "PAKWAIT", (0,)),
        note(6, NoteKind.MEASURED, 0, "wait", (7,)),
        note(8, NoteKind.MEASURED, 0, "wait", (9,)),
    ]
    found = {one.name: one for one in series_of(notes, seen_in(Evidence((1,), Notes(notes)), {}, 0), [])}
    assert set(found) == {"RRL", "mode", "wait"}  # the clock is right for ever
    assert found["RRL"].nodes[1] == [(START + 1, 1), (START + 2, 2), (START + 3, 1)]
    assert found["mode"].levels == ["NORMAL", "PAKWAIT"]


# The page.


def test_equal_runs_give_equal_bytes_wherever_and_in_every_process(tmp_path: Path) -> None:
    run = synthetic_run(tmp_path / "one", 2_000)
    ours = write_report(judged(run)).read_bytes()
    other = tmp_path / "other name"
    shutil.copytree(run, other)
    (other / "report.html").unlink()
    code = (
        "import sys; from pathlib import Path; from harness.report import write_report; "
        "from harness.runs import open_run; from harness.verdict import judge_run; "
        "write_report(judge_run(open_run(Path(sys.argv[1]))))"
    )
    root = ROOT
    subprocess.run([sys.executable, "-c", code, str(other)], cwd=root, check=True, timeout=120)
    assert (other / "report.html").read_bytes() == ours
    assert synthetic_run(tmp_path / "two", 2_000, seed=2).name == "two"
    assert write_report(judged(tmp_path / "two")).read_bytes() != ours


def scripts(text: str) -> list[str]:
    return re.findall(r"<script>(.*?)</script>", text, re.DOTALL)


def hashed(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def test_a_page_allows_its_own_scripts_and_nothing_else() -> None:
    text = page(title="a & b", header="", body="<p>", start='const s = "</script><script>alert(1)</script>";')
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert "default-src 'none'" in policy[1] and "unsafe-eval" not in policy[1]
    assert len(scripts(text)) == 2  # the string has not ended its script
    assert all(hashed(script) in policy[1] for script in scripts(text))
    assert hashed(scripts(text)[0] + " ") not in policy[1]
    assert "<title>a &amp; b</title>" in text


def test_names_and_payloads_are_escaped(tmp_path: Path) -> None:
    text = write_report(judged(evil_run(tmp_path))).read_text()
    assert "window.broken" in text  # it is told ...
    assert "<script>window.broken" not in text and "<img" not in text  # ... and is text


# On a terminal.


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which one node delivers two messages in another order, though that is not expected."""
    run = synthetic_run(tmp_path_factory.mktemp("failing") / "run", 3_000)
    scenario = run / "scenario.toml"
    scenario.write_text(scenario.read_text().replace('verdict = "fail"', 'verdict = "pass"'))
    return run


def test_the_text_has_verdict_chart_and_the_failing_excerpt(failing: Path) -> None:
    result = judged(failing)
    text = as_text(result, 90)
    assert "NOT as expected" in text and "ST-3      fail" in text
    rows = [line for line in text.splitlines() if re.match(r"n\d +[ ▁-█×]+$", line)]
    assert [row[:2] for row in rows] == ["n1", "n2", "n3", "n4", "n5"]
    assert any("×" in row for row in rows)
    assert text.count("!deliv") == len(next(one for one in result.properties if one.verdict.events).verdict.events)
    chart = text[text.index("idle time folded") :].splitlines()
    assert max(map(len, chart)) <= 90


def test_a_capture_of_a_node_that_there_is_not_is_told_and_not_drawn(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", broadcast(data(1, 1), 100))
    captures = tmp_path / "run" / "captures"
    (captures / "n9.pcap").write_bytes((captures / "n2.pcap").read_bytes())
    text = as_text(judged(run), 90)
    assert "hole     n9.pcap" in text and not [line for line in text.splitlines() if line.startswith("n9 ")]


def test_the_text_shows_an_alarm_also_of_who_leaves_at_once(tmp_path: Path) -> None:
    at = START + 50 * US
    notes = [Event(at, 2, NoteKind.ALARM, text="no quorum", peers=(1,)), Event(at, 2, NoteKind.LEFT, text="no quorum")]
    run = write_run(tmp_path / "run", broadcast(data(1, 1), 100), notes)
    (row,) = [line for line in as_text(judged(run), 90).splitlines() if line.startswith("n2 ")]
    assert "!" in row and "L" not in row


def test_show_writes_the_report_once_and_again_when_the_run_is_judged_anew(
    failing: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["show", str(failing)]
    report = failing / "report.html"
    report.unlink(missing_ok=True)
    assert main(words) == 0
    assert capsys.readouterr().out.strip() == str(report)
    made = report.read_text()
    assert render(judged(failing)) == made
    report.write_text("stale")
    (failing / "scenario.toml").touch()
    main(words)
    assert report.read_text() == made


def test_diff_writes_both_runs_with_the_frame_at_which_they_part(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    same = broadcast(data(1, 1), 100)
    left = write_run(tmp_path / "left", [*same, *broadcast(data(2, 1), 900)])
    right = write_run(tmp_path / "right", [*same, *broadcast(data(2, 1), 900, lost=(3,))])
    target = tmp_path / "both.html"
    assert main(["diff", str(left), str(right), "--html", str(target)]) == 1
    assert "part in n3.pcap" in capsys.readouterr().out
    text = target.read_text()
    assert "Where they part" in text and "<code>n3.pcap</code>" in text and 'class="differs"' in text
    assert main(["diff", str(left), str(left), "--html", str(target)]) == 0
    assert "Where they part" not in target.read_text()
