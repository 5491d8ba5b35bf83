"""Where the printed algorithm goes wrong, beside what we do instead (paper 002 §3.3, §3.5).

Each pair is one finding; `rules_for` picks one of each pair, once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nodes.delta.options import DeltaOptions

# D-DC-1, R4: whose message is it that the other destinations must have before mine?


def entry_of_the_sender(sender: int, me: int) -> int:
    """R4 as meant, and as the proof of Lemma 1 uses it: (j, TS_m)."""
    return sender


def entry_of_the_receiver(sender: int, me: int) -> int:
    """R4 as printed: (i, TS_m), a message of mine that does not exist; and nobody waits for m."""
    return me


# D-DC-2, S1: the time stamp.


def stamp_above_all(now_ns: int, last_ns: int) -> int:
    """Above every time stamp sent or delivered here, even when the clock is coarse or behind."""
    return max(now_ns, last_ns + 1)


def stamp_of_the_clock(now_ns: int, last_ns: int) -> int:
    """As printed: two messages may have one time stamp, an answer a smaller one than its question."""
    return max(now_ns, 1)


# D-DC-3: which of several messages that can be delivered now goes first?


def by_time_stamp(ts: int, sender: int, arrival: int) -> tuple[int, int]:
    """Time stamps grow along every causal chain, so this order agrees with it."""
    return ts, sender


def by_arrival(ts: int, sender: int, arrival: int) -> tuple[int, int]:
    """The paper names no order; one who takes them as they came inverts those that expired in one tick."""
    return arrival, 0


# D-DC-9, R0: what if m's time stamp lies ahead of my clock?


def held_until_its_time(ts: int) -> int:
    """R0: deliverable from TS_m on."""
    return ts


def held_never(ts: int) -> int:
    """The base algorithm (§3.3) under clocks that differ."""
    return 0


# D-DC-13, R8: a message that is older than one of the same sender that was delivered, or that a delivered message has
# given up: named in its tag, or not even named, because it had expired. With clocks that keep within ε such a message
# is late anyway, unless the receiver's clock was set back and shows again a time at which it was not. Where ε is
# violated, order goes before completeness. Invariant of R8: what is delivered is neither older than what was delivered
# of its sender, nor named in the tag of a delivered message, nor before the horizon of one (schemes.py).


def refuse_overtaken(ts: int, over_ns: int) -> bool:
    return ts <= over_ns


def accept_overtaken(ts: int, over_ns: int) -> bool:
    """As printed: no such test."""
    return False


# D-DC-14, R7: an agent that comes back has lost CB, so what it sends does not name what its earlier life sent, and can
# be delivered first; the older message then is overtaken although it comes in time. Invariant of R7: when a message
# of a later life can be delivered (R0), every message of an earlier one has arrived or expired, by the receiver's own
# clock. The ε on top of Δ' is for a clock that was set back, within ε, while nobody looked; AHEAD_NS for time stamps of
# what the earlier life sent at one reading of its clock, each a nanosecond above the last (D-DC-2).

AHEAD_NS = 1_000_000  # so many messages


def silent_until_expiry(limit_ns: int, epsilon_ns: int) -> int:
    """R7: for so long after a restart nothing is sent, only received."""
    return limit_ns + epsilon_ns + AHEAD_NS


def speaking_at_once(limit_ns: int, epsilon_ns: int) -> int:
    """The paper knows no restarts."""
    return 0


@dataclass(frozen=True, slots=True)
class Rules:
    """One of each pair."""

    entry: Callable[[int, int], int]
    stamp: Callable[[int, int], int]
    order: Callable[[int, int, int], tuple[int, int]]
    not_before: Callable[[int], int]
    overtaken: Callable[[int, int], bool]
    silence: Callable[[int, int], int]


def rules_for(options: DeltaOptions) -> Rules:
    """The rules that the options name."""
    printed = options.switches()
    return Rules(
        entry=entry_of_the_receiver if printed.entry else entry_of_the_sender,
        stamp=stamp_of_the_clock if printed.stamp else stamp_above_all,
        order=by_arrival if printed.order else by_time_stamp,
        not_before=held_never if printed.skew else held_until_its_time,
        overtaken=accept_overtaken if printed.overtaken else refuse_overtaken,
        silence=speaking_at_once if printed.restart else silent_until_expiry,
    )
