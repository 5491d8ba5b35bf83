"""maelstrom: nodes that were written for Maelstrom, unmodified, on a real network (docs/maelstrom.md)."""

from __future__ import annotations

from typing import Any, NoReturn

from nodes.facet import ProtocolSpec
from nodes.maelstrom.options import MaelstromOptions
from nodes.program.options import misfit, no_machine


def _run(config: Any, tally: Any, control: Any) -> NoReturn:
    from nodes.maelstrom.talk import MaelstromTalk  # what these need is imported in runs of programs only
    from nodes.program.keeper import run_keeper

    run_keeper(config, tally, control, MaelstromTalk)


PROTOCOL = ProtocolSpec(
    name="maelstrom",
    transport="any",
    options=MaelstromOptions,
    make=no_machine,
    run=_run,
    misfit=misfit,
    warm_up_ns=lambda options: int(options.ready_within_ns),
    properties=("NC", "MAELSTROM"),
    notes=None,
    beats=lambda options: True,
    max_payload=1200,
)
