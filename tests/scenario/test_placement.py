"""Where impairments go."""

from __future__ import annotations

import pytest

from topologies.kinds import Sizes, build
from topologies.placement import Placement, placements
from topologies.plan import Channel, PlanError

ONE = build("one_channel", 3, channel=Channel(1_000_000))
TREE = build("tree", 2, Sizes(depth=1))
MESH = build("mesh", 3)


def where(plan: object, on: str) -> list[str]:
    return [place.interface for place in placements(plan, on)]  # type: ignore[arg-type]


def test_words() -> None:
    assert where(ONE, "receivers") == ["s1-eth1", "s1-eth2", "s1-eth3"]
    assert where(ONE, "senders") == ["n1-eth0", "n2-eth0", "n3-eth0"]
    assert where(ONE, "n2-s1") == ["n2-eth0", "s1-eth2"]
    assert where(ONE, "n2>s1") == ["n2-eth0"]
    assert where(ONE, "s1>n2") == ["s1-eth2"]
    assert where(TREE, "routers") == ["r1-eth1", "r2-eth1", "r1-eth2", "r3-eth1"]
    assert where(TREE, "r1>r3") == ["r1-eth2"]
    assert where(TREE, "r2-s1") == ["r2-eth0", "s1-eth0"]


def test_a_pair_of_a_mesh_is_told_by_the_source() -> None:
    (place,) = placements(MESH, "n1>n3")
    assert place == Placement("s1", "s1-eth3", "02:6e:00:00:00:01")
    (other,) = placements(MESH, "n2>n3")
    assert other.interface == place.interface and other.name != place.name, "each pair has a seed of its own"


@pytest.mark.parametrize(
    ("on", "reason"),
    [
        ("n1-s2", "no link or direction is called 'n1-s2'; did you mean 'n1-s1'?"),
        ("s1-n1", "no link or direction is called 's1-n1'"),
        ("n1>n2", "only a mesh"),
        ("n1>s3", "did you mean 'n1>s1'?"),
        ("routers", "a one_channel has no cables between routers"),
        ("everywhere", "no link or direction is called 'everywhere'"),
    ],
)
def test_unknown_places(on: str, reason: str) -> None:
    with pytest.raises(PlanError) as caught:
        placements(ONE, on)
    assert reason in str(caught.value)
