"""own: a program of yours, in any language, that answers lines on its standard input (docs/own-node.md)."""

from __future__ import annotations

from nodes.facet import About, ProtocolSpec, by_origin
from nodes.machine import Machine, Setting
from nodes.own.options import OwnOptions
from nodes.wire.own import OwnPdu


def _make(setting: Setting, options: OwnOptions) -> Machine:
    from nodes.own.program import Program  # what it needs is imported in runs of programs only

    return Program(setting, options)


PROTOCOL = ProtocolSpec(
    name="own",
    transport="any",
    options=OwnOptions,
    make=_make,
    clock="local",
    brings_program=True,
    properties=("NC",),
    notes=None,
    pdus=(About(pdu=OwnPdu, fields=("origin", "seq"), message=by_origin),),
    beats=lambda options: bool(options.heartbeats),
    max_payload=1200,
)
