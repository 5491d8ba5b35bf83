"""What became of each mutant, a line each in a file: whatever ends it, the same command goes on from there."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class End:
    """What became of a mutant."""

    tests: int  # that reach it
    killed: str  # by which of them; empty if none sees it
    found: str = ""  # what the search says, if it was asked and finds anything

    @property
    def survived(self) -> bool:
        """Neither a test nor the search saw it."""
        return not self.killed and not self.found


class Journal:
    """The ends of mutants, each under a key that names it and all that it depends on. Without a file none is kept."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        lines = path.read_text().splitlines() if path is not None and path.exists() else []
        self._ends = {line["key"]: End(**line["end"]) for line in map(json.loads, lines)}

    def get(self, key: str) -> End | None:
        """What is known."""
        return self._ends.get(key)

    def add(self, key: str, end: End) -> None:
        """Keep it."""
        if self._path is not None:
            with self._path.open("a") as file:
                file.write(json.dumps({"key": key, "end": asdict(end)}) + "\n")
