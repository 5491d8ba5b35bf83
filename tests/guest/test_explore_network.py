"""A search on the emulated network: for a program of a user's own, here with a planted defect, there is no other."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from harness.cli import main
from harness.runs import open_run
from harness.verdict import judge_run
from tests.helpers.guests import digest, needs_kernel, tutti

pytestmark = [pytest.mark.guest, needs_kernel]

# Best effort. What comes twice is delivered twice, which a run without faults does not show.
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    static char line[8192], to[256], data[4096];
    unsigned long long now, number, of, seq = strtoull(getenv("TUTTI_INCARNATION"), 0, 10) << 32;
    unsigned me = atoi(getenv("TUTTI_ME")), from, kind, origin;

    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "submit %llu %llu %255s %4095s", &now, &number, to, data) == 4) {
            printf("note sent about=%u seq=%llu peers=%s values=%llu\\n", me, ++seq, to, number);
            printf("send all 1 %u %llu %s\\n", me, seq, data);
        } else if (sscanf(line, "received %llu %u %u %u %llu %4095s", &now, &from, &kind, &origin, &of, data) == 6)
            printf("note delivered about=%u seq=%llu data=%s\\n", origin, of, data);
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


def test_a_planted_defect_is_found_shrunk_and_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "forgetful.c").write_text(PROGRAM)
    subprocess.run(["cc", "-O2", "-o", tmp_path / "forgetful", tmp_path / "forgetful.c"], check=True)
    scenario = tmp_path / "forgetful.toml"
    scenario.write_text(SCENARIO)
    out = tmp_path / "out"
    assert main(["explore", str(scenario), "--network", "--seconds", "600", "--json", "--out", str(out)]) == 1
    (failure,) = json.loads(capsys.readouterr().out)["failures"]
    assert (failure["properties"], failure["faults"], failure["network"]) == (["ND"], 1, "confirmed")
    run = next(out.glob("*-run"))
    assert any("twice" in one.verdict.sentence for one in judge_run(open_run(run)).properties)
    again = tutti("run", failure["file"], "--out", str(tmp_path / "again"))
    assert again.returncode == 1, again.stderr
    assert digest(tmp_path / "again")["n1.pcap"] == digest(run)["n1.pcap"]
