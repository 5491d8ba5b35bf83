"""Which PDUs the faults of chosen PDUs take, on the network and in memory alike: one rule per fault and receiver."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.scenario.faults import Fault
from harness.scenario.faults.chosen import PduFault
from nodes.wire import Pdu
from nodes.wire.fault import FaultNote
from topologies.plan import Plan
from topologies.seeds import seed_for


@dataclass(slots=True)
class Rule:
    """One fault on one port."""

    port: str  # interface of the switch towards the node
    towards: int
    fault: PduFault
    starts_ns: int | None  # true time; None: not yet known
    draws: random.Random
    note: FaultNote  # of each PDU that it takes
    seen: int = 0

    def takes(self, pdu: Pdu, now: int) -> bool:
        """Is this PDU to be taken? Of those that match: skip some, spare some by chance, then take `count`."""
        fault = self.fault
        if self.starts_ns is None or now < self.starts_ns or not fault.pdu.matches(pdu):
            return False
        if fault.for_ns is not None and now >= self.starts_ns + fault.for_ns:
            return False
        if fault.share < 1 and self.draws.random() >= fault.share:
            return False
        self.seen += 1
        return self.seen > fault.skip and (fault.count is None or self.seen <= fault.skip + fault.count)


def rules(plan: Plan, faults: Sequence[Fault], t0_ns: int, run_seed: int) -> list[Rule]:
    """The rules of a scenario's faults."""
    found = []
    for number, fault in enumerate(faults):
        if not isinstance(fault, PduFault):
            continue
        for towards in fault.towards or plan.hosts:
            port = plan.port_towards(towards).interface
            draws = random.Random(seed_for(run_seed, "pdu fault", str(number), towards))
            starts_ns = None if fault.when is not None else t0_ns + fault.at_ns
            found.append(Rule(port, int(towards[1:]), fault, starts_ns, draws, fault.note(towards)))
    return found


def taking(rules: Iterable[Rule], pdu: Pdu, now: int) -> Rule | None:
    """The first rule that takes a PDU. All of them count it, so that none depends on what the others take."""
    return next(iter([rule for rule in rules if rule.takes(pdu, now)]), None)
