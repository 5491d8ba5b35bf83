"""What the judges of HIM look at: messages, to whom they went, who has them, and what their senders were told."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from captures.evidence import Event
from harness.judges.facts import Facts, name_of
from nodes.wire.him import HimAnswer, HimData, HimQuery, HimReport
from nodes.wire.note import NoteKind

PACKETS = (HimData, HimQuery, HimAnswer, HimReport)  # what §4 of the paper counts; END comes on top


@dataclass(slots=True)
class HimMessage:
    """One message of one sender."""

    sending: Event
    members: frozenset[int]  # whom it was sent to: the sender's view then
    deliveries: dict[int, Event]  # node -> its first
    latest: dict[int, Event]  # node -> its last: who began anew has lost what it had
    result: Event | None
    told: int = 0  # how many results there are

    @property
    def name(self) -> str:
        """For people."""
        return name_of(self.sending.about, self.sending.seq)


def him_messages(facts: Facts) -> list[HimMessage]:
    """All, in the order of their sending."""
    results = {(event.about, event.seq): event for event in reversed(facts.of(NoteKind.RESULT))}
    told = Counter((event.about, event.seq) for event in facts.of(NoteKind.RESULT))
    deliveries: dict[tuple[int, int], dict[int, Event]] = defaultdict(dict)
    latest: dict[tuple[int, int], dict[int, Event]] = defaultdict(dict)
    for event in facts.deliveries:
        deliveries[event.about, event.seq].setdefault(event.node, event)
        latest[event.about, event.seq][event.node] = event
    messages = []
    for key, sending in zip(facts.keys, facts.sendings, strict=True):
        if sending is None:
            continue
        members = frozenset(sending.peers)
        known = deliveries.get(key, {}), latest.get(key, {}), results.get(key), told[key]
        messages.append(HimMessage(sending, members, *known))
    return sorted(messages, key=lambda one: one.sending.time_ns)


def succeeded(one: HimMessage) -> bool:
    """Was its sender told so?"""
    return one.result is not None and one.result.text.upper().startswith("SUCCESS")


def failed(one: HimMessage) -> bool:
    """Was its sender told so?"""
    return one.result is not None and one.result.text.upper().startswith("FAIL")
