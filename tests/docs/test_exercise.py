"""The stranger's exercise in CONTRIBUTING.md, done as it is written, on a copy of this checkout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.scenario import loads
from harness.scenario.problems import ScenarioError
from tests.helpers.pages import blocks, copy, write

IN_MEMORY = """
from harness.explore.judging import verdicts
from harness.explore.memory import carry_out
from harness.scenario import load
from harness.scenario.find import find

run = carry_out(load(find("again/blink")))
for one in verdicts(run):
    print(one.property, one.outcome)
print(*(note.text for note in run.world.history().notes if note.text.startswith("blink")), sep=", ")
"""
BLINK = """
from captures.evidence import Event
from harness.report.faults import bands
from harness.scenario import dump, load, loads
from harness.scenario.find import find
from harness.scenario.keys import keys
from nodes.wire.note import NoteKind
from tests.helpers.stage import WrittenDown

scenario = load(find("again/blink"))
assert loads(dump(scenario)) == scenario and dump(scenario).count("times = 3") == 1
print([name for name, _ in keys() if " blink " in name or name.startswith("[again]")])
stage = WrittenDown()
print(stage.all(scenario.fault))
events = [Event(at, 0, NoteKind.FAULT, peers=note.peers, text=note.text) for at, note in enumerate(stage.said)]
print([(band.kind, band.nodes, band.begin_ns, band.end_ns) for band in bands(events, (1, 2, 3))])
"""


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("exercise") / "tutti"
    copy(where)
    for block in blocks("CONTRIBUTING.md"):
        write(block, where)
    return where


def python(where: Path, *arguments: str) -> str:
    ran = subprocess.run([sys.executable, *arguments], cwd=where, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"cd {where}; python {' '.join(arguments)}\n{ran.stdout}\n{ran.stderr}"
    return ran.stdout


def test_it_takes_as_many_files_and_lines_as_it_says() -> None:
    written = [block for block in blocks("CONTRIBUTING.md") if block.file]
    (change,) = [block for block in blocks("CONTRIBUTING.md") if block.language == "diff"]
    added = [line for line in change.text.splitlines() if line.startswith("+") and not line.startswith("+++")]
    assert (len(written), change.text.count("+++"), len(added)) == (7, 1, 2)


def test_scenarios_lists_the_stage_and_the_report_know_what_is_new(done: Path) -> None:
    python(done, "-m", "harness", "validate", "again/blink")
    assert python(done, "-c", BLINK).splitlines() == [
        str(
            [f"[[fault]] blink {key}" for key in ("at", "when", "node", "times", "pause")]
            + ["[again] retry", "[again] attempts"]
        ),
        str(
            [
                *("300 'blink' 3", "300 pause n3", "350 resume n3", "400 pause n3", "450 resume n3", "500 pause n3"),
                *("550 resume n3", "550 'blink ends' 3"),
            ]
        ),
        "[('blink', (3,), 0, 1)]",
    ]


def test_nobody_knows_it_without_its_files() -> None:
    (text,) = [block.text for block in blocks("CONTRIBUTING.md") if block.language == "toml"]
    with pytest.raises(ScenarioError) as raised:
        loads(text)
    assert "no protocol is called 'again'" in str(raised.value) and "no fault is called 'blink'" in str(raised.value)


def test_the_scenario_is_judged_in_memory(done: Path) -> None:
    assert python(done, "-c", IN_MEMORY).splitlines() == [
        "NC pass",
        "NA pass",
        "ND pass",
        "AG-1 pass",
        "ST-4 pass",
        "blink, blink ends",
    ]


def test_the_new_tests_pass_and_so_do_those_that_look_at_everything(done: Path) -> None:
    pytest_ = ("-m", "pytest", "-q", "-n", "0")
    python(done, *pytest_, "tests/judges/test_again.py")
    python(done, *pytest_, "-k", "again or layers", "tests/machines/test_facets.py", "tests/style/test_architecture.py")
    python(done, "-m", "ruff", "check", ".")
    python(done, "-m", "ruff", "format", "--check", ".")
