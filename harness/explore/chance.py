"""What is drawn follows from the seed alone.

Hypothesis draws what a test asks for: mostly small numbers, and such as it reads in the source of whatever modules are
imported. So the same seed would give other cases in another process, and after a change of a line that has nothing to
do with them; and of a thousand places in time, or of many receivers, the last ones would hardly ever be meant. Its
choices are its own here, but each number of a range is as likely as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import TypeVar

from hypothesis.errors import StopTest
from hypothesis.internal.conjecture import providers
from hypothesis.internal.conjecture.data import ConjectureData

from harness.explore.choices import Draw

T = TypeVar("T")


class _Even(providers.HypothesisProvider):
    """Where Hypothesis' choices come from."""

    def draw_integer(
        self,
        min_value: int | None = None,
        max_value: int | None = None,
        *,
        weights: dict[int, float] | None = None,
        shrink_towards: int = 0,
    ) -> int:
        assert self._random is not None and min_value is not None and max_value is not None
        return self._random.randint(min_value, max_value)


def drawn(made: Callable[[Draw], T], seed: int, count: int) -> Iterator[T]:
    """So many, of which none depends on another; but for those that take too many choices."""
    random = Random(seed)
    for _ in range(count):
        choices = ConjectureData(random=random, provider=_Even)
        try:
            yield made(Draw(choices.draw_integer))
        except StopTest:
            continue


def _none_is_read(path: str) -> bool:
    return False


def from_the_seed_alone() -> None:
    """For all that Hypothesis draws in this process by itself from here on."""
    providers.is_local_module_file = _none_is_read  # type: ignore[assignment,attr-defined]
