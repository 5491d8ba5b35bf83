"""adj: whom does a node test? (paper 003 §3.3 step 2, §3.4.1 to §3.4.4)

Every strategy works on positions in the ascending list of the members, so a new view renumbers by itself
(D-HI-13), and none ever chooses the chooser (D-HI-2). In the ring i asks i+1: the paper's text has it both ways
(D-HI-3).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

# (me, members, how many, chance, routers between me and each) -> the nodes to test
Adjacency = Callable[[int, tuple[int, ...], int, random.Random, Mapping[int, int]], tuple[int, ...]]


def ring(me: int, members: tuple[int, ...], k: int, chance: random.Random, hops: Mapping[int, int]) -> tuple[int, ...]:
    """The next k in the ring: everybody is tested, at every message."""
    n, here = len(members), members.index(me)
    return tuple([members[(here + step) % n] for step in range(1, min(k, n - 1) + 1)])


def uniform(
    me: int, members: tuple[int, ...], k: int, chance: random.Random, hops: Mapping[int, int]
) -> tuple[int, ...]:
    """Any k others, all equally likely: robust against what nobody thought of, but a failure may be missed."""
    others = [member for member in members if member != me]
    return tuple(chance.sample(others, min(k, len(others))))


def near_far(far_share: float) -> Adjacency:
    """Mostly one of the nearest, sometimes one behind more routers: cheap on the network."""

    def choose(
        me: int, members: tuple[int, ...], k: int, chance: random.Random, hops: Mapping[int, int]
    ) -> tuple[int, ...]:
        others = [member for member in members if member != me]
        nearest = min((hops.get(member, 0) for member in others), default=0)
        near = [member for member in others if hops.get(member, 0) == nearest]
        far = [member for member in others if hops.get(member, 0) > nearest]
        chosen: list[int] = []
        while len(chosen) < min(k, len(others)):
            pool = far if far and (not near or chance.random() < far_share) else near
            chosen.append(pool.pop(chance.randrange(len(pool))))
        return tuple(chosen)

    return choose


def adjacency(name: str, far_share: float) -> Adjacency:
    """The strategy of that name."""
    return {"ring": ring, "random": uniform, "near_far": near_far(far_share)}[name]
