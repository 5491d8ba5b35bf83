"""Forks of a deep template are given what those before them used, in memory that those before them had: a run has fewer
faults by it, and sees nothing else of it."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.engines.kernel import private_kernel
from harness.engines.outcome import EngineOptions
from harness.engines.template import Template, new_template
from harness.engines.watch import Attended
from harness.exchange import Exchange, exchange
from harness.rundir import RunDir
from harness.scenario import loads
from harness.shape import shape_of
from tests.helpers.guest_writing import PAGES
from tests.helpers.guests import soon

SHAPE = shape_of(loads('name = "any"\nprotocol = "raw"\n[topology]\nkind = "mesh"\nnodes = 2\n'))
FEW, MANY = 50, 5_000
OPTIONS = EngineOptions()

Fork = Callable[[int], dict[str, Any]]


@pytest.fixture(scope="module")
def plain() -> Iterator[Template]:
    if not private_kernel().forks:
        pytest.skip("this private kernel cannot be forked")
    with contextlib.closing(new_template(private_kernel(), OPTIONS, "tests.helpers.guest_writing")) as one:
        yield one


@pytest.fixture
def deep(plain: Template) -> Iterator[Template]:
    """Of a guest in which a process is told how many pages to write to."""
    with contextlib.closing(plain.deepen(SHAPE)) as one:
        yield one


@contextlib.contextmanager
def started(deep: Template, pages: int, directory: Path) -> Iterator[tuple[Exchange, Attended]]:
    (directory / "logs").mkdir(parents=True)
    (directory / "pages").write_text(str(pages))
    with exchange(RunDir(directory)) as files, deep.start(files, OPTIONS) as guest:
        yield files, guest


@pytest.fixture
def fork(deep: Template, tmp_path: Path) -> Fork:
    def one(pages: int) -> dict[str, Any]:
        directory = tmp_path / f"run {len(list(tmp_path.iterdir()))}"
        with started(deep, pages, directory) as (_, guest):
            guest.wait(lambda now: None)
        said: dict[str, Any] = json.loads((directory / "said.json").read_text())
        return said

    return one


def test_what_the_first_fork_writes_to_the_next_has_already(fork: Fork) -> None:
    first, second, third = fork(MANY), fork(MANY), fork(FEW)
    assert first["faults"] >= MANY
    assert second["faults"] < MANY / 100
    assert {**second, "faults": 0} == {**first, "faults": 0}
    assert third["left"] == first["left"], "what nobody has written to has changed"
    assert third["holds"] != first["holds"]


def test_another_run_than_the_first_is_itself(fork: Fork) -> None:
    few, many, again = fork(FEW), fork(MANY), fork(FEW)
    assert many["faults"] >= MANY - 2 * FEW, "only the first is learned from"
    assert again["holds"] == few["holds"] != many["holds"]


def test_more_pages_than_can_be_noted_still_come_by_faults(fork: Fork) -> None:
    first, second = fork(PAGES), fork(PAGES)
    assert first["faults"] >= PAGES
    assert 0 < second["faults"] < PAGES / 5
    assert second["holds"] == first["holds"]


def test_a_run_that_is_killed_teaches_nothing(deep: Template, fork: Fork, tmp_path: Path) -> None:
    with started(deep, PAGES, tmp_path / "killed") as (files, _):
        assert soon(files.agent_log.exists)
    assert not (tmp_path / "killed/said.json").exists()
    first, second = fork(MANY), fork(MANY)
    assert first["faults"] >= MANY > second["faults"] * 100
    assert second["holds"] == first["holds"]


def test_forks_one_after_another_have_the_same_memory(fork: Fork) -> None:
    fork(FEW)
    template = youngest(youngest(os.getpid()))  # of the plain one, which is ours
    seen = memories(template)
    assert len(seen) == 2, "its own, and that of its fork"
    for _ in range(3):
        assert soon(lambda: not forks_of(template)), "processes of forks that have ended are left"
        fork(FEW)
        assert memories(template) == seen


def youngest(process: int) -> int:
    """The guest that it has started last."""
    image = str(private_kernel().image)
    return [one for one in children(process) if image in Path(f"/proc/{one}/cmdline").read_text()][-1]


def forks_of(template: int) -> list[int]:
    """Its forks and what they have left to it, as far as they are not gone. Each fork has a group of its own."""
    found = []
    for one in children(template):
        with contextlib.suppress(ProcessLookupError):
            if os.getpgid(one) != os.getpgid(template):
                found.append(one)
    return found


def children(process: int) -> list[int]:
    """The youngest last; numbers of processes begin again at some time, and do not tell."""
    found: list[int] = []
    for task in Path(f"/proc/{process}/task").iterdir():
        found += map(int, (task / "children").read_text().split())
    return sorted(found, key=began)


def began(process: int) -> int:
    """When it was started; 0: it is gone."""
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19])
    return 0


def memories(process: int) -> set[int]:
    """Of guests, that it has open."""
    found = set()
    for one in Path(f"/proc/{process}/fd").iterdir():
        with contextlib.suppress(OSError):
            if one.readlink().name.startswith("memfd:guest-memory"):
                found.add(one.stat().st_ino)
    return found
