"""Reports in headless Chromium: no error, no request, failures are found, large runs stay smooth."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6

from captures.evidence import Event
from captures.samples import random_pdu
from harness.bench.browser import Browser
from harness.bench.report import measure_page, synthetic_run
from harness.judges import Outcome
from harness.report import write_report
from harness.report.page import asset
from harness.report.pair import write_pair
from harness.report.wiretable import described, described_packet
from harness.runs import open_run
from harness.scenario.find import find
from harness.verdict import Result, judge_run
from nodes.wire import Proto, all_pdu_types, encode
from nodes.wire.note import NoteKind
from nodes.wire.table import Bytes, Flags, Members, Payload, Records
from tests.helpers import guests
from tests.helpers.reported import START, US, broadcast, data, evil_run, write_run

PAINT_MS, ZOOM_MS, MEGABYTES = 2_000, 100, 10
EXPLORER = "tutti.explorers[0]"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """100,000 events; in the middle n2 delivers two messages in another order."""
    run = synthetic_run(tmp_path_factory.mktemp("large") / "run", 100_000)
    return write_report(judged(run))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with 2,000 events."""
    return write_report(judged(synthetic_run(tmp_path_factory.mktemp("small") / "run", 2_000)))


def judged(run: Path) -> Result:
    return judge_run(open_run(run))


def show(browser: Browser, page: Path) -> None:
    """Open a page on which nothing may go wrong, and from which nothing may be requested."""
    browser.open(page)
    assert browser.errors == []
    assert browser.requests == [page.resolve().as_uri()]


def settle(browser: Browser) -> None:
    browser.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def place_of(browser: Browser, what: str, condition: str = "true") -> tuple[float, float]:
    """Where on the screen a mark is."""
    x, y = browser.run(
        f"""(() => {{ const {{ diagram, model }} = {EXPLORER};
        document.querySelector('[data-part="diagram"]').scrollIntoView();
        const mark = diagram.marks.find((mark) => mark.what === '{what}' && {condition});
        const box = diagram.view.el.getBoundingClientRect(), {{ x_scale, y_scale }} = diagram.view.frame;
        return [box.left + x_scale.compute(mark.x), box.top + y_scale.compute(mark.y)]; }})()"""
    )
    return x, y


def text_of(browser: Browser, part: str) -> str:
    return str(browser.run(f"document.querySelector('[data-part=\"{part}\"]').textContent"))


# What is opened.


@guests.needs_kernel
@pytest.mark.guest
@pytest.mark.parametrize(
    "scenario",
    ["raw/crash-restart", "st/example-1", "st/printed-line", "to/crash", "delta/skew", "cmd/printed", "him/path-cut"],
)
def test_the_report_of_every_protocol_opens(scenario: str, browser: Browser, tmp_path: Path) -> None:
    _, result = guests.run(find(scenario).read_text(), tmp_path / "run")
    show(browser, write_report(result))
    assert browser.run(f"{EXPLORER}.model.events") > 20
    assert browser.run(f"{EXPLORER}.model.nodes.length") == result.scenario.topology.nodes
    failing = [one.verdict.property for one in result.properties if one.verdict.outcome is Outcome.FAIL]
    assert browser.run("document.querySelectorAll('[data-failure]').length") == len(failing)
    for mode in ("causal", "scale", "folded"):
        browser.run(f"{EXPLORER}.setMode('{mode}')")
        settle(browser)
        assert browser.run(f"{EXPLORER}.model.axis.mode") == mode
    # A message never arrives before it was sent, in causal order neither.
    assert browser.run(
        f"(() => {{ const {{ model }} = {EXPLORER}; model.layOut('causal');"
        " return model.cx.every((x, j) => x > model.sx[model.copies.of[j]]); })()"
    )
    assert browser.errors == []


def test_a_run_without_any_pdu_opens(browser: Browser, tmp_path: Path) -> None:
    show(browser, write_report(judged(write_run(tmp_path, []))))
    assert browser.run(f"{EXPLORER}.model.sends.count") == 0
    for key in "+cn0c/":
        browser.press(key)
    assert browser.errors == []


