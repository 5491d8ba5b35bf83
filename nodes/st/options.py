"""What a scenario may say about ST, and the times that follow from it.

Durations of 0 are computed from the channel PDU time: a cluster of n needs 2n of them for one acknowledgement by
everybody, and a period below that saturates the channel with ACK PDUs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Annotated, Literal

from nodes.st.limits import check

DEFAULT_SLOT_NS = 300_000  # where the setting knows no channel: a full PDU at 10 Mbit/s


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """The rules of paper 000 that do not hold, each with its own switch; False is the repaired rule."""

    acceptance: bool = False  # §3.2: TSEQ equality, or destined and PSEQ equality (D-ST-2)
    ack_evidence: bool = False  # §4.1 (2): an ACK vector ahead of mine starts a round (D-ST-3)
    line: bool = False  # §4.2 (3) to the letter: PSEQs of different pairs are compared (D-ST-4)
    prefix: bool = False  # §4.2 (3) as meant, tested per destination, without the closure of §4.1 (D-ST-5)
    preack: bool = False  # §3.3, §3.4: pre-acknowledged and confirmed by the destinations alone (D-ST-6)
    pal: bool = False  # §3.3: PAL learns only from PDUs that are for me (D-ST-7)
    expectation: bool = False  # §4.2 (4): PREQ moves behind the lost PDUs before they have come (D-ST-10)
    resend: bool = False  # §4.3 (1): p.PSEQ > PSEQ spares the first missing PDU (D-ST-11)
    reaccept: bool = False  # §4.3 (2): PREQ < p.PSEQ refuses the first missing PDU (D-ST-12)
    order: bool = False  # §4.2 (2): the rear is sorted in the order in which RST_PAKs came (D-ST-15)
    flow: bool = False  # §3.2: the window is counted in TSEQs, ACK PDUs included (D-ST-20)
    own_loss: bool = False  # §4.3: nobody repeats to me what I lost of my own (D-ST-22)


def all_printed() -> Printed:
    """Every rule as the paper prints it."""
    return Printed(**{switch.name: True for switch in fields(Printed)})


@dataclass(frozen=True, slots=True, kw_only=True)
class StOptions:
    """The scenario table [st]."""

    rules: Literal["repaired", "printed"] = "repaired"
    recovery: Literal["selective", "range", "go_back"] = "selective"
    cluster: int = 1
    window: int = 0  # W: data PDUs an entity may have unacknowledged; 0 is 3n
    buffer_share: int = 1  # H of the flow condition
    period_ns: Annotated[int, "duration"] = 0  # T: a settled entity answers once per T; 0 is 2n PDU times
    round_ns: Annotated[int, "duration"] = 0  # base of T_r, the repetition inside a round; 0 is 2T
    kick_ns: Annotated[int, "duration"] = 0  # first ACK PDU after a round; 0 is 2 PDU times
    answer_ns: Annotated[int, "duration"] = 0  # at most one answer of a type in this time; 0 is T_r
    printed: Printed = field(default_factory=Printed)

    def __post_init__(self) -> None:
        check(self.cluster, self.window, self.buffer_share)

    def switches(self) -> Printed:
        """Which rules are the printed ones."""
        return all_printed() if self.rules == "printed" else self.printed


@dataclass(frozen=True, slots=True)
class Timing:
    """The durations in force, in ns."""

    period: int
    round: int
    kick: int
    answer: int

    @classmethod
    def of(cls, options: StOptions, n: int, slot_ns: int) -> Timing:
        """The options' durations, computed where they are 0."""
        slot = slot_ns or DEFAULT_SLOT_NS
        period = options.period_ns or 2 * n * slot
        repetition = options.round_ns or 2 * period
        return cls(period, repetition, options.kick_ns or 2 * slot, options.answer_ns or repetition)
