"""What came of a sweep."""

from __future__ import annotations

from dataclasses import dataclass

from harness.sweep.load import Spanned
from harness.sweep.store import Store
from harness.sweep.tables import Done, Rows


@dataclass(frozen=True, slots=True)
class Swept:
    """What came of a sweep."""

    spanned: Spanned
    done: tuple[Done, ...]
    points: Rows
    store: Store

    def count(self, outcome: str) -> int:
        """Runs that ended so."""
        return sum(one.record["outcome"] == outcome for one in self.done)

    @property
    def violated(self) -> list[Done]:
        """Runs in which something else happened than expected, apart from what the sweep tolerates."""
        tolerated = set(self.spanned.sweep.tolerate)
        return [one for one in self.done if set(one.record.get("violated", [])) - tolerated]

    @property
    def left(self) -> Rows:
        """Metrics that left their budget."""
        return [row for row in self.points if row["budget"] == "left"]


def ended(swept: Swept) -> str:
    """How many runs ended how."""
    violated = len(swept.violated)
    counts = (
        (swept.count("pass"), "as expected"),
        (violated, "NOT as expected"),
        (swept.count("fail") - violated, "with what the sweep tolerates"),
        (swept.count("unknown"), "unknown"),
        (swept.count("failed"), "not carried out"),
    )
    return ", ".join(f"{number} {meaning}" for number, meaning in counts if number)
