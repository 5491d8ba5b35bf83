"""What a person sees while runs are carried out: counts, rate, time left. To stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from harness.terminal import rewrite

EVERY_S = 20.0  # between lines where there is no terminal


def spell(seconds: float) -> str:
    """A time as people say it."""
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    if seconds < 5940:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


class Progress:
    """One line on a terminal, now and then a line elsewhere."""

    def __init__(self, name: str, total: int, found: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._name, self._total, self._clock = name, total, clock
        self._done, self._found, self._failed = 0, found, 0
        self._begin = self._said = clock()

    def add(self, *, failed: bool) -> None:
        """One run more."""
        self._done += 1
        self._failed += failed
        self.show()

    def line(self) -> str:
        """How it stands."""
        left = self._total - self._found - self._done
        elapsed = self._clock() - self._begin
        words = [f"{self._found + self._done} of {self._total} runs"]
        if self._found:
            words.append(f"{self._found} from before")
        if self._failed:
            words.append(f"{self._failed} failed")
        if self._done and elapsed > 0:
            rate = self._done / elapsed
            words.append(f"{rate:.2f} runs/s" if rate >= 0.1 else f"{rate * 3600:.0f} runs/h")
            if left:
                words.append(f"{spell(left / rate)} left")
        return f"{self._name}: {', '.join(words)}"

    def show(self) -> None:
        """Say it, if it is time."""
        now = self._clock()
        if sys.stderr.isatty():
            rewrite(self.line())
        elif now - self._said >= EVERY_S:
            self._said = now
            sys.stderr.write(self.line() + "\n")

    def end(self) -> None:
        """The last word."""
        if sys.stderr.isatty():
            rewrite("")
        sys.stderr.write(f"{self.line()}, {spell(self._clock() - self._begin)}\n")
