"""Every run is a fork of a template: none differs from the first or from a booted guest, and none leaves anything."""

from __future__ import annotations

import contextlib
import hashlib
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from harness import rundir
from harness.engines.guest import boot
from harness.engines.kernel import private_kernel
from harness.engines.outcome import EngineError, EngineOptions
from harness.engines.template import Template, new_template
from harness.engines.virtual import Virtual
from harness.engines.watch import Attended
from harness.exchange import Exchange, exchange
from harness.scenario import Scenario, dump, loads
from harness.scenario.program import take_along
from harness.shape import shape_of
from tests import ROOT
from tests.helpers.guests import busy, child_environment, for_everybody, soon
from tests.helpers.replayed import SCENARIOS

OPTIONS = EngineOptions()
TEXT = """
name = "small"
protocol = "raw"
[topology]
kind = "one_channel"
nodes = 2
channel = { rate = "10mbit" }
[[impair]]
on = "receivers"
loss = "20%"
[workload]
kind = "bursts"
rounds = 5
"""
SMALL = loads(TEXT)


@pytest.fixture
def template() -> Iterator[Template]:
    if not private_kernel().forks:
        pytest.skip("this private kernel cannot be forked")
    with contextlib.closing(new_template(private_kernel(), OPTIONS)) as one:
        yield one


def pid() -> int:
    """The template that this process has started last."""
    image = str(private_kernel().image)
    children = Path("/proc/thread-self/children").read_text().split()
    *_, newest = [one for one in children if image in Path(f"/proc/{one}/cmdline").read_text()]
    return int(newest)


def handed_over(scenario: Scenario, directory: Path) -> contextlib.AbstractContextManager[Exchange]:
    where = rundir.create(scenario.name, scenario.seed, directory)
    where.scenario.write_text(dump(take_along(scenario, where.path)))
    return exchange(where, shape_of(scenario))


def fork(template: Template, scenario: Scenario, directory: Path) -> dict[str, str]:
    with handed_over(scenario, directory) as files:
        carry_out(template.start(files, OPTIONS))
        assert not files.take().failed
    return captured(directory)


def carry_out(guest: contextlib.AbstractContextManager[Attended]) -> None:
    with guest as under_way:
        under_way.wait(lambda now: None)


def captured(directory: Path) -> dict[str, str]:
    found = sorted((directory / "captures").iterdir())
    assert found
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


@pytest.fixture
def deep(template: Template) -> Iterator[Template]:
    with contextlib.closing(template.deepen(shape_of(SMALL))) as one:
        yield one


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_fork_has_the_bytes_of_a_booted_guest(name: str, template: Template, tmp_path: Path) -> None:
    scenario = loads(SCENARIOS[name])
    with handed_over(scenario, tmp_path / "booted") as files:
        carry_out(boot(private_kernel(), files, OPTIONS))
    assert fork(template, scenario, tmp_path / "forked") == captured(tmp_path / "booted")
    with contextlib.closing(template.deepen(shape_of(scenario))) as deep:
        for turn in ("first", "second"):
            assert fork(deep, scenario, tmp_path / turn) == captured(tmp_path / "booted")


CRASH = """
[[fault]]
at = "150ms"
kind = "crash"
node = "n2"
[[fault]]
at = "0ms"
kind = "drop"
pdu = { type = "DATA", src = 1 }
count = 2
[[clock]]
node = "n1"
offset = "1s"
"""


@pytest.mark.parametrize(
    ("settings", "more"),
    [
        (["seed=99"], ""),
        (["impair.0.loss=50%", "workload.rounds=7"], ""),
        (["protocol=st"], ""),
        ([], CRASH),
    ],
)
def test_one_deep_template_serves_all_runs_of_its_shape(
    settings: list[str], more: str, template: Template, deep: Template, tmp_path: Path
) -> None:
    fork(deep, SMALL, tmp_path / "another")
    scenario = loads(TEXT + more, settings=settings)
    found = fork(deep, scenario, tmp_path / "deep")
    assert found == fork(template, scenario, tmp_path / "plain")
    assert found != captured(tmp_path / "another")


FORKS_OF_A_DEEP_ONE = """
import sys
from pathlib import Path
from harness.bench.forks import carried_out, forked
from harness.engines.engine import engine_of
from harness.engines.outcome import EngineOptions
from harness.rundir import RunDir
from harness.scenario import load
from harness.shape import shape_of
scenario, *runs = map(Path, sys.argv[1:])
engine_of("virtual").get_ready(EngineOptions(), shape_of(load(scenario)), many=True)
for run in runs:
    run.mkdir()
    carried_out(load(scenario), RunDir(run), forked)
"""