def test_a_clock_that_is_wrong_and_a_damaged_frame_are_shown(browser: Browser, tmp_path: Path) -> None:
    wrong = Event(START + 400 * US, 2, NoteKind.DELIVERED, 1, 1, local_ns=START + 3_400 * US)
    run = write_run(tmp_path, broadcast(data(1, 1), 100), [wrong])
    capture = run / "captures/n3.pcap"
    whole = capture.read_bytes()
    place = whole.rindex(b"hello")
    capture.write_bytes(whole[:place] + b"Hello" + whole[place + 5 :])
    show(browser, write_report(judged(run)))
    browser.run(f"{EXPLORER}.diagram.setRange(0, .55)")  # at the end of the run the clock is right again
    settle(browser)
    labels = browser.run(f"[...{EXPLORER}.diagram.labels.values()]")
    assert "n2\n+3.00 ms" in labels and "n1" in labels
    assert browser.run(f"{EXPLORER}.diagram.marks.filter(({{ what }}) => what === 'damaged').length") == 1
    assert browser.run(f"{EXPLORER}.model.lostCopies") == 1  # what is damaged has not arrived
    browser.point(*place_of(browser, "damaged"))
    settle(browser)
    assert "a damaged frame: n3.pcap #" in text_of(browser, "tip")


def test_an_unknown_run_says_why(browser: Browser, tmp_path: Path) -> None:
    run = write_run(tmp_path, [*broadcast(data(1, 1), 100), *broadcast(data(2, 1), 500)])
    capture = run / "captures/n2.pcap"
    capture.write_bytes(capture.read_bytes()[:-20])
    assert judged(run).outcome is Outcome.UNKNOWN
    show(browser, write_report(judged(run)))
    assert "Unknown" in str(browser.run("document.getElementById('verdict').textContent"))
    assert "truncated" in str(browser.run("document.querySelector('main').textContent"))


def test_what_a_scenario_and_a_payload_say_is_text(browser: Browser, tmp_path: Path) -> None:
    show(browser, write_report(judged(evil_run(tmp_path))))
    assert "<script>" in str(browser.run("document.querySelector('h1').textContent"))
    for number in range(3):  # the message, its lost copy, the alarm
        browser.run(f"{EXPLORER}.diagram.select({EXPLORER}.diagram.marks[{number}])")
        assert browser.run("typeof window.broken") == "undefined"
    assert browser.run("document.querySelectorAll('img').length") == 0
    assert browser.errors == []


def test_two_runs_stand_on_one_time_axis(browser: Browser, tmp_path: Path) -> None:
    same = broadcast(data(1, 1), 100)
    left = write_run(tmp_path / "left", [*same, *broadcast(data(2, 1), 900)])
    right = write_run(tmp_path / "right", [*same, *broadcast(data(2, 1), 50_000, lost=(3,))])
    show(browser, write_pair(left, right, tmp_path / "both.html"))
    assert browser.run("tutti.explorers.length") == 2
    assert browser.run("tutti.explorers.every(({ model }) => model.about.parting === 900000)")
    browser.press("+")
    settle(browser)
    ranges = browser.run("tutti.explorers.map(({ diagram }) => [diagram.range.start, diagram.range.end])")
    assert ranges[0] == ranges[1]
    assert ranges[0][1] - ranges[0][0] == pytest.approx(
        browser.run(f"({EXPLORER}.diagram.whole[1] - {EXPLORER}.diagram.whole[0]) / 2")
    )


# What one can do.


def test_the_failing_pdus_are_found(browser: Browser, large: Path) -> None:
    show(browser, large)
    verdict = browser.run(f"{EXPLORER}.model.about.failures[0]")
    names = [name for _, _, name in verdict["messages"]]
    assert verdict["property"] == "ST-3" and len(names) == 2
    assert not browser.run(f"{EXPLORER}.diagram.detailed")  # far too much for single PDUs
    browser.run("document.querySelector('[data-part=\"search\"]').focus()")
    for key in "failing data":
        browser.press(key)
    browser.press("Enter")
    settle(browser)
    sent = sum(browser.run(f"{EXPLORER}.model.search('{name} data').length") for name in names)
    assert sent >= 2 and text_of(browser, "count") == f"1 of {sent}"
    assert browser.run(f"{EXPLORER}.diagram.detailed")
    assert f"st.DATA {names[0]}" in text_of(browser, "details") or f"st.DATA {names[1]}" in text_of(browser, "details")
    browser.press("Escape")
    browser.run("document.querySelector('[data-failure=\"0\"]').click()")
    settle(browser)
    assert "DELIVERED" in text_of(browser, "details")
    shown = browser.run(
        f"{EXPLORER}.diagram.marks.filter((one) => one.what === 'note' && {EXPLORER}.model.failing[one.index]).length"
    )
    assert shown == len(verdict["notes"])


