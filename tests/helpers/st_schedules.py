"""Random schedules of ST: losses of every PDU type, a sender's own copies included, bursts, tails, slow readers."""

from __future__ import annotations

from typing import Any

from harness.world import World
from nodes.st.options import StOptions
from nodes.wire import Pdu
from tests.helpers.cluster import SLOT, Broken, failures, st_world


def schedule(seed: int, options: StOptions | None = None, *, watched: bool = True, events: int = 100_000) -> World:
    """One random run to its silent end: everything about it follows from the seed."""
    world = st_world(2 + seed % 5, options, seed=seed, watched=watched)
    chance = world.random
    n = 2 + seed % 5
    base = chance.choice((0.0, 0.01, 0.05, 0.1, 0.25))
    share = {i: min(0.4, base * chance.choice((1, 1, 1, 2))) for i in range(1, n + 1)}
    slow = chance.randrange(1, n + 1) if chance.random() < 0.3 else 0  # its buffer overflows in bursts
    full_until = 0

    def loss(pdu: Pdu, receiver: int, now: int) -> bool:
        nonlocal full_until
        if receiver == slow:
            if now >= full_until and chance.random() < 0.02:
                full_until = now + chance.randrange(2, 12) * SLOT
            if now < full_until:
                return True
        return chance.random() < share[receiver]

    world.channel(SLOT, loss)
    at = world.now
    for _ in range(chance.randrange(1, 4)):  # bursts, with idle times in which all falls silent
        for _ in range(chance.randrange(1, 2 * n)):
            src = chance.randrange(1, n + 1)
            to = tuple(chance.sample(range(1, n + 1), chance.randrange(1, n + 1)))
            world.at(at + chance.randrange(n * SLOT), lambda src=src, to=to: world.submit(src, to, b"x"))  # type: ignore[misc]
        at += chance.choice((3, 40, 400)) * n * SLOT
    world.run(max_events=events)  # ends only when the channel has fallen silent
    return world


def complaints(seed: int, options: StOptions | None = None, **how: Any) -> list[str]:
    """What is wrong with the run of that seed."""
    try:
        world = schedule(seed, options, **how)
    except (Broken, AssertionError) as error:
        return [str(error)]
    unsettled = [] if world.settled() else ["not settled"]
    return unsettled + failures(world)
