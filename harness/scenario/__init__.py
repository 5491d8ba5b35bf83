"""Scenario files: strict TOML with units, completed and checked, written back as text that reads the same."""

from harness.scenario.dump import dump, identity
from harness.scenario.load import load, loads
from harness.scenario.model import Scenario
from harness.scenario.problems import Located, ScenarioError

__all__ = ["Located", "Scenario", "ScenarioError", "dump", "identity", "load", "loads"]