def test_the_pointer_dissects_and_a_click_names_frame_and_capture(browser: Browser, small: Path) -> None:
    show(browser, small)
    browser.run(f"{EXPLORER}.diagram.select({EXPLORER}.model.search('lost')[0], {{ reveal: true }})")
    settle(browser)
    x, y = place_of(browser, "copy", f"{EXPLORER}.model.lost(mark.index)")
    browser.point(x, y)
    settle(browser)
    assert not browser.run("document.querySelector('[data-part=\"tip\"]').hidden")
    tip = text_of(browser, "tip")
    assert "st.DATA" in tip and "lost" in tip and "tseq" in tip
    browser.point(x, y, click=True)
    settle(browser)
    details = text_of(browser, "details")
    assert "lost on channel>n" in details and "channel.pcap #" in details and "tshark -r captures/n" in details
    browser.press("Escape")
    settle(browser)
    assert "Click a PDU" in text_of(browser, "details")


def test_filters_take_away_and_give_back(browser: Browser, small: Path) -> None:
    show(browser, small)
    browser.run(f"{EXPLORER}.diagram.setRange(0, 4)")
    settle(browser)
    count = f"{EXPLORER}.diagram.marks.length"
    everything = browser.run(count)

    def press(chip: str) -> int:
        browser.run(
            f"[...document.querySelectorAll('.chip')].find((chip) => chip.textContent.startsWith('{chip}')).click()"
        )
        settle(browser)
        return int(browser.run(count))

    without = press("ACK")
    assert 0 < without < everything
    assert browser.run(
        f"{EXPLORER}.diagram.marks.every(({{ what, index }}) => what !== 'send' || {EXPLORER}.model.sends.about[index])"
    )
    assert press("n3") < without
    assert browser.run(
        f"{EXPLORER}.diagram.marks.every((one) => one.what !== 'copy' || {EXPLORER}.model.copies.to[one.index] !== 3)"
    )
    press("n3")
    assert press("ACK") == everything
    browser.run(f"{EXPLORER}.only(2, 1)")
    settle(browser)
    assert 0 < browser.run(count) < everything
    assert browser.errors == []


def test_the_keyboard_is_enough(browser: Browser, small: Path) -> None:
    show(browser, small)
    span = f"{EXPLORER}.diagram.range.end - {EXPLORER}.diagram.range.start"
    whole = browser.run(span)
    for _ in range(4):
        browser.press("+")
    assert browser.run(span) == pytest.approx(whole / 16)
    settle(browser)
    told = []
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft"):
        browser.press(key)
        settle(browser)  # what is selected stays in sight, near the edge, too
        told.append(text_of(browser, "details"))
    assert told[0] == told[2] != told[1]
    browser.press("c")
    assert browser.run(f"{EXPLORER}.model.axis.mode") == "causal"
    browser.press("c")
    browser.press("0")
    assert browser.run(span) == pytest.approx(whole)
    browser.press("/")
    assert browser.run("document.activeElement.dataset.part") == "search"
    browser.press("Escape")
    assert browser.errors == []


def test_dark_mode_and_paper(browser: Browser, small: Path) -> None:
    show(browser, small)
    fill = f"{EXPLORER}.diagram.fig.background_fill_color"
    light = browser.run(fill)
    browser.dark(True)
    settle(browser)
    assert browser.run("document.documentElement.dataset.look") == "dark"
    assert browser.run(fill) != light
    corner = f"[...{EXPLORER}.diagram.view.canvas_view.primary.canvas.getContext('2d').getImageData(9, 9, 1, 1).data]"
    # Paper is light, and does not wait for the next frame: what promises do at once must be enough.
    on_paper = browser.run(
        "(async () => { dispatchEvent(new Event('beforeprint')); for (let i = 0; i < 300; i++) await null;"
        f" const found = {corner}; dispatchEvent(new Event('afterprint')); return found; }})()"
    )
    assert min(on_paper[:3]) > 240
    printed = browser.print()
    assert printed.startswith(b"%PDF") and b"/MediaBox [0 0 842" in printed.replace(b"841.91998", b"842")
    browser.dark(False)
    settle(browser)
    assert browser.run(fill) == light
    assert browser.errors == []


# Size and speed.


