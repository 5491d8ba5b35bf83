"""manifest.json: what a run ran on and what was found there. Its form is known here alone.

Runs are equal to the byte if their scenario (`identity`) and their kernel are equal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from captures.recorded import Recorded
from harness import VERSION
from harness.rundir import RunDir, RunDirError
from harness.typed import Misfit, as_json, from_json
from topologies.impairments import Seeded

FORMAT = 3


@dataclass(frozen=True, slots=True)
class Kernel:
    """Which kernel a run ran in."""

    version: str  # e.g. "7.2.12"
    recipe: str = ""  # hash of everything the private kernel was built from; "": it is this machine's own
    seccomp: bool = False  # the faster way to run guest programs, where the private kernel has it


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What the agent found. Of a run that failed half-way, as much as was found until then."""

    release: str = ""  # what the kernel calls itself
    t0_ns: int | None = None  # when the run began, after everything was ready
    ended_ns: int | None = None
    quiet: bool | None = None  # it ended because nothing moved any more, not because of its limit
    impairments: Mapping[str, Seeded] = field(default_factory=dict)  # by place, read back from the kernel at t0 ...
    impairments_at_end: Mapping[str, Seeded] = field(default_factory=dict)  # ... and at the end
    counters: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # by node
    interfaces: Mapping[str, Mapping[str, Mapping[str, int]]] = field(default_factory=dict)  # by node: their counters
    interface_names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # by node and index, as captures say
    captures: Mapping[str, Recorded] = field(default_factory=dict)  # by capture point


@dataclass(frozen=True, slots=True)
class Branch:
    """What a run is a branch of. From its moment on it is what its own scenario says."""

    trunk: str  # the scenario up to the moment
    at_ns: int  # the moment, from the start of the run
    seed: int | None  # of the network's chance from there on, if it is another one


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A run, apart from what was asked for and what was captured."""

    format: int = FORMAT
    tutti: str = VERSION
    identity: str  # hash of all that the scenario says, and of what this is a branch of
    engine: str
    kernel: Kernel
    failed: str = ""  # why it was not carried out to its end; "": it was
    branch: Branch | None = None
    findings: Findings = Findings()


def write_manifest(where: RunDir, manifest: Manifest) -> None:
    """Leave it in the run directory."""
    where.manifest.write_text(as_json(manifest))


def read_manifest(where: RunDir) -> Manifest | None:
    """That of a run; None if there is none. RunDirError if it is damaged or of another version of tutti."""
    if not where.manifest.is_file():
        return None
    text = where.manifest.read_text()
    try:
        other = _plain(text).get("format", FORMAT)
        if other != FORMAT:
            raise Misfit(f"it has format {other}, and this tutti reads format {FORMAT}")
        return from_json(Manifest, text)
    except Misfit as error:
        raise RunDirError(f"{where.manifest} is no manifest: {error}") from None


def is_manifest(path: Path) -> bool:
    """Did some version of tutti leave it?"""
    try:
        return {"format", "identity", "engine"} <= _plain(path.read_text()).keys()
    except OSError:
        return False


def _plain(text: str) -> Mapping[str, object]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
