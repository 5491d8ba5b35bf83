"""Chance, written down: each PDU that an impairment lost, doubled or held up becomes a fault of that one PDU.

After that a case has no random draw of the network left, so it says the same in memory and on the emulated network, and
what does not matter of it can be taken out one by one.
"""

from __future__ import annotations

from dataclasses import replace

from harness.explore.frame import Carried
from harness.explore.memory import Run
from harness.scenario.faults import Fault
from harness.scenario.faults.chosen import Delay, Drop, Duplicate
from harness.scenario.faults.impair import Change
from harness.scenario.model import Scenario
from harness.scenario.pdus import PduMatch
from topologies.impairments import Impairment


def explicit(case: Scenario) -> Scenario:
    """The same case without chance, as far as loss, doubles and jitter on the way to a node are concerned."""
    run, found = Run(case), list[Fault]()

    def watch(frame: Carried, receiver: int, impairment: Impairment, waits_ns: list[int]) -> None:
        key = (frame.pdu.TYPE.title, frame.pdu.src, receiver)
        what = {
            "pdu": PduMatch(types=key[:1], src=key[1:2]),
            "towards": (f"n{receiver}",),
            "skip": run.network.offered[key] - 1,
        }
        least_ns = impairment.delay_ns - impairment.jitter_ns
        if not waits_ns:
            found.append(Drop(**what))  # type: ignore[arg-type]
        elif len(waits_ns) > 1:
            found.append(Duplicate(**what, by_ns=max(0, waits_ns[1] - waits_ns[0])))  # type: ignore[arg-type]
        elif waits_ns[0] > least_ns and impairment.jitter_ns:
            found.append(Delay(**what, by_ns=waits_ns[0] - least_ns))  # type: ignore[arg-type]

    run.network.watch = watch
    run.all()
    faults = [
        replace(one, impairment=_certain(one.impairment)) if isinstance(one, Change) else one for one in case.fault
    ]
    impair = tuple(replace(one, impairment=_certain(one.impairment)) for one in case.impair)
    return replace(case, impair=impair, fault=(*faults, *found))


def _certain(impairment: Impairment) -> Impairment:
    least_ns = impairment.delay_ns - impairment.jitter_ns
    return replace(
        impairment, loss=0.0, loss_model=None, duplicate=0.0, delay_ns=max(0, least_ns), jitter_ns=0, distribution=None
    )
