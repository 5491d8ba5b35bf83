"""What a scenario can set about cmd: the table [cmd]."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Annotated, Literal

SchemeName = Literal["s_records", "unpruned", "matrix"]
# `retry` doubles, so that a small one does no harm. Where it may not, a copy is repeated so often on every round trip.
LEAST_RETRY_MAX_NS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """The rules of paper 004 that do not hold, each with its own switch; False is the repaired rule."""

    clock: bool = False  # rule 3 with the vector time after the message was counted (D-CM-1)
    sequence: bool = False  # rules 1, 2, 3 one after the other, each on what the last one left (D-CM-2)
    queue: bool = False  # the Queue is looked at only after a message that had a record for me (D-CM-3)
    multicast: bool = False  # a copy does not name the other copies (D-CM-4)
    skip: bool = False  # no pruning by a message without a record for me (D-CM-5; safe, larger tags)
    repeat: bool = False  # older records of the same pair stay (D-CM-6; safe, larger tags)
    lives: bool = False  # what is known of a later life stands for the earlier ones (D-CM-9)


def all_printed() -> Printed:
    """Every rule as the paper prints it."""
    return Printed(**{switch.name: True for switch in fields(Printed)})


@dataclass(frozen=True, slots=True, kw_only=True)
class CmdOptions:
    """The scenario table [cmd]."""

    rules: Literal["repaired", "printed"] = "repaired"
    scheme: SchemeName = "s_records"  # or a baseline: the supporting procedure of 004 §3.1, an N x N matrix clock
    queue_limit: int = 1024  # messages that wait for others; beyond it a copy is not acknowledged
    window: int = 1024  # copies under way to one peer
    retry_ns: Annotated[int, "duration"] = 50_000_000  # the least time before a copy is repeated
    retry_max_ns: Annotated[int, "duration"] = 400_000_000  # the most: below the silence that ends a run
    attempts: int = 30  # repetitions before a peer counts as silent
    printed: Printed = field(default_factory=Printed)

    def __post_init__(self) -> None:
        if min(self.queue_limit, self.window, self.attempts) < 1:
            raise ValueError("queue_limit, window and attempts must be at least 1")
        if not 0 < self.retry_ns <= self.retry_max_ns:
            raise ValueError("retry must be positive and at most retry_max")
        if self.retry_max_ns < LEAST_RETRY_MAX_NS:
            raise ValueError(
                "retry_max must be at least 1 ms: else repetitions fill the network before an answer can come"
            )

    def switches(self) -> Printed:
        """Which rules are the printed ones."""
        return all_printed() if self.rules == "printed" else self.printed
