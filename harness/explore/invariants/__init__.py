"""What the rules that no paper has promise of the machines themselves, watched in every run in memory.

A judge sees what captures show, and that a machine is wrong often shows much later, in few runs. Each protocol's
invariants have a file here, and docs/papers.md says why they hold.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.explore.invariants.cmd import Links
from harness.explore.invariants.delta import Lives
from harness.explore.invariants.him import Group
from harness.explore.invariants.st import Logs
from harness.explore.invariants.to import Clusters
from harness.explore.invariants.watch import Watch
from harness.explore.memory import Run

WATCHES: Mapping[str, type[Watch]] = {"cmd": Links, "delta": Lives, "him": Group, "st": Logs, "to": Clusters}
INVARIANTS = frozenset(name for watch in WATCHES.values() for name in watch.NAMES)


def watch_of(run: Run) -> Watch | None:
    """Who looks at this run from now on, if there is anything to look for."""
    of = WATCHES.get(run.scenario.protocol)
    return of(run.world, run.scenario.options) if of is not None and of.is_for(run.scenario) else None
