"""What a scenario brings along: a program that is its node, or what programs of this machine need (daemons.py).
Found, hashed, taken along into the run.

In a file that a person wrote, its path is meant from where that file lies. A loaded scenario has the whole path and the
hash; a run directory has a copy, so that it can be run again as it was.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import shutil
from pathlib import Path
from typing import Any

from harness.scenario.model import Scenario
from harness.scenario.problems import Problem
from harness.scenario.schema import Problems
from nodes.facet import ProtocolSpec
from nodes.protocols import protocol

COPY = "program"  # its name in a run directory


def find_program(spec: ProtocolSpec, options: Any, scenario: Path, problems: Problems) -> Any:
    """The options with the whole path and the hash of the program that they name; a problem if there is none."""
    if options is not None and spec.run is not None:
        from harness.scenario import daemons

        return daemons.find(spec, options, scenario, problems)
    if options is None or not spec.brings_program:
        return options
    path = (scenario.parent / options.program).resolve()
    reason = ""
    if not path.exists():
        reason = (
            f"there is no file {path}: compile it, or correct the path, which is meant from where the scenario lies"
        )
    elif not path.is_file():
        reason = f"{path} is no file"
    elif not os.access(path, os.X_OK):
        reason = f"{path} is not executable: chmod +x {path.name}"
    else:
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        if options.sha256 in ("", sha256):
            return dataclasses.replace(options, program=str(path), sha256=sha256)
        reason = f"{path} is another program than the one of this run: its hash has changed"
    problems.append(Problem((spec.name, "program"), reason))
    return options


def take_along(scenario: Scenario, run_dir: Path) -> Scenario:
    """Copy the program, if there is one, into a run directory; the scenario as it is meant there."""
    if protocol(scenario.protocol).run is not None:
        from harness.scenario import daemons

        return dataclasses.replace(scenario, options=daemons.take_along(scenario.options, run_dir))
    if not protocol(scenario.protocol).brings_program:
        return scenario
    shutil.copy(scenario.options.program, run_dir / COPY)
    return dataclasses.replace(scenario, options=dataclasses.replace(scenario.options, program=COPY))


def without_place(scenario: Scenario) -> Scenario:
    """The scenario as it is wherever the program lies: what it is says its hash."""
    if protocol(scenario.protocol).run is not None:
        from harness.scenario import daemons

        return dataclasses.replace(scenario, options=daemons.without_places(scenario.options))
    if not protocol(scenario.protocol).brings_program:
        return scenario
    return dataclasses.replace(scenario, options=dataclasses.replace(scenario.options, program=""))


def in_run(scenario: Scenario, run_dir: Path) -> Scenario:
    """The scenario of a run directory with the program's whole path, to start it."""
    if not protocol(scenario.protocol).brings_program:
        return scenario
    program = str(run_dir.resolve() / scenario.options.program)
    return dataclasses.replace(scenario, options=dataclasses.replace(scenario.options, program=program))
