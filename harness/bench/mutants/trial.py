"""One trial: a process of its own, in which one module is changed while it is imported; no file of the checkout is.

The process is forked from the benchmark's, which has imported the libraries. It forgets all modules of ours and imports
them again, so that what is derived from a changed one is derived anew.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import itertools
import multiprocessing
import os
import resource
import signal
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import pytest

from harness.bench.mutants.operators import Mutant
from harness.closure import ROOT, closure

BUILD = ROOT / "build" / "mutants"
_OURS = ("captures", "harness", "nodes", "tests", "topologies")
_MEMORY = 4 << 30
_WATCHED = 100  # calls of a function in a test
_TIMES, _AT_LEAST_S = 3, 3  # a test may take so many times its usual CPU time, and always so much


@dataclass(frozen=True, slots=True)
class Known:
    """A test, what it takes without a mutant, and which lines of which files it reaches."""

    name: str
    cpu_s: float
    lines: dict[str, list[int]]

    @property
    def limit_s(self) -> float:
        return max(_AT_LEAST_S, _TIMES * self.cpu_s)


def apart(work: Callable[..., Any], *arguments: Any) -> Any:
    """What it returns in a process of its own; None if that process was ended because it took too long."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=_in_there, args=(sender, work, *arguments))
    process.start()
    sender.close()
    try:
        found = receiver.recv()
    except EOFError:  # it is gone
        found = None
    process.join()
    if found is None and process.exitcode != -signal.SIGXCPU:
        raise RuntimeError(f"a trial ended with {process.exitcode}")
    return found


def _in_there(sender: Connection, work: Callable[..., Any], *arguments: Any) -> None:
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.dont_write_bytecode, sys.pycache_prefix = False, str(BUILD / "pycache")  # not beside the sources
    for name in list(sys.modules):
        if name.partition(".")[0] in _OURS:
            del sys.modules[name]
    sender.send(work(*arguments))


def limit_cpu(seconds: float) -> None:
    """The process may take so much more."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime + seconds) + 1, hard))


class Changed(importlib.machinery.SourceFileLoader):
    """Loads a module with a mutant in it; finds that module, and no other."""

    def __init__(self, mutant: Mutant) -> None:
        name = mutant.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        super().__init__(name, str(ROOT / mutant.path))
        self.mutant = mutant

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, self.path, loader=self)

    def get_code(self, fullname: str) -> CodeType:
        """Never from a cache."""
        source = self.mutant.applied(Path(self.path).read_bytes())
        return compile(source, self.path, "exec", dont_inherit=True)


def killer(mutant: Mutant, tests: Sequence[Known]) -> str:
    """The first of these tests that sees the mutant; empty if none does."""
    sys.meta_path.insert(0, Changed(mutant))
    chosen = _Chosen(tests)
    status = _pytest(chosen, dict.fromkeys(test.name.partition("::")[0] for test in tests), "--exitfirst")
    return "" if status == pytest.ExitCode.OK else chosen.failed or "its import"


def explored(mutant: Mutant, seed: int, cpu_s: float) -> tuple[str, str]:
    """What `tutti explore` finds in so much CPU time, in which run and when, and the case that fails; empty if it finds
    nothing. What several protocols are made of is looked for in all of them, by turns."""
    sys.meta_path.insert(0, Changed(mutant))
    from harness.explore.base import base_of, searched
    from harness.explore.hunt import Hunt, seldom_collect
    from harness.scenario import dump

    seldom_collect()
    limit_cpu(cpu_s + _AT_LEAST_S)  # a run may be endless
    names = [name for name in searched() if ROOT / mutant.path in closure([f"nodes.{name}"]).values()]
    try:
        states, begin = [Hunt(base_of(name), seed) for name in names], _cpu_s()
    except Exception as error:  # it cannot even begin
        return f"{type(error).__name__}: {error}", ""
    for state in itertools.cycle(states):
        for failure in state.batch():
            found = f"{state.base.protocol}: {', '.join(sorted(failure.broken))}"
            return f"{found} in run {failure.runs}, {_cpu_s() - begin:.0f} s", dump(failure.case)
        if _cpu_s() > begin + cpu_s:
            break
    return "", ""


def broken(case: str) -> str:
    """What the judges say of a case without any mutant: a search that finds it has found something else."""
    from harness.explore.base import base_of
    from harness.explore.judging import judged
    from harness.scenario import loads

    scenario = loads(case)
    space = base_of(scenario.protocol).explore
    assert space is not None
    return ", ".join(sorted(judged(scenario, space).broken))


class _Chosen:
    """Runs these tests in this order, each with its limit, and notes the first that fails."""

    def __init__(self, tests: Sequence[Known]) -> None:
        self.tests = {test.name: test for test in tests}
        self.failed = ""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        found = {item.nodeid: item for item in items}
        items[:] = [found[name] for name in self.tests if name in found]

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        limit_cpu(self.tests[item.nodeid].limit_s)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed = report.nodeid


def measured(path: str, packages: Sequence[str]) -> list[dict[str, Any]]:
    """All tests of a file, carried out, with what they reach in these packages: what `Known` is made of."""
    reach = _Reach([str(ROOT / package) + "/" for package in packages])
    status = _pytest(reach, [path])
    if status != pytest.ExitCode.OK:
        raise RuntimeError(f"{path} fails without any mutant: {', '.join(reach.failed) or status}")
    return reach.tests


class _Reach:
    """Notes which lines each test reaches. What has been seen in all its lines is watched no longer; nor is what was
    called very often, since watching is dear: it is taken to be reached in all."""

    def __init__(self, places: Sequence[str]) -> None:
        self.places = tuple(places)
        self.tests: list[dict[str, Any]] = []
        self.failed: list[str] = []
        self._codes: dict[int, CodeType] = {}  # by identity: their hash is as dear as they are long
        self._lines: dict[int, frozenset[int]] = {}  # none of those that are not asked for
        self._left: dict[int, set[int]] = {}
        self._calls: Counter[int] = Counter()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        begin = _cpu_s()
        sys.settrace(self._called)
        yield
        sys.settrace(None)
        lines: dict[str, set[int]] = {}
        for code, left in self._left.items():
            path = str(Path(self._codes[code].co_filename).relative_to(ROOT))
            lines.setdefault(path, set()).update(self._lines[code] - left)
        reached = {path: sorted(seen) for path, seen in lines.items()}
        self.tests.append({"name": item.nodeid, "cpu_s": _cpu_s() - begin, "lines": reached})
        self._left = {}
        self._calls.clear()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    def _called(self, frame: Any, event: str, argument: object) -> Any:
        code = id(frame.f_code)
        lines = self._lines.get(code)
        if lines is None:
            self._codes[code] = frame.f_code
            asked_for = frame.f_code.co_filename.startswith(self.places)
            lines = frozenset(line for _, _, line in frame.f_code.co_lines() if line) if asked_for else frozenset()
            self._lines[code] = lines
        if not lines:
            return None
        left = self._left.get(code)
        if left is None:
            left = self._left[code] = set(lines)
        self._calls[code] += 1
        if self._calls[code] > _WATCHED:
            left.clear()
        left.discard(frame.f_lineno)
        return self._line if left else None

    def _line(self, frame: Any, event: str, argument: object) -> Any:
        left = self._left.get(id(frame.f_code))
        if left:
            left.discard(frame.f_lineno)
        return self._line if left else None


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _pytest(plugin: object, paths: Any, *options: str) -> int:
    os.chdir(ROOT)
    return int(pytest.main([*options, "-p", "no:cacheprovider", "--assert=plain", *paths], plugins=[plugin]))
