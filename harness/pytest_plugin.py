"""pytest collects scenarios: each file is a set of tests, one per expectation, over the seeds that it names.

    tutti pytest DIR                    every scenario below DIR; all that pytest takes may follow
    ... --tutti-golden                  also compares the captures with those that are stored beside the file
    ... --tutti-renew                   puts the new captures in their place
    ... -n auto                         one guest per core; the tests of one run stay together

A scenario is a TOML file with a `protocol`. Its run is carried out when the first of its tests is, and its directory
is kept, below --tutti-runs, if one of them fails. In Python, the fixture `tutti_run` carries out a scenario that is
made there.
"""

from __future__ import annotations

import contextlib
import copy
import re
import shutil
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # what carries out and judges runs is imported by the first scenario: the plugin costs nothing before
    from harness.rundir import RunDir
    from harness.scenario import Scenario
    from harness.verdict import Judged, Measured, Result

_GOLDEN = "golden"  # the directory beside a scenario
_EVIDENCE = "evidence"  # the test that the captures are complete


def pytest_addoption(parser: pytest.Parser) -> None:
    """--tutti-..."""
    group = parser.getgroup("tutti", "scenarios as tests")
    group.addoption("--tutti-golden", action="store_true", help="compare captures with those stored in golden/")
    group.addoption("--tutti-renew", action="store_true", help="store the captures in golden/")
    group.addoption(
        "--tutti-runs", metavar="DIR", default="runs", help="where run directories of failures stay (default: runs)"
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object | None:
    """With -n: the tests of one run go to one process, which alone carries it out."""
    if config.option.dist != "load":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class OneProcessPerRun(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            run, _, _ = nodeid.rpartition("::")
            return run if ".toml::" in run else nodeid

    return OneProcessPerRun(config, log)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A TOML file that names a protocol."""
    in_a_run = (file_path.parent / "manifest.json").exists()
    if file_path.suffix != ".toml" or in_a_run or not _names_a_protocol(file_path):
        return None
    return ScenarioFile.from_parent(parent, path=file_path)


def _names_a_protocol(path: Path) -> bool:
    text = path.read_text(encoding="utf-8", errors="replace")
    try:
        return "protocol" in tomllib.loads(text)
    except tomllib.TOMLDecodeError:  # then its mistake is told as that of a scenario
        return re.search(r"^protocol\s*=", text, re.MULTILINE) is not None


class ScenarioFile(pytest.File):
    """One file; a group of tests per seed."""

    def collect(self) -> Iterator[pytest.Collector]:
        from harness.scenario import load
        from harness.scenario.problems import ScenarioError

        try:
            scenario = load(self.path)
        except ScenarioError as error:
            raise self.CollectError(str(error)) from None
        for seed in range(scenario.seed, scenario.seed + (scenario.seeds or 1)):
            yield SeedRun.from_parent(self, name=f"seed {seed}", scenario=replace(scenario, seed=seed, seeds=None))


class SeedRun(pytest.Collector):
    """One run, carried out by the first of its tests."""

    def __init__(self, *, scenario: Scenario, **more: Any) -> None:
        super().__init__(**more)
        self.scenario = scenario
        self.stem = f"{self.path.stem}-s{scenario.seed}"
        self.kept = False
        self._result: Result | BaseException | None = None

    def collect(self) -> Iterator[pytest.Item]:
        from harness.verdict import expectations

        yield EvidenceTest.from_parent(self, name=_EVIDENCE)
        properties, metrics = expectations(self.scenario)
        for name in properties:
            yield PropertyTest.from_parent(self, name=name)
        for number, expect in enumerate(metrics):
            yield MetricTest.from_parent(self, name=str(expect.metric), number=number)
        if self.config.option.tutti_golden or self.config.option.tutti_renew:
            yield GoldenTest.from_parent(self, name=_GOLDEN)

    @property
    def golden(self) -> Path:
        return self.path.parent / _GOLDEN / self.stem

    @property
    def directory(self) -> Path:
        return Path(self.config.option.tutti_runs).absolute() / self.stem

    @property
    def result(self) -> Result:
        """The judged run, carried out once, also if that fails."""
        if self._result is None:
            try:
                self._result = carried_out(self.scenario, self.directory)
            except Exception as error:
                self._result = error
        if isinstance(self._result, BaseException):
            raise self._result
        return self._result

    def teardown(self) -> None:
        if self._result is not None and not self.kept:
            forget(self.directory)


def forget(directory: Path) -> None:
    """A run that nobody has to look at."""
    shutil.rmtree(directory, ignore_errors=True)
    with contextlib.suppress(OSError):
        directory.parent.rmdir()  # if nothing else is in it


def carried_out(scenario: Scenario, directory: Path) -> Result:
    """Carry out a scenario into a directory that only an earlier run of tests may have used, and judge it."""
    from harness import rundir
    from harness.engines.outcome import EngineOptions
    from harness.report import write_report
    from harness.runs import carry_out
    from harness.verdict import judge_run

    if rundir.begun(directory):
        shutil.rmtree(directory)
    where = rundir.create(scenario.name, scenario.seed, directory)
    result = judge_run(carry_out(scenario, where, EngineOptions(), lambda now: None))
    write_report(result)
    return result


class Unexpected(Exception):
    """What a run shows is not what its scenario expects; the text says all that a person is told."""


class RunTest(pytest.Item):
    """Something that a run must show."""

    parent: SeedRun

    @property
    def run_of(self) -> SeedRun:
        assert isinstance(self.parent, SeedRun)
        return self.parent

    def complain(self, *lines: str) -> None:
        """Fail, with where to look closer."""
        owner = self.run_of
        report = owner.result.run.where.report
        raise Unexpected("\n".join([*lines, f"report: {report}", f"again:  {_again(owner.path, owner.scenario.seed)}"]))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        self.run_of.kept = True
        if isinstance(excinfo.value, Unexpected):
            return str(excinfo.value)
        from harness.engines.outcome import EngineError, MachineLacks
        from harness.rundir import RunDirError

        if isinstance(excinfo.value, EngineError | MachineLacks | RunDirError):
            return f"{excinfo.value}\nagain:  {_again(self.run_of.path, self.run_of.scenario.seed)}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"{self.path.stem}: {self.run_of.name}: {self.name}"


def _again(path: Path, seed: int) -> str:
    return f"tutti run {path} --seed {seed}"


class EvidenceTest(RunTest):
    """The captures are complete, so that they can be judged."""

    def runtest(self) -> None:
        holes = self.run_of.result.evidence.holes
        if holes:
            self.complain("the evidence has holes:", *(f"    {hole}" for hole in holes))


class PropertyTest(RunTest):
    """A property has the verdict that the scenario expects."""

    def runtest(self) -> None:
        from harness.judges import Outcome

        judged: Judged = next(one for one in self.run_of.result.properties if one.verdict.property == self.name)
        if judged.outcome is not Outcome.PASS:
            verdict = judged.verdict
            self.complain(
                f"{self.name}: {verdict.outcome}, expected {judged.expected}: {verdict.sentence}",
                *(f"    {line}" for line in verdict.excerpt),
            )


class MetricTest(RunTest):
    """A metric lies where the scenario expects it."""

    def __init__(self, *, number: int, **more: Any) -> None:
        super().__init__(**more)
        self.number = number

    def runtest(self) -> None:
        from harness.judges import Outcome
        from harness.summary import measured_as_text

        measured: Measured = self.run_of.result.metrics[self.number]
        if measured.outcome is not Outcome.PASS:
            self.complain(measured_as_text(measured))


class GoldenTest(RunTest):
    """The captures are those that were stored; a different kernel must show that the same happened."""

    def runtest(self) -> None:
        from harness.golden import difference, renew

        golden, where = self.run_of.golden, self.run_of.result.run.where.path
        if self.config.option.tutti_renew:
            renew(golden, where)
        elif not golden.is_dir():
            self.complain(f"there are no captures in {golden}: store them with --tutti-renew")
        elif changed := difference(golden, where):
            self.complain("not as stored (if it is meant, --tutti-renew):", changed)


@pytest.fixture
def tutti_run(request: pytest.FixtureRequest) -> Iterator[Callable[..., Result]]:
    """Carry out a scenario made in Python: `tutti_run(text or mapping, seed=3, settings=["topology.nodes=5"])`.

    The result has `outcome`, `properties`, `metrics`, and in `evidence` the tables of NOTEs and frames. Of a test that
    fails the run directories stay.
    """
    directories: list[RunDir] = []
    runs = Path(request.config.option.tutti_runs).absolute()
    stem = re.sub(r"[^\w.-]+", "-", request.node.name).strip("-")

    def run(scenario: str | Mapping[str, Any], *, seed: int | None = None, settings: Iterable[str] = ()) -> Result:
        from harness.scenario.document import Document, parse
        from harness.scenario.load import resolve

        name = request.node.name
        document = (
            parse(scenario, name) if isinstance(scenario, str) else Document(name, copy.deepcopy(dict(scenario)), {})
        )
        number = f"-{len(directories) + 1}" if directories else ""
        resolved = resolve(document, seed=seed, settings=settings)
        result = carried_out(resolved, runs / f"{stem}{number}")
        directories.append(result.run.where)
        return result

    before = request.session.testsfailed
    yield run
    if request.session.testsfailed == before:
        for where in directories:
            forget(where.path)