def test_nothing_is_left_out_of_a_large_run(browser: Browser, large: Path) -> None:
    show(browser, large)
    assert browser.run(f"{EXPLORER}.model.events") >= 100_000
    counted = browser.run(
        f"""(() => {{ const {{ counts, lost, said }} = {EXPLORER}.diagram.bins;
        return [counts, lost, said].map((array) => array.reduce((a, b) => a + b, 0)).reduce((a, b) => a + b); }})()"""
    )
    assert counted == browser.run(f"{EXPLORER}.model.events")


def test_a_large_run_is_small_and_smooth(large: Path) -> None:
    """By the processor time of the page's main thread: its clock also counts what neighbours on the machine take."""
    assert large.stat().st_size < MEGABYTES * 1e6
    with Browser() as fresh:
        times = measure_page(fresh, large)
    print(times)
    assert times.events >= 100_000
    assert times.paint_cpu_ms < PAINT_MS
    assert times.zoom_cpu_ms < ZOOM_MS


# The page's own dissection, against the codec.


def spelled(kind: Any, value: Any) -> str:
    """A value as the page writes it."""
    match kind:
        case Flags():
            return " ".join([str(value), *(name for bit, name in enumerate(kind.names) if value >> bit & 1)])
        case Members():
            return " ".join(f"n{j}" for j in value) or "(nobody)"
        case Records():
            return " ".join(f"<{','.join(map(str, record))}>" for record in value) or "(none)"
        case Bytes():
            return value.hex(" ")  # type: ignore[no-any-return]
        case Payload():
            return value.hex(" ") or "(empty)"
        case _ if isinstance(value, tuple):
            return " ".join(map(str, value)) or "(none)"
    return str(value)


def test_the_page_dissects_as_the_codec_does(browser: Browser) -> None:
    browser.call("Page.navigate", url="about:blank")
    browser.run("globalThis.tutti = {};" + asset("wire.js"))
    draws = random.Random(4)
    for row in all_pdu_types():
        if row.proto is Proto.NOTE:
            continue
        for _ in range(6):
            pdu = random_pdu(row, draws)
            wire = encode(pdu)
            lines = browser.run(
                f"tutti.dissect({json.dumps(described(row))}, Uint8Array.from({list(wire)}), {len(wire)})"
            )
            for field, (name, shown, meaning) in zip(row.fields, lines, strict=True):
                value = getattr(pdu, field.name)
                printable = isinstance(field.kind, Payload) and value and all(32 <= byte < 127 for byte in value)
                expected = json.dumps(value.decode()) if printable else spelled(field.kind, value)
                assert (name, shown, meaning) == (field.name, expected, field.meaning), row.name


def test_the_page_dissects_packets(browser: Browser) -> None:
    browser.call("Page.navigate", url="about:blank")
    browser.run("globalThis.tutti = {};" + asset("wire.js"))
    four, six = IP(src="10.0.0.1", dst="10.0.0.2"), IPv6(src="fd00::1", dst="fd00::2")
    for packet, version, protocol, expected in (
        (
            four / UDP(sport=40_000, dport=7000) / b"hello",
            4,
            17,
            {"source": "10.0.0.1", "port": "7000", "rest": '"hello"'},
        ),
        (
            four / TCP(sport=80, dport=9, seq=5, ack=6, flags="SA"),
            4,
            6,
            {"seq": "5", "ack": "6", "flags": "20498 syn ack"},
        ),
        (six / UDP(dport=53), 6, 17, {"destination": "fd00:0000:0000:0000:0000:0000:0000:0002", "port": "53"}),
    ):
        wire, row = bytes(packet), described_packet("a packet", version, protocol, bare=False)
        lines = browser.run(f"tutti.dissect({json.dumps(row)}, Uint8Array.from({list(wire)}), {len(wire)})")
        shown = {name: value for name, value, _ in lines}
        assert {name: shown[name] for name in expected} == expected


# The browser that watches.


@pytest.mark.parametrize(
    ("page", "what"),
    [
        ("<script>console.error('oh')</script>", "errors"),
        ("<script>nothing.there()</script>", "errors"),
        ("<img src='http://127.0.0.1:9/x.png'>", "requests"),
        ("<meta http-equiv='Content-Security-Policy' content=\"script-src 'none'\"><script>1</script>", "errors"),
    ],
)
def test_what_a_page_does_wrong_is_seen(page: str, what: str, browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(f"<html data-state='ready'>{page}</html>")
    browser.open(path)
    assert len(getattr(browser, what)) >= (2 if what == "requests" else 1)
