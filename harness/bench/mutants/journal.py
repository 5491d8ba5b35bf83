"""What was tried with mutants, a line each in a file: whatever ends it, the same command goes on from there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


class Journal:
    """Results by keys that name all that they depend on; the last one of a key counts. Without a file none is kept."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        lines = path.read_text().splitlines() if path is not None and path.exists() else []
        self._known: dict[str, Any] = dict(map(json.loads, lines))

    def get(self, key: str) -> Any:
        """What is known; None: nothing."""
        return self._known.get(key)

    def add(self, key: str, result: Any) -> None:
        """Keep it."""
        if self._path is not None:
            with self._path.open("a") as file:
                file.write(json.dumps([key, result]) + "\n")
