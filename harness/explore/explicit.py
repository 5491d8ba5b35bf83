"""Chance, written down: each PDU that an impairment lost, doubled or held up becomes a fault of that one PDU.

After that a case has no random draw of the network left, so it says the same in memory and on the emulated network, and
what does not matter of it can be taken out one by one.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

from harness.explore.frame import Fate
from harness.explore.memory import Run
from harness.explore.stage import START_NS
from harness.scenario.faults import Fault
from harness.scenario.faults.chosen import Delay, Drop, Duplicate
from harness.scenario.faults.impair import Change
from harness.scenario.model import Scenario
from harness.scenario.pdus import PduMatch
from topologies.impairments import Impairment


def explicit(case: Scenario) -> Scenario:
    """The same case without chance, as far as loss, doubles and jitter on the way to a node are concerned."""
    run, before = Run(case), defaultdict[tuple[str, int, int], list[int]](list)
    run.network.fates = []
    run.all()
    found: list[Fault] = []
    for fate in run.network.fates:
        key = fate.pdu.TYPE.title, fate.pdu.src, fate.receiver
        if fate.is_by_chance:
            found.append(_certainly(fate, before[key]))
        before[key].append(fate.at_ns)
    faults = [
        replace(one, impairment=_certain(one.impairment)) if isinstance(one, Change) else one for one in case.fault
    ]
    impair = tuple(replace(one, impairment=_certain(one.impairment)) for one in case.impair)
    return replace(case, impair=impair, fault=(*found, *faults))  # the first that takes a PDU decides


def _certainly(fate: Fate, before_ns: list[int]) -> Fault:
    """What became of it as a fault, which begins between it and the last before it of its kind, and takes the first: if
    something else is left out, there may be fewer of them, but they come at about the same times."""
    chosen = PduMatch(types=(fate.pdu.TYPE.title,), src=(fate.pdu.src,))
    earlier = [at_ns - START_NS for at_ns in before_ns if at_ns < fate.at_ns]
    begin_ns = _between(earlier[-1], fate.at_ns - START_NS) if earlier else 0
    what: dict[str, Any] = {"pdu": chosen, "towards": (f"n{fate.receiver}",), "at_ns": begin_ns}
    what["skip"] = len(before_ns) - len(earlier)  # of one instant
    match fate.copies_ns:
        case []:
            return Drop(**what)
        case [only]:
            return Delay(**what, by_ns=only)
        case [first, second, *others]:
            more = tuple(other - first for other in others)
            return Duplicate(**what, by_ns=second - first, late_ns=first, more=more)
    raise AssertionError


def _between(first_ns: int, last_ns: int) -> int:
    """The roundest time in the middle half."""
    quarter_ns, unit = (last_ns - first_ns) // 4, 1_000_000_000
    while (found := (last_ns - quarter_ns) // unit * unit) <= first_ns + quarter_ns and unit > 1:
        unit //= 10
    return found


def _certain(impairment: Impairment) -> Impairment:
    return replace(
        impairment.without_loss(),
        reorder=0.0,
        delay_ns=impairment.least_ns,
        jitter_ns=0,
        distribution=None,
    )