def test_who_makes_a_deep_template_and_where_and_how_busy_the_machine_is_does_not_matter(
    template: Template, tmp_path: Path
) -> None:
    expected = fork(template, SMALL, tmp_path / "here")
    for name, user in [("near", None), ("somewhere else, with a longer name", "nobody" if os.geteuid() == 0 else None)]:
        away = tmp_path / name
        away.mkdir()
        code = for_everybody(away)
        away.chmod(0o777)
        (away / "scenario.toml").write_text(TEXT)
        runs = [away / "first", away / "second"]
        words = [sys.executable, "-P", "-c", FORKS_OF_A_DEEP_ONE, *map(str, (away / "scenario.toml", *runs))]
        with busy():
            subprocess.run(words, cwd=away, env=child_environment(code), user=user, check=True)
        assert [captured(run) for run in runs] == [expected, expected]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small one."""
    if os.geteuid() != 0:
        pytest.skip("a small file system is mounted for this: needs root")
    where = tmp_path / "disk"
    where.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", where], check=True)
    yield where
    subprocess.run(["umount", where], check=True)


def test_a_full_disk_ends_the_run_and_not_its_deep_template(deep: Template, disk: Path, tmp_path: Path) -> None:
    first = fork(deep, SMALL, tmp_path / "first")
    talkative = loads(TEXT, settings=["workload.rounds=500"])
    with handed_over(talkative, disk / "run") as files, pytest.raises(EngineError, match="the disk is full"):
        carry_out(deep.start(files, OPTIONS))
    assert fork(deep, SMALL, tmp_path / "second") == first


def test_without_room_for_a_deep_template_runs_go_on(
    disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Virtual()
    if not engine.forks:
        pytest.skip("this private kernel cannot be forked")
    engine.get_ready(OPTIONS, shape_of(loads(TEXT, settings=["topology.nodes=3"])))
    monkeypatch.setattr(tempfile, "tempdir", str(disk))
    filled = disk / "full"
    for size in (1 << 16, 1):
        with contextlib.suppress(OSError), filled.open("ab", buffering=0) as file:
            while file.write(bytes(size)):
                pass
    engine.get_ready(OPTIONS, shape_of(SMALL), many=True)
    with handed_over(SMALL, tmp_path / "run") as files:
        carry_out(engine.start(files, OPTIONS))
        assert not files.take().failed
    assert [path.name for path in disk.iterdir()] == ["full"]


def test_what_is_left_of_a_deep_template_goes_with_the_next(
    template: Template, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    script = "import os, sys\n" + FORKS_OF_A_DEEP_ONE.partition("for run in")[0] + "os.kill(os.getpid(), 9)\n"
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(TEXT)
    environment = child_environment(ROOT, {"TMPDIR": str(tmp_path)})
    subprocess.run([sys.executable, "-P", "-c", script, scenario], env=environment, check=False)
    (left,) = tmp_path.glob("tutti-template-*")
    with contextlib.closing(template.deepen(shape_of(SMALL))):
        (new,) = tmp_path.glob("tutti-template-*")
        assert new != left
        with contextlib.closing(template.deepen(shape_of(SMALL))):  # takes nothing from one that is at work
            assert len(list(tmp_path.glob("tutti-template-*"))) == 2
    assert not list(tmp_path.glob("tutti-template-*"))


def test_a_run_that_is_interrupted_takes_nothing_from_its_deep_template(
    template: Template, deep: Template, tmp_path: Path
) -> None:
    with (
        handed_over(SMALL, tmp_path / "interrupted") as files,
        pytest.raises(KeyboardInterrupt),
        deep.start(files, OPTIONS),
    ):
        raise KeyboardInterrupt
    assert not files.is_answered()
    assert fork(deep, SMALL, tmp_path / "next") == fork(template, SMALL, tmp_path / "plain")


def test_a_deep_template_refuses_a_run_of_another_shape(deep: Template, tmp_path: Path) -> None:
    other = loads(dump(SMALL), settings=["topology.nodes=3"])
    with handed_over(other, tmp_path / "run") as files:
        carry_out(deep.start(files, OPTIONS))
        assert files.take().failed == "the scenario is of another shape than what stands here"


@pytest.mark.parametrize("way", ["template", "deep"])
def test_the_hundredth_fork_has_the_bytes_of_the_first(
    way: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    one: Template = request.getfixturevalue(way)
    first = fork(one, SMALL, tmp_path / "1")
    files, children = belongings()
    for number in range(2, 100):
        fork(one, SMALL, tmp_path / str(number))
    assert fork(one, SMALL, tmp_path / "100") == first
    assert soon(lambda: belongings()[1] <= children), "forks or zombies are left"
    assert belongings()[0] == files


def belongings() -> tuple[set[str], set[str]]:
    """Its open files, and its children with the dead."""
    process = Path(f"/proc/{pid()}")
    files = {f"{path.name} {path.readlink()}" for path in (process / "fd").iterdir()}
    return files, set((process / f"task/{process.name}/children").read_text().split())


def test_another_seed_is_another_run(template: Template, tmp_path: Path) -> None:
    other = loads(dump(SMALL), seed=SMALL.seed + 1)
    assert fork(template, SMALL, tmp_path / "a") != fork(template, other, tmp_path / "b")


@pytest.mark.parametrize("what", ["files", "memory"])
def test_a_machine_that_gives_no_more_is_named_and_the_template_outlives_it(
    what: str, template: Template, tmp_path: Path
) -> None:
    fork(template, SMALL, tmp_path / "fine")
    used = [int(path.name) for path in Path(f"/proc/{pid()}/fd").iterdir()]
    limited, most, complaint = {
        "files": (resource.RLIMIT_NOFILE, max(used) + 3, "Too many open files"),
        "memory": (resource.RLIMIT_AS, 1 << 20, "map the guest's memory: Cannot allocate memory"),
    }[what]
    limits = resource.prlimit(pid(), limited)
    resource.prlimit(pid(), limited, (most, limits[1]))
    with handed_over(SMALL, tmp_path / "refused") as files, pytest.raises(EngineError, match=complaint):
        carry_out(template.start(files, OPTIONS))
    resource.prlimit(pid(), limited, limits)
    fork(template, SMALL, tmp_path / "fine again")


@pytest.fixture
def narrow() -> Iterator[Path]:
    """A group of processes that has little memory."""
    groups = Path("/sys/fs/cgroup/memory")
    if os.geteuid() != 0 or not (groups / "memory.limit_in_bytes").exists():
        pytest.skip("groups of processes with little memory cannot be made here")
    group = groups / f"tutti-{os.getpid()}"
    group.mkdir()
    (group / "memory.limit_in_bytes").write_text("40M")  # less than a fork has to copy
    yield group
    group.rmdir()


def test_a_run_that_the_machine_has_no_memory_for_says_so(template: Template, narrow: Path, tmp_path: Path) -> None:
    fork(template, SMALL, tmp_path / "fine")
    (narrow / "cgroup.procs").write_text(str(pid()))  # what it has already is charged elsewhere
    with (
        handed_over(SMALL, tmp_path / "none") as files,
        pytest.raises(EngineError, match=r"memory was full|its template died"),
    ):
        carry_out(template.start(files, OPTIONS))
    template.close()
    assert soon(lambda: not (narrow / "cgroup.procs").read_text())


def test_a_deep_template_that_dies_is_not_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next run is a fork of another one, and nothing is left of it."""
    engine = Virtual()
    if not engine.forks:
        pytest.skip("this private kernel cannot be forked")
    expected, made_in = None, tmp_path / "made in"
    made_in.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(made_in))
    for number in range(4):
        engine.get_ready(OPTIONS, shape_of(SMALL))
        with handed_over(SMALL, tmp_path / str(number)) as files:
            carry_out(engine.start(files, OPTIONS))
        expected = expected or captured(tmp_path / str(number))
        assert captured(tmp_path / str(number)) == expected
        if number == 2:
            killed = processes_printing_to(made_in)
            assert killed
            for process in killed:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            for process in killed:
                assert soon(partial(is_dead, process))
            assert not list(made_in.iterdir())


