"""ST-1..ST-6: selectively totally ordered broadcast (paper 000 §2, §3), and what its recovery costs (§4.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from captures.evidence import OUT
from captures.tables import Ints
from harness.judges.base import Broken, Finding, Holds, Undecided, all_of, judge_of
from harness.judges.common import (
    no_creation,
    no_duplication,
    selectively_information_preserving,
    source_order,
)
from harness.judges.facts import Facts, name_of
from harness.judges.order import order_equivalent
from nodes.wire.st import PHASE, RETX, StData, StRstAck


@judge_of("ST-1", "no creation and no duplication")
def no_creation_no_duplication(facts: Facts) -> Finding:
    return all_of(facts, no_creation, no_duplication)


@judge_of("ST-2", "source order, without gaps: what i delivered of j is a prefix of what j sent to i")
def prefix_of_source(facts: Facts) -> Finding:
    return all_of(facts, source_order, _no_gaps)


def _no_gaps(facts: Facts) -> Finding:
    # The k-th message of a source for a node must be the k-th it delivers of that source (000 §2; the order itself
    # has been judged before, so a mismatch is a gap).
    due = _rank_among(facts.t_message, facts.t_node, facts)
    pairs = facts.target_pairs
    order = np.argsort(pairs, kind="stable")
    rank_of_pair, sorted_pairs = due[order], pairs[order]
    got = facts.first_copies
    got = got[np.isin(facts.delivery_pairs[got], sorted_pairs)]
    want = rank_of_pair[np.searchsorted(sorted_pairs, facts.delivery_pairs[got])]
    have = _rank_among(facts.d_message[got], facts.d_life[got], facts)
    gaps = np.flatnonzero(want != have)
    if not len(gaps):
        return Holds("what each node delivered of each source is a prefix of what was sent to it")
    row = got[gaps[0]]
    message, node = facts.d_message[row], facts.d_node[row]
    same = (facts.t_node == node) & (facts.source[facts.t_message] == facts.source[message])
    before = facts.t_message[same & (facts.sent_at[facts.t_message] < facts.sent_at[message])]
    earlier = facts.d_message[: row + 1][facts.d_node[: row + 1] == node]
    skipped = before[~np.isin(before, earlier)][0]
    return Broken(
        f"n{node} delivered {facts.name(message)} without {facts.name(skipped)}, sent to it before by the same source",
        (facts.delivery(row),),
        facts.sending(skipped) + facts.sending(message),
        by_absence=True,
    )


def _rank_among(messages: Ints, receivers: Ints, facts: Facts) -> Ints:
    """For each row, how many rows of the same receiver and source were sent before it."""
    source, sent_at = facts.source[messages], facts.sent_at[messages]
    order = np.lexsort((sent_at, source, receivers))
    new = np.ones(len(order), bool)
    new[1:] = (receivers[order][1:] != receivers[order][:-1]) | (source[order][1:] != source[order][:-1])
    start = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order)) - start
    return rank


@judge_of("ST-3", "order equivalence: any two entities deliver their common messages in the same order")
def common_messages_in_one_order(facts: Facts) -> Finding:
    return order_equivalent(facts)


@judge_of("ST-4", "completeness: once all is quiet, every entity has delivered all that was sent to it")
def complete(facts: Facts) -> Finding:
    return selectively_information_preserving(facts)


@judge_of("ST-5", "atomic reception: when one entity delivers a message, all its destinations have accepted it")
def atomic(facts: Facts) -> Finding:
    life, message_of, accepted_at = facts.accepted
    if not len(accepted_at):
        if len(facts.d_message):
            return Undecided("no entity noted what it accepted")
        return Holds("nothing was delivered")
    first = np.full(len(facts.keys), -1, np.int64)  # message -> row of its first delivery
    first[facts.d_message[::-1]] = np.arange(len(facts.d_message))[::-1]
    due = np.flatnonzero(first[facts.t_message] >= 0)
    pairs = facts.pair(message_of, facts.life_node[life])
    wanted = facts.target_pairs[due]
    earliest = np.full(1 + max(pairs.max(), wanted.max(initial=0)), -1, np.int64)  # pair -> its first ACCEPTED
    earliest[pairs[::-1]] = accepted_at[::-1]
    acceptance = earliest[wanted]
    delivery = facts.d_event[first[facts.t_message[due]]]
    time_ns = facts.notes.time_ns
    wrong = np.flatnonzero((acceptance < 0) | (time_ns[acceptance] > time_ns[delivery]))
    if len(wrong):
        pair = int(wrong[0])
        message, node, seen = int(facts.t_message[due[pair]]), facts.t_node[due[pair]], acceptance[pair] >= 0
        delivered = facts.notes[int(delivery[pair])]
        return Broken(
            f"n{delivered.node} delivered {facts.name(message)}, which n{node} "
            + ("had not accepted yet" if seen else "never accepted"),
            (delivered, facts.notes[int(acceptance[pair])]) if seen else (delivered,),
            facts.sending(message),
            by_absence=not seen,
        )
    return Holds("every message delivered anywhere had been accepted by all its destinations")


@judge_of("ST-6", "thrift: in a round a PDU is sent again once for all who lost it, and once for each who asks again")
def sent_again_once(facts: Facts) -> Finding:
    frames = facts.evidence.frames
    rows = frames.of_type(StRstAck)
    own = frames.src[rows] == frames.node[rows]
    rows = rows[(frames.node[rows] > 0) & (own == (frames.direction[rows] == OUT))]
    asked = Counter[tuple[int, int]]()  # node, round: how often it hears, or says, that somebody still lacks PDUs
    for node, flags, epoch in zip(frames.node[rows].tolist(), *_said(facts, rows, "flags", "epoch"), strict=True):
        if flags & PHASE:
            asked[node, epoch] += 1
    rows = frames.of_type(StData)
    rows = rows[(frames.direction[rows] == OUT) & (frames.src[rows] == frames.node[rows])]
    again = Counter[tuple[int, int, int]]()  # node, round, PDU
    for at, flags, epoch, tseq in zip(rows.tolist(), *_said(facts, rows, "flags", "epoch", "tseq"), strict=True):
        if not flags & RETX:
            continue
        node = int(frames.node[at])
        again[node, epoch, tseq] += 1
        times, more = again[node, epoch, tseq], asked[node, epoch]
        if times > 1 + more:
            frame = frames[at]
            return Broken(
                f"n{node} sent {name_of(node, tseq)} again ({frame.capture} #{frame.frame}) for the {times}. time in "
                f"round {epoch}, in which it was asked {more} times more",
                tuple(one for one in facts.sendings if one and (one.about, one.seq) == (node, tseq)),
                by_absence=True,
            )
    return Holds(f"{again.total()} PDUs were sent again, each once for all in its round, or for who asked again")


def _said(facts: Facts, rows: Ints, *names: str) -> list[Sequence[Any]]:
    return [facts.evidence.frames.said(rows, name) for name in names]
