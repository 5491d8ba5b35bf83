"""What every node's application submits and when: a function of the scenario alone.

Every node draws from its own streams, seeded by its name, so that a node more leaves the instants and the bytes of
the others as they were (their destinations may now include it). Instants are counted from the start of the run.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from harness.scenario import Scenario
from harness.scenario.model import Bursts, Destinations, Generated, Script, Steady
from nodes.shell import Submission
from topologies.seeds import seed_for

_BILLION = 1_000_000_000

Message = tuple[int, tuple[int, ...], bytes]  # when, to whom, what


def schedule(scenario: Scenario) -> dict[str, tuple[Submission, ...]]:
    """Each node's submissions in the order of time, numbered from 1."""
    return {
        node: tuple(
            Submission(at_ns, number, to, data) for number, (at_ns, to, data) in enumerate(_messages(scenario, node), 1)
        )
        for node in scenario.nodes
    }


def _messages(scenario: Scenario, node: str) -> Iterator[Message]:
    workload = scenario.workload
    if isinstance(workload, Script):
        everybody = tuple(range(1, scenario.topology.nodes + 1))
        for message in sorted(workload.message, key=lambda one: one.at_ns):  # stable: file order at equal times
            if message.node == node:
                to = tuple(sorted(int(name[1:]) for name in message.to)) or everybody
                yield message.at_ns, to, message.data.encode()
    elif workload is not None and (workload.senders is None or node in workload.senders):
        yield from _generated(scenario, workload, node)


def _generated(scenario: Scenario, workload: Bursts | Steady, node: str) -> Iterator[Message]:
    def stream(purpose: str) -> random.Random:
        return random.Random(seed_for(scenario.seed, "workload", purpose, node))

    choose = _chooser(workload.destinations, scenario.topology.nodes, int(node[1:]), stream("destinations"))
    contents = stream("payload")
    for number, at_ns in enumerate(_instants(workload, stream("instants")), 1):
        yield at_ns, choose(), _payload(node, number, workload, contents)


def _instants(workload: Bursts | Steady, draw: random.Random) -> Iterator[int]:
    if isinstance(workload, Bursts):
        for turn in range(workload.rounds):
            for _ in range(workload.size):
                yield workload.start_ns + turn * workload.every_ns
        return
    period_ns = _BILLION / workload.rate_per_s
    if workload.arrivals == "periodic":
        phase = draw.random()  # senders are not in step
        for turn in range(int(workload.for_ns / period_ns) + 1):
            at_ns = round((turn + phase) * period_ns)
            if at_ns < workload.for_ns:
                yield workload.start_ns + at_ns
        return
    at = draw.expovariate(1.0) * period_ns
    while at < workload.for_ns:
        yield workload.start_ns + int(at)
        at += draw.expovariate(1.0) * period_ns


def _chooser(destinations: Destinations, nodes: int, me: int, draw: random.Random) -> Callable[[], tuple[int, ...]]:
    pool = tuple(one for one in range(1, nodes + 1) if destinations.among == "all" or one != me)
    if destinations.nodes is not None:
        fixed = tuple(sorted(int(name[1:]) for name in destinations.nodes))
        return lambda: fixed
    if destinations.fraction is not None:
        size = max(1, int(destinations.fraction * len(pool) + 0.5))
    elif destinations.count is not None:
        size = destinations.count
    else:
        return lambda: pool

    def some() -> tuple[int, ...]:
        if destinations.multicast and draw.random() < destinations.multicast:
            return pool
        return tuple(sorted(draw.sample(pool, size)))

    return some


def _payload(node: str, number: int, workload: Generated, contents: random.Random) -> bytes:
    """Readable at the front, so that a person finds a message in a packet dump; noise behind."""
    name = f"{node}#{number} ".encode()[: workload.payload]
    return name + contents.randbytes(workload.payload - len(name))
