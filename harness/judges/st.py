"""ST-1..ST-5: selectively totally ordered broadcast (paper 000 §2, §3)."""

from __future__ import annotations

import numpy as np

from harness.judges.base import Broken, Finding, Holds, Undecided, all_of, judge_of
from harness.judges.common import (
    no_creation,
    no_duplication,
    selectively_information_preserving,
    source_order,
)
from harness.judges.facts import Facts, Ints
from harness.judges.order import order_equivalent


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
    if not facts.accepted:
        if len(facts.d_message):
            return Undecided("no entity noted what it accepted")
        return Holds("nothing was delivered")
    first: dict[int, int] = {}  # message -> row of its first delivery
    for row, message in enumerate(facts.d_message.tolist()):
        first.setdefault(message, row)
    for message, node in zip(facts.t_message.tolist(), facts.t_node.tolist(), strict=True):
        if message not in first:
            continue
        delivery = facts.delivery(first[message])
        acceptance = facts.accepted.get((message, node))
        if acceptance is None or acceptance.time_ns > delivery.time_ns:
            verb = "never accepted" if acceptance is None else "had not accepted yet"
            return Broken(
                f"n{delivery.node} delivered {facts.name(message)}, which n{node} {verb}",
                (delivery,) if acceptance is None else (delivery, acceptance),
                facts.sending(message),
                by_absence=acceptance is None,
            )
    return Holds("every message delivered anywhere had been accepted by all its destinations")
