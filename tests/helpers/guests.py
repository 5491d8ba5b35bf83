"""Runs in the private kernel, for tests: a scenario in, a run directory out."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from harness import rundir
from harness.engines.outcome import EngineOptions
from harness.engines.watch import tied
from harness.rundir import RunDir
from harness.runs import carry_out
from harness.scenario import loads
from harness.verdict import Result, judge_run
from tests import ROOT

needs_kernel = pytest.mark.skipif(
    "TUTTI_KERNEL" not in os.environ, reason="there is no private kernel: run the tests with `./tutti test`"
)


def run(text: str, out: Path, *, seed: int | None = None, settings: Sequence[str] = ()) -> tuple[RunDir, Result]:
    """Run and judge a scenario."""
    scenario = loads(text, seed=seed, settings=settings)
    where = rundir.create(scenario.name, scenario.seed, out)
    return where, judge_run(carry_out(scenario, where, EngineOptions(), lambda now: None))


def tutti(
    *words: str,
    cwd: Path = ROOT,
    code: Path = ROOT,
    user: str | None = None,
    environment: Mapping[str, str] | None = None,
    timeout_s: float = 300,
) -> subprocess.CompletedProcess[str]:
    """The command line as a process of its own."""
    return subprocess.run(
        command(*words),
        cwd=cwd,
        user=user,
        env=child_environment(code, environment),
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def command(*words: str) -> list[str]:
    """How to start it with this Python."""
    return [sys.executable, "-P", "-m", "harness", *words]


def child_environment(code: Path = ROOT, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment that the `tutti` shell file gives."""
    return {**os.environ, "PYTHONPATH": str(code), "PYTHONDONTWRITEBYTECODE": "1", **(more or {})}


def digest(where: Path) -> dict[str, str]:
    """What must be equal for equal runs."""
    files = [*sorted((where / "captures").iterdir()), where / "verdict.json"]
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def for_everybody(directory: Path) -> Path:
    """A copy of the code below this directory, which other users can read and enter wherever the checkout lies."""
    for package in ("harness", "nodes", "topologies", "captures"):
        shutil.copytree(ROOT / package, directory / "code" / package, ignore=shutil.ignore_patterns("__pycache__"))
    for one in (directory, *directory.parents):
        if one == Path(tempfile.gettempdir()):
            break
        one.chmod(one.stat().st_mode | 0o055)
    return directory / "code"


def elsewhere(text: str, tmp_path: Path) -> dict[str, str]:
    """What a run gives from a copy of the code at a longer path, as nobody if we are root, while all cores are busy."""
    away = tmp_path / "somewhere else, with a longer name"
    away.mkdir()
    code = for_everybody(away)
    scenario = away / "scenario.toml"
    scenario.write_text(text)
    user = None
    if os.geteuid() == 0:
        user = "nobody"
        shutil.chown(away, user)
    with busy():
        done = tutti("run", str(scenario), "--out", str(away / "run"), cwd=away, code=code, user=user)
    assert done.returncode in (0, 1), done.stderr
    assert (away / "run" / "verdict.json").exists(), done.stderr
    return digest(away / "run")


@contextlib.contextmanager
def busy(cpus: Collection[int] = ()) -> Iterator[None]:
    """While another program wants each of these CPUs, or of all."""
    with contextlib.ExitStack() as stack:
        for cpu in cpus or os.sched_getaffinity(0):
            words = f"import os\nos.sched_setaffinity(0, [{cpu}])\nwhile True: pass"
            other = stack.enter_context(
                subprocess.Popen([sys.executable, "-c", words], start_new_session=True, preexec_fn=tied())
            )
            stack.callback(other.kill)
        yield


def guests(under: Path) -> dict[Path, int]:
    """Private kernels that carry out a run now: run directory below that one -> process."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                output = (entry / "fd/1").readlink()
            except OSError:
                continue
            if output.name == "kernel.txt" and output.is_relative_to(under):
                found[output.parents[1]] = int(entry.name)
    return found


def soon(condition: Callable[[], object], patience_s: float = 20.0) -> bool:
    """Does it come true?"""
    end = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
