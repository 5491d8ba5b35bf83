"""When things go wrong: what a person is told, with which exit status, and that nothing is left behind."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.engines.guest import boot
from harness.engines.kernel import private_kernel
from harness.engines.outcome import EngineError, EngineOptions
from harness.engines.template import new_template
from harness.exchange import exchange
from harness.rundir import RunDir
from tests import ROOT
from tests.helpers.guests import child_environment, command, for_everybody, guests, soon, tutti

LONG = """
name = "long"
protocol = "raw"
limit = "10000000s"
[topology]
kind = "one_channel"
nodes = 2
channel = { rate = "10mbit" }
[[fault]]
at = "9000000s"
kind = "clock"
node = "n1"
step = "1s"
"""

SHORT = """
name = "short"
protocol = "raw"
[topology]
kind = "one_channel"
nodes = 2
channel = { rate = "10mbit" }
[workload]
kind = "steady"
rate = "100/s"
for = "20s"
"""


Way = Callable[[Path, EngineOptions, str], None]


def booted(run: Path, options: EngineOptions, agent: str) -> None:
    """A guest that is there for this run only."""
    with exchange(RunDir(run)) as files, boot(private_kernel(), files, options, agent=agent) as guest:
        guest.wait(lambda now: None)


def forked(run: Path, options: EngineOptions, agent: str) -> None:
    """A fork of a template."""
    with (
        exchange(RunDir(run)) as files,
        contextlib.closing(new_template(private_kernel(), options, agent)) as template,
        template.start(files, options) as guest,
    ):
        guest.wait(lambda now: None)


WAYS = pytest.mark.parametrize("way", [booted, forked])


@pytest.fixture(autouse=True)
def _nothing_left(tmp_path: Path) -> Iterator[None]:
    """Whatever a test did, its guests are gone when it is over."""
    yield
    assert soon(lambda: not guests(tmp_path)), guests(tmp_path)


def _start_long(tmp_path: Path) -> tuple[subprocess.Popen[str], Path]:
    """A run that would take hours, when its virtual clock has begun to move."""
    scenario = tmp_path / "long.toml"
    scenario.write_text(LONG)
    out = tmp_path / "long-run"
    process = subprocess.Popen(
        command("run", str(scenario), "--out", str(out)),
        cwd=ROOT,
        env=child_environment(),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    progress = out / "logs/progress"
    assert soon(lambda: progress.exists() and progress.read_text().strip() not in ("", "0.0 s"), 60)
    return process, out


def test_interrupted_by_ctrl_c(tmp_path: Path) -> None:
    process, out = _start_long(tmp_path)
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "interrupted" in complaint and "Traceback" not in complaint
    assert not (out / ".guest").exists()
    assert json.loads((out / "manifest.json").read_text())["failed"] == "the run was interrupted"


def test_killed_without_warning(tmp_path: Path) -> None:
    process, _ = _start_long(tmp_path)
    process.kill()
    process.communicate(timeout=30)  # the fixture sees that the guest has gone too


def test_guest_killed_half_way(tmp_path: Path) -> None:
    process, out = _start_long(tmp_path)
    os.kill(guests(tmp_path)[out], signal.SIGKILL)
    _, complaint = process.communicate(timeout=30)
    assert process.returncode == 2
    assert "the run died" in complaint and "agent.txt ends:" in complaint and "Traceback" not in complaint
    assert json.loads((out / "manifest.json").read_text())["failed"].startswith("the run died")


@WAYS
def test_guest_that_hangs(way: Way, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    with pytest.raises(EngineError, match=r"stood still at the start for 2 s of wall time; given up"):
        way(tmp_path, EngineOptions(stall_s=2), "tests.helpers.guest_hangs")
    assert not (tmp_path / ".guest").exists()


def test_a_guest_with_too_little_memory(tmp_path: Path) -> None:
    """A kernel whose memory is full throws code away, and reads it again: it would be at work for hours."""
    words = ["run", "raw/quiet", "--set", "topology.nodes=60", "--out", str(tmp_path / "run"), "--memory"]
    done = tutti(*words, "200")
    assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr
    assert "MB is too small for a network of this size (more of it: --memory)" in done.stderr, done.stderr
    done = tutti(*words, "64")
    assert (done.returncode, "Traceback" in done.stderr) == (64, False), done.stderr
    assert "too little for any guest" in done.stderr


def test_node_that_cannot_start(tmp_path: Path) -> None:
    scenario = tmp_path / "short.toml"
    scenario.write_text(SHORT)
    code = tmp_path / "code"
    for package in ("harness", "nodes", "topologies", "captures"):
        shutil.copytree(ROOT / package, code / package, ignore=shutil.ignore_patterns("__pycache__"))
    machine = code / "nodes/raw/machine.py"
    text = machine.read_text()
    broken = text.replace(
        "        self._refused = 0\n", '        raise RuntimeError("this machine is broken on purpose")\n'
    )
    assert broken != text
    machine.write_text(broken)
    done = tutti("run", str(scenario), "--out", str(tmp_path / "out"), code=code)
    assert done.returncode == 2
    assert "n1 failed: RuntimeError: this machine is broken on purpose" in done.stderr
    assert "agent.txt" in done.stderr


@WAYS
def test_guest_cannot_write_outside_its_run_directory(way: Way, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir(mode=0o777)
    victim.chmod(0o777)
    (victim / "precious").write_text("still here")
    run = tmp_path / "run"
    (run / "logs").mkdir(parents=True)
    (run / "victim").write_text(str(victim))
    way(run, EngineOptions(), "tests.helpers.guest_escape")
    said = json.loads((run / "said.json").read_text())
    assert said[-1] == "inside: WRITTEN"
    assert all(one.endswith(": Read-only file system") for one in said[:-1]), said
    assert [path.name for path in victim.iterdir()] == ["precious"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "victim"]


@pytest.mark.parametrize(
    ("words", "status", "complaint"),
    [
        (["run", "no-such.toml"], 64, "no-such.toml"),
        (["run", "raw/quiet", "--out", "/proc/nothing"], 64, "cannot make a run directory"),
        (["check", "/"], 64, "is no run directory"),
    ],
)
def test_bad_input(words: list[str], status: int, complaint: str, tmp_path: Path) -> None:
    done = tutti(*words)
    assert (done.returncode, "Traceback" in done.stderr) == (status, False), done.stderr
    assert complaint in done.stderr


def test_the_live_engine_is_for_root(tmp_path: Path) -> None:
    code = for_everybody(tmp_path)
    tmp_path.chmod(0o777)
    user = "nobody" if os.geteuid() == 0 else None
    words = ["run", "raw/quiet", "--engine", "live", "--out", str(tmp_path / "out")]
    done = tutti(*words, cwd=tmp_path, code=code, user=user)
    assert (done.returncode, "Traceback" in done.stderr) == (69, False), done.stderr
    assert "run as root" in done.stderr
    assert not (tmp_path / "out").exists()


def test_directory_in_use(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("x")
    done = tutti("run", "raw/quiet", "--out", str(tmp_path))
    assert done.returncode == 64
    assert "is not empty" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]


@pytest.mark.skipif(os.geteuid() != 0, reason="a small file system is mounted for this: needs root")
def test_full_disk(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    scenario = tmp_path / "full.toml"
    scenario.write_text(SHORT)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(disk)], check=True)
    try:
        done = tutti("run", str(scenario), "--out", str(disk / "run"))
        assert done.returncode == 2, done.stderr
        assert "Traceback" not in done.stdout
        assert "the disk is full" in done.stderr, done.stderr
    finally:
        subprocess.run(["umount", str(disk)], check=True)
