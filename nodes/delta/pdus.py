"""What a PDU of Δ-causal order says to those who read captures, and when a message may be delivered."""

from __future__ import annotations

from collections.abc import Sequence

from nodes.delta.notes import Sent
from nodes.delta.options import DeltaOptions
from nodes.facet import About, Moment, by_sender
from nodes.wire.delta import DeltaData
from nodes.wire.note import said

PDUS = (
    About(
        pdu=DeltaData,
        fields=("seq",),
        message=by_sender,
        carries=True,
        tag="cb",
        tag_bytes=lambda nodes, entries: nodes + 10 * entries,
    ),
)


def stamps_for(node: int, counts: Sequence[int], cb: Sequence[tuple[int, int]]) -> list[int]:
    """The time stamps in CB_m[node], the nodes' parts standing one behind the other."""
    begin = sum(counts[: node - 1])
    return [stamp for _, stamp in cb[begin : begin + counts[node - 1]]] if node <= len(counts) else []


def _not_before_ns(
    options: DeltaOptions, node: int, ts: int, counts: Sequence[int], cb: Sequence[tuple[int, int]]
) -> int:
    """R0, and R2's rule of full sets; or w of the scheme "hold"."""
    if options.scheme == "hold":
        return ts + options.held_ns
    stamps = stamps_for(node, counts, cb)
    if options.scheme == "bounded" and len(stamps) >= options.max_cb:
        return max(ts, min(stamps) + options.limit_ns + 1)
    return ts


def _stamp(values: Sequence[int]) -> int:
    told = said(Sent, values)
    return told.ts if told else 0


MOMENT = Moment(
    expires_ns=lambda options: int(options.limit_ns) + 1,
    stamp=_stamp,
    not_before_ns=_not_before_ns,
    told=("counts", "cb"),
)