def processes_printing_to(directory: Path) -> list[int]:
    """Or to what was there once: a deep template, and what it has started."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str((process / "fd/1").readlink()).startswith(str(directory)):
                found.append(int(process.name))
    return found


def is_dead(process: int) -> bool:
    """Whoever is dying may print no more, and be heard to hang up only when his memory is free."""
    try:
        return (Path("/proc") / str(process) / "stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def test_a_template_that_dies_says_so(template: Template, tmp_path: Path) -> None:
    fork(template, SMALL, tmp_path / "fine")
    os.kill(pid(), signal.SIGKILL)
    assert soon(lambda: not template.is_alive)
    with handed_over(SMALL, tmp_path / "late") as files, pytest.raises(EngineError, match="its template died"):
        carry_out(template.start(files, OPTIONS))


def test_nothing_is_left_of_a_template(tmp_path: Path) -> None:
    pids = []
    for number in range(2):
        with contextlib.closing(new_template(private_kernel(), OPTIONS)) as one:
            pids.append(pid())
            if number:  # the other is closed before it has booted
                fork(one, SMALL, tmp_path / "run")
    assert soon(lambda: not [pid for pid in pids if processes_of(pid)])


def processes_of(session: int) -> list[int]:
    """Those of a session, which a template is the first of."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if int((entry / "stat").read_text().rpartition(")")[2].split()[3]) == session:
                    found.append(int(entry.name))
    return found
