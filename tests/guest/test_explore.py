"""Explore and the emulated network: a search there, what was found in memory replayed, and a difference told."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from harness.cli import main
from harness.explore.base import base_of
from harness.explore.found import Found, confirm, result_of, shrunk, write
from harness.explore.hunt import Failure, Hunt
from harness.explore.judging import judged
from harness.explore.search import Tally
from harness.explore.told import document, summary
from harness.judges import Outcome
from harness.runs import open_run
from harness.scenario import dump, load
from harness.verdict import judge_run
from tests.helpers.guests import digest, elsewhere, needs_kernel, run, tutti

pytestmark = [pytest.mark.guest, needs_kernel]

# Best effort. What comes twice is delivered twice, or ends a FRAIL program, which a run without faults does not show.
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    static char line[8192], to[256], data[4096];
    unsigned long long now, number, of, seq = strtoull(getenv("TUTTI_INCARNATION"), 0, 10) << 32;
    unsigned me = atoi(getenv("TUTTI_ME")), from, kind, origin;
#ifdef FRAIL
    unsigned long long last = 0;
#endif

    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "submit %llu %llu %255s %4095s", &now, &number, to, data) == 4) {
            printf("note sent about=%u seq=%llu peers=%s values=%llu\\n", me, ++seq, to, number);
            printf("send all 1 %u %llu %s\\n", me, seq, data);
        } else if (sscanf(line, "received %llu %u %u %u %llu %4095s", &now, &from, &kind, &origin, &of, data) == 6) {
#ifdef FRAIL
            if (of == last)
                abort();
            last = of;
#endif
            printf("note delivered about=%u seq=%llu data=%s\\n", origin, of, data);
        }
        puts(".");
        fflush(stdout);
    }
    return 0;
}
"""
SCENARIO = """
name = "forgetful"
protocol = "own"
settle = "50ms"
own = { program = "./forgetful" }
topology = { kind = "lan", nodes = 2 }
workload = { kind = "bursts", rounds = 2 }
[explore]
faults = ["duplicate"]
most_faults = 2
within = "60ms"
properties = ["ND"]
"""


def search(tmp_path: Path, capsys: pytest.CaptureFixture[str], *flags: str) -> tuple[dict[str, Any], Path]:
    """Build the program, search on the network; what was found, and the run in which it shows."""
    (tmp_path / "forgetful.c").write_text(PROGRAM)
    subprocess.run(["cc", "-O2", *flags, "-o", tmp_path / "forgetful", tmp_path / "forgetful.c"], check=True)
    scenario = tmp_path / "forgetful.toml"
    scenario.write_text(SCENARIO)
    out = tmp_path / "out"
    assert main(["explore", str(scenario), "--network", "--seconds", "600", "--json", "--out", str(out)]) == 1
    (failure,) = json.loads(capsys.readouterr().out)["failures"]
    assert (failure["faults"], failure["network"]) == (1, "confirmed")
    return failure, next(out.glob("*-run"))


def test_a_planted_defect_is_found_shrunk_and_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failure, run = search(tmp_path, capsys)
    assert failure["properties"] == ["ND"]
    assert any("twice" in one.verdict.sentence for one in judge_run(open_run(run)).properties)
    again = tutti("run", failure["file"], "--out", str(tmp_path / "again"))
    assert again.returncode == 1, again.stderr
    assert digest(tmp_path / "again")["n1.pcap"] == digest(run)["n1.pcap"]


def test_a_program_that_dies_of_what_it_gets_is_a_find(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failure, _ = search(tmp_path, capsys, "-DFRAIL")
    assert failure["properties"] == ["died"]
    assert "SIGABRT" in failure["sentence"]
    assert tutti("run", failure["file"], "--out", str(tmp_path / "again")).returncode == 2


def test_a_shrunk_case_replays_to_the_byte_elsewhere_and_for_another_user(tmp_path: Path) -> None:
    base = base_of("cmd", ["cmd.printed.clock=true"])
    assert base.explore is not None
    state, failures = Hunt(base, seed=1), list[Failure]()
    while not failures:
        failures = list(state.batch())
    text = write(shrunk(failures[0], base.explore, state.runs, 0.0), tmp_path).read_text()
    where, result = run(text, tmp_path / "here")
    assert "CD-1" in {one.verdict.property for one in result.properties if one.verdict.outcome is Outcome.FAIL}
    assert digest(where.path) == elsewhere(text, tmp_path)


CHANCE = """
name = "chance"
protocol = "raw"
topology = { kind = "lan", nodes = 2 }
workload = { kind = "script", message = [{ at = "0ms", node = "n1", to = "n2" }] }
[[impair]]
on = "receivers"
loss = "50%"
[[expect]]
property = "ST-4"
"""


def test_a_difference_between_the_levels_is_told_as_a_mistake_of_ours(tmp_path: Path) -> None:
    """What is lost by chance differs; a search writes chance down, this case has it left."""
    path = tmp_path / "chance.toml"
    differs: str | None = ""
    path.write_text(CHANCE)
    for seed in range(1, 20):
        case = load(path, seed=seed)
        if judged(case).against:
            path.write_text(dump(case))
            differs = confirm(path, ["ST-4"], tmp_path / f"{seed}")
            if differs:
                break
    assert differs and differs.startswith("ST-4 is pass there"), "in no run was another PDU lost"
    result = result_of(Found(case, ("ST-4",), "lost", 1, 1.0, 1.0, case), path, differs)
    assert f"NOT so on the emulated network, which is a mistake of ours: {differs}" in summary(case, Tally(), [result])
    (told,) = document(case, Tally(), [result])["failures"]
    assert told["network"] == differs
