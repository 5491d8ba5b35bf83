"""Which numbers of one node were seen, in bounded memory and yet exactly: each once, in whatever order they come."""

from __future__ import annotations

WINDOW = 1024  # numbers that may overtake each other


class Window:
    """The highest, and a bit for each of the last 1,024; what is below counts as seen."""

    __slots__ = ("_highest", "_seen")

    def __init__(self) -> None:
        self._highest, self._seen = -1, 0

    def __contains__(self, number: int) -> bool:
        back = self._highest - number
        return back >= WINDOW or (back >= 0 and bool(self._seen >> back & 1))

    def take(self, number: int) -> bool:
        """True once per number."""
        if number in self:
            return False
        ahead = number - self._highest
        if ahead > 0:
            self._seen = self._seen << ahead & (1 << WINDOW) - 1 if ahead < WINDOW else 0
            self._highest = number
        self._seen |= 1 << self._highest - number
        return True
