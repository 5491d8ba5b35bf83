"""Random tests: all their seeds are tried, those that fail are counted, and a shell command repeats one of them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pytest

_SHOWN = 10


@dataclass(frozen=True, slots=True)
class EverySeed:
    """Of one test."""

    test: str  # as pytest calls it
    only: int | None = None  # the one seed that is asked for

    def __call__(self, seeds: Iterable[int], wrong: Callable[[int], object]) -> None:
        """Nothing may be wrong with any seed: neither something that is returned, nor an exception."""
        if self.only is not None:
            found = wrong(self.only)
            assert not found, found
            return
        tried, failing, first = 0, [], ""
        for seed in seeds:
            tried += 1
            try:
                found = wrong(seed)
            except Exception as error:
                found = f"{type(error).__name__}: {error}"
            if found:
                first = first or str(found)
                failing.append(seed)
        if failing:
            more = ", ..." if len(failing) > _SHOWN else ""
            pytest.fail(
                f"{len(failing)} of {tried} seeds fail: {', '.join(map(str, failing[:_SHOWN]))}{more}\n"
                f"seed {failing[0]}: {first}\nrepeat it: {self.command(failing[0])}",
                pytrace=False,  # there is none that says more
            )

    def command(self, seed: int) -> str:
        """What repeats a seed, in a shell."""
        thorough = "TUTTI_THOROUGH=1 " if os.environ.get("TUTTI_THOROUGH") else ""  # there are more tests then
        return f"{thorough}./tutti test {shlex.quote(self.test)} --seed {seed}"
