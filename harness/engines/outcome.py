"""What an engine says when the agent's process is over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

TAIL_LINES = 15

# Called now and then with the progress line of the agent, e.g. "12.0 s".
Progress = Callable[[str], None]


class EngineError(RuntimeError):
    """The run could not be carried out to its end; the message ends with the tail of the log that tells why."""


class NodeDied(EngineError):
    """... since a node, or a program in it, ended by itself."""


class MachineLacks(RuntimeError):
    """This machine cannot do it; the message names what is missing and the command that mends it."""

    def __init__(self, message: str, packages: Sequence[str] = ()) -> None:
        """`packages` of Debian would mend it."""
        super().__init__(message)
        self.packages = packages


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """What a person may set about an engine."""

    memory_mb: int = 2048
    # Wall time without progress of the guest's clock after which a run is given up, beside waiting for a processor.
    stall_s: float = 120.0


def tail(path: Path, lines: int = TAIL_LINES) -> str:
    """The last lines of a log, indented, for an error message."""
    if not path.exists():
        return f"    (no {path.name})"
    text = path.read_text(errors="replace").splitlines()[-lines:]
    return "\n".join("    " + line for line in text) or f"    ({path.name} is empty)"
