"""A CPU for each run: nobody shares one while there are others, and a run that finds none goes without. One that has to
wait for its CPU is not given up. Nobody outlives who started it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Collection
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from harness.engines.outcome import EngineError
from harness.engines.watch import Attended, own_cpu, started
from harness.exchange import Exchange
from harness.rundir import RunDir
from tests.helpers.guests import busy, child_environment

NAME = f"tutti-test-{os.getpid()}"  # the runs of other tests are not ours


def test_no_cpu_is_given_twice() -> None:
    there = os.sched_getaffinity(0)
    with contextlib.ExitStack() as stack:
        given = [tuple(stack.enter_context(own_cpu(NAME))) for _ in range(len(there) + 1)]
    assert given[-1] == ()
    own = [cpu for one in given for cpu in one]
    assert len(set(own)) == len(own) and set(own) <= there


def test_a_cpu_is_free_again_whatever_happens() -> None:
    with contextlib.suppress(OSError), own_cpu(NAME) as first:
        raise OSError
    with own_cpu(NAME) as again:
        assert again == first


COMPUTES = """
import sys, time
from pathlib import Path
from harness.exchange import Answer, Exchange
from harness.manifest import Findings
from harness.rundir import RunDir
while time.process_time() < 1.5:
    pass
Exchange(RunDir(Path(sys.argv[1]))).give(Answer(Findings()))
"""


def _started(
    tmp_path: Path, program: str, stall_s: float, cpus: Collection[int] = ()
) -> AbstractContextManager[Attended]:
    """A process in place of a run, which tells no progress."""
    files = Exchange(RunDir(tmp_path))
    files.run.logs.mkdir()
    files.directory.mkdir()
    words = [sys.executable, "-c", program, str(tmp_path)]
    return started(words, child_environment(), files, files.agent_log, stall_s, cpus=cpus)


def test_waiting_for_a_processor_is_no_stall(tmp_path: Path) -> None:
    """Of a second and a half of computing, on a CPU that five others want too, so that it takes nine."""
    cpu = max(os.sched_getaffinity(0))
    with busy(5 * [cpu]), _started(tmp_path, COMPUTES, 6, [cpu]) as run:
        run.wait(lambda now: None)


def test_computing_for_ever_is_one(tmp_path: Path) -> None:
    said = "the run's clock stood still at the start for 2 s of wall time; given up"
    with _started(tmp_path, "while True: pass", 2) as run, pytest.raises(EngineError, match=said):
        run.wait(lambda now: None)


ORPHAN = """
import os, select
from harness.engines.watch import die_with_parent
parent = os.getpid()
end = os.pidfd_open(parent)
if os.fork() == 0:
    select.select([end], [], [])  # it is dead
    die_with_parent(parent)
    print("it lives")
"""


def test_who_is_an_orphan_before_it_is_tied_to_its_parent_dies_too() -> None:
    """A child may be slower to say so than its parent is to be killed: it would then wait for ever to be heard."""
    found = subprocess.run([sys.executable, "-c", ORPHAN], env=child_environment(), capture_output=True, text=True)
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")
