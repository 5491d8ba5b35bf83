"""What can be chosen about HIM, with the values that measurement chose (tests/machines/test_him_confirmation.py)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

Duration = Annotated[int, "duration"]  # nanoseconds
Share = Annotated[float, "share"]

MS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class HimOptions:
    """The paper leaves maxfail and every time-out open; D-HI-n says which rule an option belongs to."""

    rules: Literal["repaired", "printed"] = "repaired"  # "printed" turns on the five that follow
    printed_report: bool = False  # D-HI-4: one REPORT, unacknowledged
    printed_test: bool = False  # D-HI-5: only the arrival of DATA starts a test
    printed_disjoin: bool = False  # D-HI-6: what was reported often enough goes, unheard
    printed_count: bool = False  # D-HI-8: failures are counted within one message
    printed_end: bool = False  # D-HI-20: nobody but the originator gives the alarm

    adj: Literal["ring", "random", "near_far"] = "ring"
    neighbours: int = 1  # |adj(i)|; above 1 hashes are put to the vote
    far_share: Share = 0.2  # of near_far's draws that go to a far node

    maxfail: int = 3  # repetitions of a message, and failures until a node is disjoined
    count_window_ns: Duration = 60_000 * MS  # D-HI-8: failures older than this are forgotten
    disjoin: bool = True  # false: nobody is removed but by a person, who has the alarms
    q: int = 3  # D-HI-9: times a question is asked
    rtry: int = 3  # D-HI-4: times a REPORT is sent

    rto_initial_ns: Duration = 200 * MS  # until a round trip was measured
    rto_min_ns: Duration = 2 * MS
    rto_max_ns: Duration = 1_000 * MS
    decide_ns: Duration = 0  # T_dec; 0: from the time-outs (D-HI-12)
    pace: Literal["group", "own"] = "group"  # whose time-outs T_dec is made of
    spread: Share = 1.0  # D-HI-18: the first REPORT waits up to this share of T_rep
    hasten: bool = True  # repeat the multicast at the first REPORT, not at the end of T_dec

    # What may make a SUCCESS. By default "evidence" in the ring, else "tree": where neighbours are drawn, some nodes
    # are asked by nobody, and without the tree one SUCCESS in seven or so is false at 5 % loss (D-HI-21).
    confirm: Literal["silence", "evidence", "tree"] | None = None
    fanout: int = 4  # of the tree

    alive_ns: Duration = 0  # D-HI-14: period of ALIVE packets; 0: none
    auth: Literal["none", "hmac"] = "none"
    key_file: str = ""  # with the group's key, readable by its owner alone
    key: str = ""  # for experiments: it stands in the scenario and in the run's records
    outsider: int = 0  # for experiments: this node has another key, as somebody from outside would

    @property
    def confirmation(self) -> Literal["silence", "evidence", "tree"]:
        """`confirm`, or what is safe with this adj."""
        return self.confirm or ("evidence" if self.adj == "ring" else "tree")

    def __post_init__(self) -> None:
        if not (self.neighbours >= 1 and self.q >= 1 and self.rtry >= 1 and self.fanout >= 1):
            raise ValueError("neighbours, q, rtry and fanout must be at least 1")
        if not 0 <= self.maxfail <= 100:
            raise ValueError(f"maxfail must be 0 to 100, not {self.maxfail}")
        if not 0 < self.rto_min_ns <= self.rto_initial_ns <= self.rto_max_ns:
            raise ValueError("0 < rto_min <= rto_initial <= rto_max must hold")
        if self.alive_ns < 0 or self.decide_ns < 0:
            raise ValueError("alive and decide must not be negative")
        if self.auth == "hmac" and not (self.key_file or self.key):
            raise ValueError('auth = "hmac" needs a key_file (or, for experiments, a key)')
