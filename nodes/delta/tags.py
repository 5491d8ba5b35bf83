"""CB: which messages towards each process the next message must not overtake (paper 002 §3.2, §3.3).

`Entries` is one CB[k]: for each sender the time stamp of its latest such message. A dictionary holds one entry per
sender by itself, which is what ∪max asks for.
"""

from __future__ import annotations

from nodes.wire.delta import DeltaData

Entries = dict[int, int]  # sender -> TS
Tag = dict[int, Entries]  # destination -> CB[destination]


def union_max(into: Entries, more: Entries) -> None:
    """∪max: per sender the largest time stamp."""
    for sender, ts in more.items():
        if ts > into.get(sender, 0):
            into[sender] = ts


def unexpired(entries: Entries, limit_ns: int, now_ns: int) -> Entries:
    """S2: a message whose limit has passed is delivered by now, or never (strictly: D-DC-4)."""
    return {sender: ts for sender, ts in entries.items() if ts + limit_ns >= now_ns}


def newest(entries: Entries, number: int) -> Entries:
    """S3: the `number` largest time stamps; among equal ones the larger sender stays."""
    if len(entries) <= number:
        return entries
    keep = sorted(entries.items(), key=lambda entry: (entry[1], entry[0]))[-number:]
    return dict(keep)


def pack(tag: Tag, members: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
    """The counts and records of a PDU, entries in the order of their senders, so that equal tags are equal bytes."""
    counts = tuple([len(tag.get(k, ())) for k in members])
    return counts, tuple([entry for k in members if k in tag for entry in sorted(tag[k].items())])


def unpack(pdu: DeltaData, members: tuple[int, ...]) -> Tag:
    """The tag of a PDU whose `n` has been checked; empty CB[k] are left out."""
    tag: Tag = {}
    start = 0
    for k, count in zip(members, pdu.counts, strict=True):
        if count:
            tag[k] = {entry[0]: entry[1] for entry in pdu.cb[start : start + count]}
            start += count
    return tag
