"""Rows of benchmarks: what people are shown, what JSON has, and that every row of every benchmark can be shown."""

from __future__ import annotations

import importlib
import string
from dataclasses import dataclass
from typing import Annotated

import pytest

from harness.bench import BENCHES
from harness.bench.row import Row, Violated, texts


@dataclass(frozen=True, slots=True)
class Cost(Row):
    """A row with everything."""

    n: Annotated[int, "n = {}"]
    hidden: int
    took_s: Annotated[float, "{:.1f} s, {row.each:.2f} each"]
    tried: Annotated[tuple[float, ...], "tried {}"] = ()
    best_s: Annotated[float | None, "best {:.1f}"] = None
    violated: Violated = ()

    @property
    def each(self) -> float:
        return self.took_s / self.n


def test_a_row_shows_what_there_is_and_json_has_all() -> None:
    assert str(Cost(4, 7, 2.0)) == "n = 4, 2.0 s, 0.50 each"
    assert str(Cost(4, 7, 2.0, (1.0, 0.25), 0.0, ("ST-1", "NC"))) == (
        "n = 4, 2.0 s, 0.50 each, tried 1, 0.25, best 0.0, VIOLATED ST-1, NC"
    )
    assert Cost(4, 7, 2.0).document() == {
        "n": 4,
        "hidden": 7,
        "took_s": 2.0,
        "tried": (),
        "best_s": None,
        "violated": (),
    }


@pytest.mark.parametrize("module", sorted({module for module, _, _ in BENCHES.values()}))
def test_what_a_row_says_of_itself_is_there(module: str) -> None:
    rows = [
        one
        for one in vars(importlib.import_module(module)).values()
        if isinstance(one, type) and issubclass(one, Row) and one is not Row
    ]
    assert rows
    for row in rows:
        for _, text in texts(row):
            for _, field, _, _ in string.Formatter().parse(text):
                if field:
                    assert hasattr(row, field.removeprefix("row."))
