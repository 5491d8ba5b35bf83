"""How s-records are kept, dropped and passed on: the rules of paper 004 §3.2 and §3.3, repaired and as printed.

An s-record <k, l, t> says that P_k sent to P_l at its local time t. `own` is R_j, `tag` is R(m).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from nodes.cmd.options import CmdOptions
from nodes.lives import Numbering

Record = tuple[int, int, int]
Records = frozenset[Record]
Vector = Mapping[int, int]

NUMBERING = Numbering(count_bits=24)

# The three rules.


def rule_1(own: Records, tag: Records) -> tuple[Records, Records]:
    """Of two records of one pair, one on each side, the smaller is dropped; of equal ones, that of the message."""
    newest_own, newest_tag = _latest(own), _latest(tag)
    return (
        frozenset([r for r in own if newest_tag.get(r[:2], -1) <= r[2]]),
        frozenset([r for r in tag if newest_own.get(r[:2], -1) < r[2]]),
    )


def rule_2(own: Records, tag: Records, v_message: Vector) -> Records:
    """Drop from R_j what the sender of m knew of and had dropped: t <= V(m)[k], and not in R(m)."""
    return frozenset([r for r in own if r in tag or r[2] > v_message[r[0]]])


def rule_3(own: Records, tag: Records, v_known: Vector) -> Records:
    """Drop from R(m) what I knew of and had dropped: t <= V_j[k], and not in R_j."""
    return frozenset([r for r in tag if r in own or r[2] > v_known[r[0]]])


def _latest(records: Records) -> dict[tuple[int, int], int]:
    latest: dict[tuple[int, int], int] = {}
    for source, destination, t in records:
        if t > latest.get((source, destination), -1):
            latest[source, destination] = t
    return latest


# D-CM-2: in which order they apply. Both give the new R_j.


def on_snapshots(own: Records, tag: Records, v_message: Vector, v_known: Vector) -> Records:
    """Rules 2 and 3 see both sets as they came; rule 1 then keeps the newest record of each pair."""
    kept = rule_2(own, tag, v_message) | rule_3(own, tag, v_known)
    return frozenset([(*pair, t) for pair, t in _latest(kept).items()])


def one_after_the_other(own: Records, tag: Records, v_message: Vector, v_known: Vector) -> Records:
    """As printed: rule 1 takes a record that both sides have out of R(m), and so rule 2 takes it out of R_j."""
    own, tag = rule_1(own, tag)
    own = rule_2(own, tag, v_message)
    return own | rule_3(own, tag, v_known)


def nothing_dropped(own: Records, tag: Records, v_message: Vector, v_known: Vector) -> Records:
    """The supporting procedure (§3.1): R_j only grows."""
    return own | tag


# D-CM-1: the vector time that rule 3 compares with.


def before_the_message(before: Vector, after: Vector) -> Vector:
    return before


def after_the_message(before: Vector, after: Vector) -> Vector:
    """As printed: V_j was just raised to V(m), so every record of R(m) seems to be known and dropped."""
    return after


# D-CM-3: after which deliveries the Queue is looked at.


def after_every_delivery(had_record_for_me: bool) -> bool:
    return True


def after_branch_i(had_record_for_me: bool) -> bool:
    """As printed: the sentence about the Queue stands in the branch of messages that had a record for me."""
    return had_record_for_me


# D-CM-4: what the copy for one destination says about the others.


def names_the_other_copies(me: int, to: tuple[int, ...], t: int, copy_for: int) -> Records:
    return frozenset([(me, other, t) for other in to if other != copy_for])


def names_no_copy(me: int, to: tuple[int, ...], t: int, copy_for: int) -> Records:
    """ "By the same method": the receiver may answer to a destination that has not got the message."""
    return frozenset()


# D-CM-5: which messages prune.


def every_message(had_record_for_me: bool) -> bool:
    return True


def branch_i_only(had_record_for_me: bool) -> bool:
    """As printed: what was dropped comes back with a message that has no record for me."""
    return had_record_for_me


# D-CM-6: my own records after a send.


def replaced(own: Records, me: int, to: tuple[int, ...], t: int) -> Records:
    """The new message carries the older record itself."""
    return frozenset([r for r in own if r[0] != me or r[1] not in to]) | {(me, j, t) for j in to}


def added(own: Records, me: int, to: tuple[int, ...], t: int) -> Records:
    """As printed."""
    return own | {(me, j, t) for j in to}


# D-CM-9: what a vector time says of the lives before the one that it counts. A process that comes back has lost V and
# R, so what it sends tells nothing about what its earlier life had under way. Invariant: a record is dropped, and taken
# for delivered, only by who knows that far of the same life; or by who was told that the rest of that life is lost.


def each_life_by_itself(number: int) -> int:
    """Numbers are compared within a life."""
    return NUMBERING.life_of(number)


def all_lives_as_one(number: int) -> int:
    """The paper knows no restarts."""
    return 1


@dataclass(frozen=True, slots=True)
class Rules:
    """One of each."""

    merge: Callable[[Records, Records, Vector, Vector], Records]
    clock: Callable[[Vector, Vector], Vector]
    looks_at_queue: Callable[[bool], bool]
    names: Callable[[int, tuple[int, ...], int, int], Records]
    prunes: Callable[[bool], bool]
    sent: Callable[[Records, int, tuple[int, ...], int], Records]
    life: Callable[[int], int]

    def untold(self, records: Records, vector: Vector) -> Records:
        """Those of lives before the ones that a vector time counts, about which it says nothing."""
        return frozenset([r for r in records if self.life(r[2]) < self.life(vector[r[0]])])

    def merged(self, own: Records, tag: Records, v_message: Vector, v_known: Vector) -> Records:
        """The new R_j: the rules where they can tell, and the newest record of each pair of what is untold."""
        untold_own, untold_tag = self.untold(own, v_message), self.untold(tag, v_known)
        kept = self.merge(own - untold_own, tag - untold_tag, v_message, v_known)
        if not untold_own and not untold_tag:
            return kept
        return frozenset([(*pair, t) for pair, t in _latest(kept | untold_own | untold_tag).items()])


def rules_for(options: CmdOptions) -> Rules:
    """The rules that the options name."""
    printed = options.switches()
    rules = Rules(
        merge=one_after_the_other if printed.sequence else on_snapshots,
        clock=after_the_message if printed.clock else before_the_message,
        looks_at_queue=after_branch_i if printed.queue else after_every_delivery,
        names=names_no_copy if printed.multicast else names_the_other_copies,
        prunes=branch_i_only if printed.skip else every_message,
        sent=added if printed.repeat else replaced,
        life=all_lives_as_one if printed.lives else each_life_by_itself,
    )
    if options.scheme == "unpruned":
        return replace(rules, merge=nothing_dropped, sent=added)
    return rules
