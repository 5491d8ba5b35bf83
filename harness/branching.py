"""Branches of a run: it is carried out up to a moment once, and from there on in as many ways as are asked for.

The run up to the moment is the trunk. Each branch is a run of its own: its directory has all that was captured, the
trunk's part included, and its manifest says what it is a branch of.
"""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from pathlib import Path

from harness.engines.engine import engine_of
from harness.engines.outcome import EngineOptions, MachineLacks, Progress
from harness.engines.template import Template
from harness.engines.virtual import Virtual
from harness.engines.watch import Attended
from harness.exchange import Change, Exchange, exchange
from harness.manifest import Branch, Kernel, Manifest
from harness.rundir import RunDir
from harness.runs import Run, carried_out
from harness.scenario import Located, Scenario, ScenarioError, dump, identity
from harness.scenario.faults import Fault
from harness.scenario.faults.chosen import PduFault
from harness.scenario.faults.forge import Forge
from harness.scenario.program import take_along
from harness.scenario.units import UNITS
from harness.shape import shape_of
from harness.typed import as_json

# All else of a scenario has been used before the moment.
_LATER = {
    "name",
    "description",
    "seeds",
    "limit_ns",
    "settle_ns",
    "livelock_ns",
    "impair",
    "fault",
    "expect",
    "explore",
}


@dataclass(frozen=True, slots=True)
class Trunk:
    """A run that stands still at its moment."""

    scenario: Scenario
    branch: Branch  # in which nothing is changed
    kernel: Kernel
    options: EngineOptions
    template: Template

    def carry_out(self, scenario: Scenario, seed: int | None, where: RunDir, progress: Progress) -> Run:
        """From here on, as this scenario says and with the chance of this seed, if one is given, in the network."""
        is_other = seed is not None or identity(scenario) != identity(self.scenario)

        def start(files: Exchange) -> AbstractContextManager[Attended]:
            if is_other:
                files.change_file.write_text(as_json(Change(seed)))
            return self.template.start(files, self.options)

        parts = f"{self.branch.trunk} {self.branch.at_ns} {seed} {identity(scenario)}"
        whose = hashlib.sha256(parts.encode()).hexdigest() if is_other else identity(scenario)
        branch = Branch(self.branch.trunk, self.branch.at_ns, seed)
        manifest = Manifest(identity=whose, engine=scenario.engine, kernel=self.kernel, branch=branch)
        return carried_out(scenario, where, manifest, start, progress)


@contextlib.contextmanager
def trunk_of(scenario: Scenario, at_ns: int, options: EngineOptions, progress: Progress) -> Iterator[Trunk]:
    """Carry out a run up to its moment."""
    engine = engine_of(scenario.engine)
    if not isinstance(engine, Virtual) or not engine.forks:
        raise MachineLacks("only a private kernel that can be forked can carry out branches of a run")
    with tempfile.TemporaryDirectory(prefix="tutti-trunk-") as directory:
        where = RunDir(Path(directory).resolve())
        where.captures.mkdir()
        where.logs.mkdir()
        where.scenario.write_text(dump(take_along(scenario, where.path)))
        with exchange(where, shape_of(scenario)) as files:
            files.moment_file.write_text(str(at_ns))
            with engine.trunk(files, options) as template:
                if not template.is_reached(files, options, progress):
                    at = written(at_ns)
                    reason = "by then the run has done all that its scenario says, and only falls silent"
                    raise ScenarioError([Located(f"--at {at}", 0, reason)])
                yield Trunk(scenario, Branch(dump(scenario), at_ns, None), engine.kernel, options, template)


def check(trunk: Scenario, scenario: Scenario, at_ns: int) -> None:
    """ScenarioError for what of a scenario cannot be different from this moment on."""
    at = written(at_ns)
    problems = [
        f"{one.name.removesuffix('_ns')} was used before {at}: it cannot be different from there on"
        for one in fields(Scenario)
        if one.name not in _LATER and getattr(trunk, one.name) != getattr(scenario, one.name)
    ]
    gone, new = list(trunk.fault), list[Fault]()
    for fault in scenario.fault:
        if fault in gone:
            gone.remove(fault)
        else:
            new.append(fault)
    for fault, was_there in [*((one, True) for one in gone), *((one, False) for one in new)]:
        what = f"a fault of kind {fault.KIND}"
        if isinstance(fault, Forge):
            problems.append(f"{what} cannot be changed in the course of a run")
        elif fault.when is None and fault.at_ns < at_ns and not (was_there and isinstance(fault, PduFault)):
            begins = written(fault.at_ns)
            problems.append(f"{what} begins at {begins}, before {at}: that is past")
    if problems:
        raise ScenarioError([Located(f"at {at}", 0, problem) for problem in problems])


def moment(text: str) -> int:
    """A time from the start of a run."""
    try:
        return int(UNITS["duration"].read(text))
    except ValueError as error:
        raise ScenarioError([Located("--at", 0, str(error))]) from None


def written(at_ns: int) -> str:
    """As people write it."""
    return UNITS["duration"].write(at_ns)
