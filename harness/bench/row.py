"""One row of what a benchmark measured: a dataclass whose annotations say how people are shown each value.

    @dataclass(frozen=True, slots=True)
    class Cost(Row):
        \"\"\"What a crash costs.\"\"\"
        n: Annotated[int, "n = {}"]
        outage_ms: Annotated[float, "nothing delivered for {:.1f} ms"]
        violated: Violated

A text may also name properties of the row: `"{:.2f} s, {row.ratio:.3f} of naive"`. What is None or
empty is not shown.
"""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, get_args, get_type_hints

Violated = Annotated[tuple[str, ...], "VIOLATED {}"]  # the properties that do not hold


class Refused(ValueError):
    """A benchmark cannot do what it is asked for."""


class Row:
    """What prints itself."""

    __slots__ = ()

    def __str__(self) -> str:
        shown = []
        for name, text in texts(type(self)):
            value = getattr(self, name)
            if isinstance(value, tuple):
                value = ", ".join([f"{one:.4g}" if isinstance(one, float) else str(one) for one in value])
            if value not in (None, ""):
                shown.append(text.format(value, row=self))
        return ", ".join(shown)

    def document(self) -> dict[str, Any]:
        """All values, for JSON."""
        return dataclasses.asdict(self)  # type: ignore[call-overload,no-any-return]


def texts(row: type[Row]) -> tuple[tuple[str, str], ...]:
    """What is said of each value that is shown, in order."""
    hints = get_type_hints(row, include_extras=True)
    return tuple((name, get_args(hint)[1]) for name, hint in hints.items() if hasattr(hint, "__metadata__"))
