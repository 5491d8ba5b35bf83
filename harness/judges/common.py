"""What every protocol owes: no creation, no duplication, per-source order; and the paper's words for logs (000 §2).

SO, IE, IP, SIP and SC are the definitions of paper 000 for raw logs: a log is order preserving, information
equivalent, (selectively) information preserving, selectively correct.
"""

from __future__ import annotations

import numpy as np

from captures.tables import Ints
from harness.judges.base import Broken, Finding, Holds, Undecided, all_of, judge_of, when_quiet
from harness.judges.facts import Facts
from nodes.wire.note import NoteKind


@judge_of("NC", "no creation: what is delivered was sent, to this node, before")
def no_creation(facts: Facts) -> Finding:
    sent_at = facts.sent_at[facts.d_message]
    unsent = np.flatnonzero(sent_at < 0)
    if len(unsent):
        event = facts.delivery(unsent[0])
        name = facts.name(facts.d_message[unsent[0]])
        return Broken(f"n{event.node} delivered {name}, which nobody sent", (event,), by_absence=True)
    astray = np.flatnonzero(~np.isin(facts.delivery_pairs, facts.target_pairs))
    if len(astray):
        event = facts.delivery(astray[0])
        message = facts.d_message[astray[0]]
        name = facts.name(message)
        return Broken(f"n{event.node} delivered {name}, which was not sent to it", (event,), facts.sending(message))
    # One's own copy may be delivered within the step that sends it; everybody else's needs the network.
    early = np.flatnonzero((facts.d_event < sent_at) & (facts.d_node != facts.source[facts.d_message]))
    for row in early.tolist():
        event, (sending,) = facts.delivery(row), facts.sending(facts.d_message[row])
        if event.time_ns < sending.time_ns:
            name = facts.name(facts.d_message[row])
            return Broken(f"n{event.node} delivered {name} before it was sent", (event, sending))
    return Holds(f"all {len(facts.d_message)} deliveries are of messages sent to that node before")


@judge_of("NA", "no alteration: what is delivered is what was submitted, byte for byte")
def no_alteration(facts: Facts) -> Finding:
    submitted = _submitted_digests(facts)
    told = facts.notes.values_of(facts.d_event)
    known = np.flatnonzero((told.counts > 0) & (submitted[facts.d_message] >= 0))
    other = known[told.at(0)[known] != submitted[facts.d_message[known]]]
    if len(other):
        event, message = facts.delivery(other[0]), facts.d_message[other[0]]
        return Broken(
            f"n{event.node} delivered other bytes as {facts.name(message)} than were submitted",
            (event,),
            facts.sending(message),
        )
    unknown = np.flatnonzero((submitted < 0) & (facts.sent_at >= 0))
    if len(unknown):
        return Undecided(f"nothing tells which bytes were submitted as {facts.name(unknown[0])}")
    silent = np.flatnonzero(told.counts == 0)
    if len(silent):
        event = facts.delivery(silent[0])
        return Undecided(
            f"n{event.node} does not say which bytes it delivered as {facts.name(facts.d_message[silent[0]])}"
        )
    return Holds(f"all {len(known)} deliveries of what was submitted have the same bytes")


def _submitted_digests(facts: Facts) -> Ints:
    """Message -> the digest of what was submitted; -1: nothing tells."""
    notes = facts.notes
    rows = notes.of_kind(NoteKind.SUBMITTED)
    by = (notes.node[rows].tolist(), notes.incarnation[rows].tolist(), notes.seq[rows].tolist())
    values = notes.values_of(rows)
    digests = dict(zip(zip(*by, strict=True), np.where(values.counts > 0, values.at(0), -1).tolist(), strict=True))
    sent = notes.values_of(facts.s_event)
    by = (notes.node[facts.s_event].tolist(), notes.incarnation[facts.s_event].tolist(), sent.at(0).tolist())
    found = np.full(len(facts.keys), -1, np.int64)
    found[facts.s_message] = [digests.get(key, -1) for key in zip(*by, strict=True)]
    return found


