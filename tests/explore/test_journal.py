"""A search that is kept in a directory goes on there, whatever ended it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from harness.cli import main
from harness.explore.base import base_of
from harness.explore.journal import FILE, Journal
from harness.explore.search import Bounds, Tally, Where, search
from harness.scenario import ScenarioError
from tests.helpers.guests import child_environment, command, soon


def searched(folder: Path, runs: int, *settings: str, seed: int = 3) -> Tally:
    base = base_of("cmd", settings)
    with closing(Journal(folder, base, seed)) as journal:
        return search(base, seed, Bounds(None, runs), Where(jobs=1), lambda tally: None, journal)


def what(tally: Tally) -> object:
    """All of it that does not depend on how fast the machine is."""
    return tally.runs, tally.batches, tally.words, tally.newest, tally.parents, tally.milestones, tally.failures


def test_a_search_that_was_cut_off_goes_on_as_if_it_had_not_been(tmp_path: Path) -> None:
    whole = searched(tmp_path / "whole", 160)
    searched(tmp_path / "cut", 80)
    journal = tmp_path / "cut" / FILE
    with journal.open("ab") as file:
        file.write(b'{"news": {"batches": 1, "ru')  # killed while it wrote
    assert what(searched(tmp_path / "cut", 160)) == what(whole)
    assert what(searched(tmp_path / "cut", 160)) == what(whole), "all was done: nothing is done again"
    assert whole.milestones and all(json.loads(line) for line in journal.read_text().splitlines())


def test_a_failure_is_shrunk_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["explore", "cmd", "--set", "cmd.rules=printed", "--jobs", "1", "--memory-only", "--json"]
    documents = []
    for _ in range(2):
        assert main([*words, "--out", str(tmp_path)]) == 1
        documents.append(json.loads(capsys.readouterr().out))
    assert documents[0] == documents[1]
    assert len(list(tmp_path.glob("*.toml"))) == 1


def test_a_directory_is_of_one_search_and_of_one_process(tmp_path: Path) -> None:
    searched(tmp_path, 40)
    for settings, seed in ((("cmd.window=7",), 3), ((), 4)):
        with pytest.raises(ScenarioError, match="another scenario or seed"):
            searched(tmp_path, 40, *settings, seed=seed)
    other = command("explore", "cmd", "--seed", "3", "--runs", "40", "--memory-only", "--out", str(tmp_path))
    with closing(Journal(tmp_path, base_of("cmd"), 3)) as held:
        assert not held.is_outdated
        refused = subprocess.run(other, env=child_environment(), capture_output=True, text=True)
    assert refused.returncode == 64 and "another search is writing" in refused.stderr


def test_what_other_code_has_seen_does_not_count(tmp_path: Path) -> None:
    searched(tmp_path, 40)
    path = tmp_path / FILE
    head, _, rest = path.read_text().partition("\n")
    path.write_text(json.dumps(json.loads(head) | {"code": "older"}) + "\n" + rest)
    with closing(Journal(tmp_path, base_of("cmd"), 3)) as journal:
        assert journal.is_outdated and not list(journal.news())


@pytest.mark.parametrize(("sign", "status"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)])
def test_a_command_that_is_ended_leaves_a_directory_that_goes_on(tmp_path: Path, sign: int, status: int) -> None:
    out = tmp_path / "out"
    words = command("explore", "delta", "--jobs", "1", "--memory-only", "--seconds", "600", "--out", str(out))
    with (tmp_path / "log").open("wb") as log, ExitStack() as stack:
        process = subprocess.Popen(words, env=child_environment(), stdout=log, stderr=log, cwd=tmp_path)
        stack.callback(process.kill)
        journal = out / FILE
        assert soon(lambda: journal.is_file() and journal.read_bytes().count(b"\n") > 2, 60)
        os.kill(process.pid, sign)
        assert process.wait(60) == status
    log_text = (tmp_path / "log").read_text()
    assert ("the same command goes on" in log_text) == (sign == signal.SIGINT) and "Traceback" not in log_text
    before = sum(json.loads(line)["news"]["runs"] for line in journal.read_text().splitlines()[1:])
    again = command("explore", "delta", "--jobs", "1", "--memory-only", "--seconds", "600", "--out", str(out), "--json")
    found = subprocess.run(
        [*again, "--runs", str(before + 40)], env=child_environment(), capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr
    assert before + 20 <= json.loads(found.stdout)["runs"] <= before + 120
