"""docs/states.md: which states the machines have and what takes them from one to another, as seen in random
schedules and in what `tutti explore` draws.

`./tutti python -m tests.helpers.states` writes the page again. The schedules are those of the adversity tests, and the
search has always the same seed, so both are the same for everybody until a rule changes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from harness.explore.base import base_of
from harness.explore.coverage import as_drawn
from harness.explore.diagrams import PAGE, Seen
from harness.explore.hunt import Hunt
from harness.explore.novelty import BEGIN
from nodes.him.machine import Him
from nodes.machine import Received
from nodes.protocols import protocol
from nodes.st.machine import St
from nodes.st.round import Mode
from nodes.to.machine import To
from tests.helpers import st_schedules, to_schedules
from tests.helpers.him_schedules import Schedule

SCHEDULES = 120
_CASES = 10  # of the search, for each schedule
_FIRST = {"st": Mode.DATA.value}  # in which state it begins

_HEAD = """\
# The states of the machines

What takes a machine from one state to another: a PDU that came, `submit` (the application) or `wake` (a time that was
waited for). States that a machine passes through within one such step are left out. Drawn from {cases:,} cases of the
search of each protocol, and of ST, TO and HIM {count} random schedules more; a test repeats some of them and complains
when it sees a change that is not here.
`./tutti python -m tests.helpers.states` draws this page again.
"""
_DIAGRAMS = {
    "st": (
        "ST, the recovery round (paper 000 §4)",
        "A round goes from data transfer through the other three; what is lost meanwhile begins another one.",
    ),
    "to": (
        "TO, the view control (paper 001 §4, §5)",
        "Each state has the recovery round of ST inside. Who has left comes back as the next incarnation of itself.\n"
        "What a new process hears first starts it: as a founding member, or as one who comes back.",
    ),
    "delta": (
        "delta, an agent (paper 002 §3)",
        "What it gets is `waiting` for what comes before it. After a restart it is `silent` and keeps what it is to\n"
        "send (R7).",
    ),
    "him": (
        "HIM, one message at its originator (paper 003 §3.3)",
        "In `round` the neighbours are tested and reports may come; `waiting` is for our own test after T_dec; in\n"
        "`asking` the originator asks the suspects itself (D-HI-6). After SUCCESS and FAIL nothing changes any more.",
    ),
    "cmd": (
        "CMD, the link to one peer (paper 004 §3)",
        "A copy is repeated (`again`) until it is acknowledged, or the peer is given up (`silent`). Who comes back\n"
        "says `hello`, and copies to whom has not welcomed him yet are `held`.",
    ),
}


@contextlib.contextmanager
def watched(cls: type[Any], seen: Seen) -> Iterator[None]:
    """Note every change of a state between the beginning and the end of a step."""
    real, states = cls.step, protocol(cls.__name__.lower()).states
    assert states is not None

    def step(self: Any, event: Any, now_ns: int) -> Any:
        before = states(self)
        outputs = real(self, event, now_ns)
        trigger = event.pdu.TYPE.title if isinstance(event, Received) else type(event).__name__.lower()
        for key, state in states(self).items():
            if state != before.get(key, BEGIN):
                seen.setdefault((before.get(key, BEGIN), state), set()).add(trigger)
        return outputs

    cls.step = step
    try:
        yield
    finally:
        cls.step = real


def observe(count: int) -> dict[str, Seen]:
    """All changes in so many schedules of each protocol."""
    found: dict[str, Seen] = {name: {} for name in _DIAGRAMS}
    with watched(St, found["st"]), watched(To, found["to"]), watched(Him, found["him"]):
        for seed in range(count):
            st_schedules.schedule(seed)
            to_schedules.schedule(seed)
            Schedule(("silence", "proof")[seed % 2], seed).run()
    for name, seen in found.items():
        hunt, drawn = Hunt(base_of(name), 1), {(BEGIN, _FIRST[name]): set[str]()} if name in _FIRST else {}
        while hunt.runs < count * _CASES:
            list(hunt.batch())
        for one, other, by in as_drawn(drawn, hunt.changes):
            if by:
                seen.setdefault((one, other), set()).add(by)
    return found


def page(found: dict[str, Seen]) -> str:
    """The page."""
    parts = [_HEAD.format(count=SCHEDULES, cases=SCHEDULES * _CASES)]
    for name, (title, text) in _DIAGRAMS.items():
        lines = [f"    [*] --> {_FIRST[name]}"] if name in _FIRST else []
        lines += [
            f"    {one} --> {other} : {', '.join(sorted(by))}" for (one, other), by in sorted(found[name].items())
        ]
        parts.append(f"## {title}\n\n{text}\n\n```mermaid\nstateDiagram-v2\n" + "\n".join(lines) + "\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(observe(SCHEDULES)))
    print(PAGE)