@judge_of("ND", "no duplication: a node delivers a message at most once")
def no_duplication(facts: Facts) -> Finding:
    # Per life: a node that lost its memory in a crash may be told again.
    copies = facts.d_message * len(facts.lives) + facts.d_life
    order = np.argsort(copies, kind="stable")
    again = np.flatnonzero(np.diff(copies[order]) == 0)
    if len(again):
        second = order[again + 1].min()
        first = order[np.searchsorted(copies[order], copies[second])]
        message = facts.d_message[second]
        return Broken(
            f"{facts.lives[facts.d_life[second]]} delivered {facts.name(message)} twice",
            (facts.delivery(first), facts.delivery(second)),
            facts.sending(message),
        )
    return Holds(f"{len(copies)} deliveries, no message twice at a node")


@judge_of("SO", "per-source order: a node delivers one source's messages in the order of sending")
def source_order(facts: Facts) -> Finding:
    known = np.flatnonzero(facts.sent_at[facts.d_message] >= 0)
    messages = facts.d_message[known]
    sent_at = facts.sent_at[messages]
    # Rows of one (life, source) beside each other, in the order of delivery.
    order = np.lexsort((known, facts.source[messages], facts.d_life[known]))
    life, source = facts.d_life[known][order], facts.source[messages][order]
    together = (life[1:] == life[:-1]) & (source[1:] == source[:-1])
    back = np.flatnonzero(together & (sent_at[order][1:] < sent_at[order][:-1]))
    if len(back):
        pair = back[np.argmin(known[order][back + 1])]
        before, after = known[order][pair], known[order][pair + 1]
        p, q = facts.d_message[after], facts.d_message[before]
        who = facts.lives[facts.d_life[after]]
        return Broken(
            f"{who} delivered {facts.name(q)} before {facts.name(p)}, sent in the other order",
            (facts.delivery(before), facts.delivery(after)),
            facts.sending(p) + facts.sending(q),
        )
    return Holds("every node delivered each source's messages in the order of sending")


def undelivered(facts: Facts, pairs: Ints, messages: Ints, nodes: Ints, why: str) -> Finding:
    """Every (message, node) wanted was delivered there; nodes that are down at the end owe nothing."""
    down = [node for node in np.unique(nodes).tolist() if facts.down(node)]
    lost = np.flatnonzero(~np.isin(pairs, facts.delivery_pairs) & ~np.isin(nodes, down))
    if len(lost):
        first = lost[np.argmin(facts.sent_at[messages[lost]])]
        message, node = messages[first], nodes[first]
        more = f" ({len(lost)} such deliveries are missing)" if len(lost) > 1 else ""
        return Broken(
            f"n{node} never delivered {facts.name(message)}, {why}{more}", facts.sending(message), by_absence=True
        )
    return Holds(f"all {len(pairs)} deliveries that were due took place")


@judge_of("SIP", "selectively information preserving: a log has all that was sent to its node")
def selectively_information_preserving(facts: Facts) -> Finding:
    return when_quiet(
        facts, lambda facts: undelivered(facts, facts.target_pairs, facts.t_message, facts.t_node, "sent to it")
    )


def _everything_everywhere(facts: Facts, messages: Ints, why: str) -> Finding:
    nodes = np.array(facts.evidence.nodes, np.int64)
    all_messages, all_nodes = np.repeat(messages, len(nodes)), np.tile(nodes, len(messages))
    return undelivered(facts, facts.pair(all_messages, all_nodes), all_messages, all_nodes, why)


@judge_of("IP", "information preserving: every log has all that anybody sent")
def information_preserving(facts: Facts) -> Finding:
    return when_quiet(facts, lambda facts: _everything_everywhere(facts, np.unique(facts.s_message), "which was sent"))


@judge_of("IE", "information equivalent: all logs have the same messages")
def information_equivalent(facts: Facts) -> Finding:
    return when_quiet(
        facts, lambda facts: _everything_everywhere(facts, np.unique(facts.d_message), "which another node delivered")
    )


@judge_of("SC", "selectively correct: order preserving and selectively information preserving")
def selectively_correct(facts: Facts) -> Finding:
    return all_of(facts, no_creation, source_order, selectively_information_preserving)
