"""The shape of a run: all that there is of it before it begins. Runs of one shape differ in what happens later only.

What an agent makes before a run begins (harness/agent/standing.py) it makes of this record, and of nothing else; so
a guest in which that is made once can be forked for every run of the shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from harness.scenario import Scenario
from harness.scenario.model import TopologyOptions
from nodes.protocols import protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Two runs with equal ones are the same run up to its beginning."""

    engine: Literal["virtual", "live"]
    topology: TopologyOptions
    programs: bool  # the nodes are programs of this machine


def shape_of(scenario: Scenario) -> Shape:
    """What a scenario's run is made of before it begins."""
    programs = protocol(scenario.protocol).run is not None
    return Shape(engine=scenario.engine, topology=scenario.topology, programs=programs)
