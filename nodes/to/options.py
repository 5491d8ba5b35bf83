"""What a scenario may say about TO, and the times that follow from it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Annotated, Literal

from nodes.st.limits import check
from nodes.st.options import DEFAULT_SLOT_NS, StOptions, Timing


@dataclass(frozen=True, slots=True, kw_only=True)
class ToPrinted:
    """The rules of paper 001 that do not hold, each with its own switch; False is the repaired rule."""

    star: bool = False  # §3.2 (4) by one's own REQ: nothing of the stopped is deleted (D-TO-1)
    freeze: bool = False  # PDUs of an entity already reported as stopped are still accepted (D-TO-2)
    merge: bool = False  # §3.2 (2), §3.3: the bits of stopped entities are OR-ed (D-TO-3)
    quorum: bool = False  # whoever is left goes on (D-TO-4)
    flush: bool = False  # §3.3 (4): "received before rca", instead of before an agreed point (D-TO-14)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToOptions:
    """The scenario table [to]."""

    rules: Literal["repaired", "printed"] = "repaired"
    recovery: Literal["suspended", "live"] = "suspended"  # do members send while somebody joins?
    resend: Literal["selective", "range"] = "selective"
    cluster: int = 1
    window: int = 0  # W: data PDUs an entity may have unacknowledged; 0 is 3n
    buffer_share: int = 1  # H of the flow condition
    quorum: int = 0  # voters that a view needs; 0 is a majority of the cluster
    silence: int = 12  # heartbeats in a row whose loss means that an entity has stopped
    period_ns: Annotated[int, "duration"] = 0  # T, as in ST
    round_ns: Annotated[int, "duration"] = 0  # base of T_r and T_r', as in ST
    kick_ns: Annotated[int, "duration"] = 0
    answer_ns: Annotated[int, "duration"] = 0
    heartbeat_ns: Annotated[int, "duration"] = 0  # T_hb: an idle entity says something; 0 is 4n PDU times
    stop_ns: Annotated[int, "duration"] = 0  # T_stop; 0 is the larger of 4 T_hb + 3 T_r and silence * T_hb
    printed: ToPrinted = field(default_factory=ToPrinted)

    def __post_init__(self) -> None:
        check(self.cluster, self.window, self.buffer_share)
        if self.quorum < 0 or self.silence < 1:
            raise ValueError("quorum is not negative, and silence at least 1")

    def switches(self) -> ToPrinted:
        """Which rules are the printed ones."""
        if self.rules == "printed":
            return ToPrinted(**{switch.name: True for switch in fields(ToPrinted)})
        return self.printed

    def transfer(self) -> StOptions:
        """The options of the data transfer and of the recovery rounds, which are ST's."""
        return StOptions(
            recovery=self.resend,
            cluster=self.cluster,
            window=self.window,
            buffer_share=self.buffer_share,
            period_ns=self.period_ns,
            round_ns=self.round_ns,
            kick_ns=self.kick_ns,
            answer_ns=self.answer_ns,
        )


@dataclass(frozen=True, slots=True)
class ViewTiming:
    """The durations of the view control in force, in ns."""

    heartbeat: int
    stop: int

    @classmethod
    def of(cls, options: ToOptions, timing: Timing, n: int, slot_ns: int) -> ViewTiming:
        """T_stop outlasts every silence that loss can make of a live entity, rounds included."""
        heartbeat = options.heartbeat_ns or 4 * n * (slot_ns or DEFAULT_SLOT_NS)
        longest_round = timing.round + timing.period
        stop = options.stop_ns or max(4 * heartbeat + 3 * longest_round, options.silence * heartbeat)
        return cls(heartbeat, stop)
