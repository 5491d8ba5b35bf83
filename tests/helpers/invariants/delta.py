"""What the rules of delta that are not the paper's promise.

R7  when a message of a later life can be delivered, what came before that life has expired (D-DC-14)
R8  what is delivered is not older than what was delivered of its sender, nor given up by a message that was
    delivered: named in its tag, or before its horizon (D-DC-13)
"""

from __future__ import annotations

from collections import defaultdict

from harness.explore.memory import Run
from harness.scenario.model import Scenario
from nodes.delta.options import DeltaOptions
from nodes.delta.tags import unpack
from nodes.wire.delta import DeltaData
from nodes.wire.note import NoteKind
from tests.helpers.invariants.watch import Complaints


def delta_broken(case: Scenario) -> Complaints:
    """R7 and R8, where clocks keep within ε."""
    options = case.options
    assert isinstance(options, DeltaOptions)
    run = Run(case).all()
    pdus = {(pdu.src, pdu.seq): pdu for _, pdu in run.world.sent if isinstance(pdu, DeltaData)}
    members = tuple(range(1, len(case.nodes) + 1))
    passed: dict[tuple[int, int], dict[int, int]] = defaultdict(dict)  # node and life -> of each sender, what is over
    horizons: dict[tuple[int, int], int] = defaultdict(int)
    for event in run.world.events:
        if event.kind is not NoteKind.DELIVERED or event.about == event.node:
            continue
        pdu, me = pdus[event.about, event.seq], (event.node, event.incarnation)
        name = f"n{event.node}, life {event.incarnation}, delivers {event.about}:{event.seq:x} ({pdu.ts})"
        for other in pdus.values():
            earlier = other.src == pdu.src and event.node in other.dest and other.seq >> 32 < pdu.seq >> 32
            if earlier and other.ts + options.limit_ns >= event.local_ns:
                yield f"R7: {name} at {event.local_ns}, and {other.seq:x} ({other.ts}) of an earlier life can come"
        if pdu.ts <= max(passed[me].get(pdu.src, 0), horizons[me] - 1):
            yield f"R8: {name}, which is given up: {passed[me]}, {horizons[me]}"
        mine = unpack(pdu, members).get(event.node, {})
        for source, ts in {**mine, pdu.src: pdu.ts}.items():
            passed[me][source] = max(ts, passed[me].get(source, 0))
        horizons[me] = max(horizons[me], _expired(options, pdu.ts, mine))


def _expired(options: DeltaOptions, ts: int, mine: dict[int, int]) -> int:
    """Messages before it need not have been named in a tag: they had expired, or S3 has cut them off."""
    begun = ts - options.limit_ns + (options.held_ns if options.scheme == "hold" else 0)
    return max(begun, min(mine.values())) if options.scheme == "bounded" and len(mine) >= options.max_cb else begun
