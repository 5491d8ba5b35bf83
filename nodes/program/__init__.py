"""program: programs of this machine, as they are, each node a machine of its own to them (docs/programs.md)."""

from __future__ import annotations

from typing import Any, NoReturn

from nodes.facet import ProtocolSpec
from nodes.program.options import ProgramOptions, deaf, misfit, no_machine


def _run(config: Any, tally: Any, control: Any) -> NoReturn:
    from nodes.program.keeper import run_keeper  # what it needs is imported in runs of programs only

    run_keeper(config, tally, control)


PROTOCOL = ProtocolSpec(
    name="program",
    transport="any",
    options=ProgramOptions,
    make=no_machine,
    run=_run,
    misfit=misfit,
    deaf=deaf,
    warm_up_ns=lambda options: int(options.ready_within_ns),
    properties=("NC",),
    notes=None,
    beats=lambda options: True,
    max_payload=1200,
)
