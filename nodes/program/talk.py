"""What is said with the one program of a node that is told what to submit: lines of its standard input and output."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nodes.lines import listed, log
from nodes.machine import Log
from nodes.shell import NodeConfig, Submission


class Talk:
    """An adapter's: it is told submissions, and says NOTEs."""

    # What else it listens to; how many PDUs it has sent and received.
    listens: Sequence[int] = ()
    sent = received = 0

    def __init__(self, config: NodeConfig, note: Callable[[Log], None], say: Callable[[str], None]) -> None:
        self.config, self.note, self.say = config, note, say
        self.ready = False  # the program has said so
        self.idle = True  # it owes nothing

    def begin(self) -> None:
        """The program was started."""

    def submit(self, one: Submission) -> None:
        """The application wants it sent."""
        self.say(f"submit {one.number} {listed(one.to)} {one.data.hex() or '-'}")

    def hear(self, line: str) -> None:
        """What the program said; ValueError if that cannot be."""
        word, _, rest = line.partition(" ")
        if word == "note":
            self.note(log(rest))
        elif line in ("busy", "idle"):
            self.idle = line == "idle"
        elif line == "ready":
            self.ready = True
        else:
            raise ValueError("an adapter says note, ready, busy or idle")

    def receive(self) -> None:
        """Something has come to what it listens to."""

    def due(self, now_ns: int) -> int | None:
        """Do what is due; when there is something to do again, if ever."""
        return None
