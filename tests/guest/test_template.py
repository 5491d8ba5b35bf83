"""Every run is a fork of a template: none differs from the first or from a booted guest, and none leaves anything."""

from __future__ import annotations

import contextlib
import hashlib
import os
import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import rundir
from harness.engines.guest import boot
from harness.engines.kernel import private_kernel
from harness.engines.outcome import EngineError, EngineOptions
from harness.engines.template import Template, new_template
from harness.engines.watch import Attended
from harness.exchange import Exchange, exchange
from harness.scenario import Scenario, dump, loads
from harness.scenario.program import take_along
from tests.helpers.guests import soon
from tests.helpers.replayed import SCENARIOS

OPTIONS = EngineOptions()
SMALL = loads(
    """
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
)


@pytest.fixture
def template() -> Iterator[Template]:
    if not private_kernel().forks:
        pytest.skip("this private kernel cannot be forked")
    with contextlib.closing(new_template(private_kernel(), OPTIONS)) as one:
        yield one


def handed_over(scenario: Scenario, directory: Path) -> contextlib.AbstractContextManager[Exchange]:
    where = rundir.create(scenario.name, scenario.seed, directory)
    where.scenario.write_text(dump(take_along(scenario, where.path)))
    return exchange(where)


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


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_fork_has_the_bytes_of_a_booted_guest(name: str, template: Template, tmp_path: Path) -> None:
    scenario = loads(SCENARIOS[name])
    with handed_over(scenario, tmp_path / "booted") as files:
        carry_out(boot(private_kernel(), files, OPTIONS))
    assert fork(template, scenario, tmp_path / "forked") == captured(tmp_path / "booted")


def test_the_hundredth_fork_has_the_bytes_of_the_first(template: Template, tmp_path: Path) -> None:
    first = fork(template, SMALL, tmp_path / "1")
    files, children = belongings(template)
    for number in range(2, 100):
        fork(template, SMALL, tmp_path / str(number))
    assert fork(template, SMALL, tmp_path / "100") == first
    assert soon(lambda: belongings(template)[1] <= children), "forks or zombies are left"
    assert belongings(template)[0] == files


def belongings(template: Template) -> tuple[set[str], set[str]]:
    """Its open files, and its children with the dead."""
    process = Path(f"/proc/{template.pid}")
    files = {f"{path.name} {path.readlink()}" for path in (process / "fd").iterdir()}
    return files, set((process / f"task/{template.pid}/children").read_text().split())


def test_another_seed_is_another_run(template: Template, tmp_path: Path) -> None:
    other = loads(dump(SMALL), seed=SMALL.seed + 1)
    assert fork(template, SMALL, tmp_path / "a") != fork(template, other, tmp_path / "b")


def test_a_machine_that_gives_no_more_is_named_and_the_template_outlives_it(template: Template, tmp_path: Path) -> None:
    fork(template, SMALL, tmp_path / "fine")
    limits = resource.prlimit(template.pid, resource.RLIMIT_NOFILE)
    used = [int(path.name) for path in Path(f"/proc/{template.pid}/fd").iterdir()]
    resource.prlimit(template.pid, resource.RLIMIT_NOFILE, (max(used) + 3, limits[1]))
    with handed_over(SMALL, tmp_path / "refused") as files, pytest.raises(EngineError, match="Too many open files"):
        carry_out(template.start(files, OPTIONS))
    resource.prlimit(template.pid, resource.RLIMIT_NOFILE, limits)
    fork(template, SMALL, tmp_path / "fine again")


def test_a_template_that_dies_says_so(template: Template, tmp_path: Path) -> None:
    fork(template, SMALL, tmp_path / "fine")
    os.kill(template.pid, signal.SIGKILL)
    assert soon(lambda: not template.is_alive)
    with handed_over(SMALL, tmp_path / "late") as files, pytest.raises(EngineError, match="its template died"):
        carry_out(template.start(files, OPTIONS))


def test_nothing_is_left_of_a_template(tmp_path: Path) -> None:
    pids = []
    for number in range(2):
        with contextlib.closing(new_template(private_kernel(), OPTIONS)) as one:
            pids.append(one.pid)
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
