"""What only a person at a terminal sees: colours, questions, a line that is written over while something lasts.

Elsewhere (a file, a pipe, a log of CI) nothing of it appears. NO_COLOR, if it is not empty, means no colours.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from typing import TextIO

_COLOURS = {"good": "32", "bad": "31;1", "unsure": "33"}


def painted(text: str, colour: str, stream: TextIO | None = None) -> str:
    """The text in a colour ("good", "bad", "unsure"), if it goes to a terminal that shows colours."""
    stream = stream or sys.stdout
    if not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\033[{_COLOURS[colour]}m{text}\033[0m"


def rewrite(text: str) -> None:
    """Write over the line that a person at the terminal sees."""
    sys.stderr.write(f"\r{text[: shutil.get_terminal_size().columns - 1]}\033[K")
    sys.stderr.flush()


def agreed(question: str) -> bool:
    """Does a person say yes? Not if there is none."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


class ProgressLine:
    """One line on a terminal that is written over; silent elsewhere, and for the first second."""

    def __init__(self, what: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._what = what
        self._clock = clock
        self._begin = clock()
        self._shown = False

    def __call__(self, now: str) -> None:
        elapsed = self._clock() - self._begin
        if elapsed >= 1:
            self.show(f"{self._what}: at {now} of its own time, {elapsed:.0f} s of yours")

    def show(self, text: str) -> None:
        """Write over the line."""
        if sys.stderr.isatty():
            self._shown = True
            rewrite(text)

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            self._shown = False
            rewrite("")

    @contextlib.contextmanager
    def during(self, doing: str) -> Iterator[None]:
        """Say what is being done while it is done, where there are no steps to count."""
        self.show(f"{self._what}: {doing} ...")
        try:
            yield
        finally:
            self.clear()
