"""Golden histories: what the nodes send and note, PDU for PDU, in drawn scenarios of every rule set of each protocol.

A scenario (tests/helpers/drawn.py) is carried out in memory. tests/histories/PROTOCOL.txt keeps of each history how
many steps it has, a digest of all, and a character for each of the first: enough to tell the first step that differs.

    ./tutti python -m tests.helpers.histories st repaired 3     print one, to compare it with that of another version
    ./tutti python -m tests.helpers.histories --renew           keep all as they are now; behind it, of which protocols
"""

from __future__ import annotations

import random
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace
from functools import partial
from hashlib import sha256
from typing import Any

from harness.explore.judging import ENDLESS
from harness.explore.memory import Endless, Run
from harness.explore.stage import START_NS
from harness.scenario import loads
from nodes.machine import Send
from nodes.wire import Pdu, decode_untrusted, encode
from tests import ROOT
from tests.helpers.drawn import SPACES, STRANGERS, drawn, numbers

KEPT = ROOT / "tests" / "histories"
MARKS = 250  # so many steps of a history have a character
HISTORIES = {
    protocol: [(rules, number) for rules in space.rules for number in numbers(rules)]
    for protocol, space in SPACES.items()
}


def history(protocol: str, rules: str, number: int) -> list[str]:
    """What happens in it, a line for each step; at the end, in what state everybody is."""
    run = Run(loads(drawn(protocol, rules, number)))
    world, network = run.world, run.world._network
    sent: list[tuple[int, str]] = []  # how many NOTEs there were before
    strangers = Strangers(run, random.Random(number)) if rules == STRANGERS else None

    def put(src: int, send: Send) -> None:
        to = "all" if send.to is None else ", ".join(f"n{node}" for node in send.to)
        sent.append((len(world.events), f"{world.now} n{src} sends {send.pdu} to {to}"))
        network(src, send)
        if strangers is not None:
            strangers.hear(send.pdu)

    world.connect(put)
    try:
        end: str = run.all().end
    except Endless:
        end = ENDLESS
    return [*_merged(run, sent), f"{world.now} {end}", *_states(run)]


class Strangers:
    """What nobody of the group sends, but a program with a mistake might: PDUs with one number changed, or repeated;
    and messages that cannot be sent."""

    def __init__(self, run: Run, draw: random.Random) -> None:
        self._world, self._draw = run.world, draw
        self._nodes = [int(node[1:]) for node in run.scenario.nodes]
        stranger, most = len(self._nodes) + 1, run.spec.max_payload
        for to, size in (((stranger,), 1), ((1, stranger), 1), ((), 1), ((1,), most), ((1, 2), most + 1)):
            at_ns, node = draw.randrange(100) * 1_000_000, draw.choice(self._nodes)
            self._world.at(START_NS + at_ns, partial(self._world.submit, node, to, b"x" * size))

    def hear(self, pdu: Pdu) -> None:
        draw = self._draw
        if draw.random() > 0.1:
            return
        name = draw.choice([field.name for field in fields(pdu)])
        try:
            other = decode_untrusted(encode(replace(pdu, **{name: self._changed(getattr(pdu, name))})))
        except ValueError:  # such a PDU cannot be
            return
        node, after_ns = draw.choice(self._nodes), draw.choice((1, 5, 50)) * 1_000_000
        self._world.at(self._world.now + after_ns, lambda: self._arrive(node, other))

    def _changed(self, value: Any) -> Any:
        if isinstance(value, int):
            return value + self._draw.choice((-2, -1, 0, 1, 2, 100))
        if isinstance(value, tuple) and value:
            at = self._draw.randrange(len(value))
            return (*value[:at], self._changed(value[at]), *value[at + 1 :])
        return value

    def _arrive(self, node: int, pdu: Pdu) -> None:
        if self._world.runs(node):
            self._world.arrive(node, pdu)


def _merged(run: Run, sent: Sequence[tuple[int, str]]) -> Iterator[str]:
    at = 0
    for number, event in enumerate(run.world.events):
        while at < len(sent) and sent[at][0] <= number:
            yield sent[at][1]
            at += 1
        told = f"{event.about}:{event.seq} {event.peers} {event.values} {event.text}"
        yield f"{event.time_ns} n{event.node} notes {event.kind.name} {told} by its clock {event.local_ns}"
    yield from (text for _, text in sent[at:])


def _states(run: Run) -> Iterator[str]:
    for node in run.scenario.nodes:
        number = int(node[1:])
        if run.world.runs(number):
            machine = run.world.machine(number)
            state = f"{run.spec.phase(machine)}, {'settled' if machine.settled() else 'not settled'}"
            yield f"{node} is {state}, counts {dict(sorted(machine.counters().items()))}"


def kept_as(lines: Sequence[str]) -> str:
    """A history as it is kept."""
    marks = "".join(chr(33 + zlib.crc32(line.encode()) % 94) for line in lines[:MARKS])
    return f"{len(lines)} {sha256(chr(10).join(lines).encode()).hexdigest()[:12]} {marks}"


def kept(protocol: str) -> dict[tuple[str, int], str]:
    """What is kept of a protocol."""
    found = {}
    for line in (KEPT / f"{protocol}.txt").read_text().splitlines():
        name, _, rest = line.partition(" ")
        rules, _, number = name.partition("/")
        found[rules, int(number)] = rest
    return found


def difference(protocol: str, rules: str, number: int, before: str) -> str:
    """What is other than it was; empty if nothing is."""
    lines = history(protocol, rules, number)
    if kept_as(lines) == before:
        return ""
    count, _, old = before.split(" ")
    new = kept_as(lines).split(" ")[2]
    same = min(len(old), len(new))
    first = next((at for at in range(same) if old[at] != new[at]), same)
    shown = [f"{'>' if at == first else ' '} {at} {lines[at]}" for at in range(max(0, first - 3), len(lines))][:4]
    again = f"./tutti python -m tests.helpers.histories {protocol} {rules} {number}"
    return "\n".join(
        [
            f"{protocol} {rules} {number}: step {first} is another one ({len(lines)} steps, {count} before)",
            *shown,
            f"all of it: {again}",
            f"if it is meant: ./tutti python -m tests.helpers.histories --renew {protocol}",
        ]
    )


def renew(protocols: Iterable[str]) -> None:
    """Keep those of these protocols as they are now."""
    for protocol in protocols:
        those = HISTORIES[protocol]
        lines = [f"{rules}/{number} {kept_as(history(protocol, rules, number))}\n" for rules, number in those]
        (KEPT / f"{protocol}.txt").write_text("".join(lines))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--renew"]:
        renew(sys.argv[2:] or HISTORIES)
    else:
        print("\n".join(history(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
