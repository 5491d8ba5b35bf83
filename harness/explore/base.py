"""What is searched: a scenario, or a protocol by its name, which stands for a plain scenario that names no fault."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from harness.scenario import load
from harness.scenario.explore import Explore
from harness.scenario.find import find
from harness.scenario.model import Scenario
from nodes.protocols import protocol

SPACES = Path(__file__).parent / "spaces"


def searched() -> list[str]:
    """The protocols that have such a plain scenario."""
    return sorted(path.stem for path in SPACES.glob("*.toml"))


def base_of(word: str, settings: Iterable[str] = (), seed: int | None = None) -> Scenario:
    """The scenario meant, with the bounds of its search: its own, those of its protocol, or the general ones."""
    known = SPACES / f"{word}.toml"
    scenario = load(known if known.is_file() else find(word), settings=settings, seed=seed)
    space = scenario.explore
    if space is None:
        theirs = SPACES / f"{scenario.protocol}.toml"
        space = _within((load(theirs).explore if theirs.is_file() else None) or Explore(), scenario)
    return replace(scenario, explore=replace(space, waits=_waits(space, scenario)))


def _waits(space: Explore, scenario: Scenario) -> tuple[int, ...]:
    """Those that are named, and what follows from the protocol's options: how long it may owe something in silence."""
    silence_ns = protocol(scenario.protocol).silence_ns(scenario.options)
    return tuple(dict.fromkeys((*space.waits, silence_ns))) if silence_ns else space.waits


def _within(space: Explore, scenario: Scenario) -> Explore:
    """What the scenario says itself is not drawn."""
    messages = 0 if scenario.workload is not None else space.messages
    return replace(space, nodes=(), networks=(), messages=messages, options=(), mild=(), loss=(0.0,), delay=(0,))
