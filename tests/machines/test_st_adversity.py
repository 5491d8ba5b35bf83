"""ST in adverse schedules (tests/helpers/st_schedules.py). TUTTI_THOROUGH=1 runs 10,000 of them."""

from __future__ import annotations

import os

import pytest

from nodes.st.options import Printed, StOptions
from nodes.wire import Pdu
from nodes.wire.st import RETX, StData
from tests.helpers.cluster import failures, st_world
from tests.helpers.seeds import EverySeed
from tests.helpers.st_schedules import complaints

THOROUGH = bool(os.environ.get("TUTTI_THOROUGH"))
RUNS = 10_000 if THOROUGH else 2_000


def test_repaired_rules_hold_in_random_schedules(every_seed: EverySeed) -> None:
    every_seed(range(RUNS), complaints)


@pytest.mark.parametrize("recovery", ["range", "go_back"])
def test_other_recoveries_hold_too(recovery: str, every_seed: EverySeed) -> None:
    options = StOptions(recovery=recovery)  # type: ignore[arg-type]
    every_seed(range(RUNS // 10), lambda seed: complaints(seed, options))


@pytest.mark.parametrize(
    "switch",
    ["acceptance", "line", "prefix", "pal", "expectation", "resend", "reaccept", "order", "own_loss"],
)
def test_every_printed_rule_is_caught(switch: str) -> None:
    """Some schedule on which the repaired rule holds breaks the printed one."""
    options = StOptions(printed=Printed(**{switch: True}))
    for seed in range(500):
        if complaints(seed, options, watched=False, events=20_000):
            assert not complaints(seed)
            return
    raise AssertionError(f"no schedule of 500 shows what is wrong with {switch}")


@pytest.mark.parametrize("recovery", ["selective", "range", "go_back"])
def test_a_crowd_is_sent_again_once(recovery: str) -> None:
    """It takes the channel longer than T_r: who lacks it asks meanwhile, and these questions come when it is there."""
    crowd, lost = 100, set()

    def loss(pdu: Pdu, receiver: int, now: int) -> bool:
        if receiver != 3 or not isinstance(pdu, StData) or pdu.flags & RETX or pdu.tseq >= crowd:
            return False
        lost.add(pdu.tseq)
        return True

    world = st_world(3, StOptions(window=crowd, recovery=recovery), loss=loss)  # type: ignore[arg-type]
    for _ in range(crowd):
        world.submit(1, (3,), b"x")
    world.run()
    assert not failures(world)
    again = [pdu.tseq for _, pdu in world.sent if isinstance(pdu, StData) and pdu.flags & RETX]
    whole = crowd - 1 if recovery == "selective" else crowd  # the others ask for all from the first one on
    assert (len(lost), again) == (crowd - 1, [*range(1, whole + 1)])
