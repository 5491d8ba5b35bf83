"""Facts, which work on columns, against the same rules applied to one NOTE after the other."""

from __future__ import annotations

import random

import pytest

from captures.evidence import Event, Evidence, Notes
from harness.judges.facts import Facts
from nodes.wire.note import NoteKind
from tests.helpers.seeds import EverySeed

NODES = (1, 2, 3)
_ABOUT = (NoteKind.SENT, NoteKind.ACCEPTED, NoteKind.PREACKED, NoteKind.DELIVERED)


def random_notes(seed: int) -> list[Event]:
    """Nodes (one of them unknown to the scenario) that come, go, leave by themselves and come back."""
    rng = random.Random(seed)
    incarnation = dict.fromkeys((*NODES, 4), 1)
    found = []
    for time_ns in range(rng.randrange(60)):
        node = rng.choice(list(incarnation))
        event = Event(time_ns, node, NoteKind.READY, incarnation=incarnation[node], number=time_ns)
        draw = rng.random()
        if draw < 0.08:
            event = Event(time_ns, 0, NoteKind.FAULT, peers=(node,), text=rng.choice(("crash", "leave", "pause")))
        elif draw < 0.14:
            incarnation[node] += 1
            continue
        elif draw < 0.2:
            event = event._replace(kind=NoteKind.LEFT)
        elif draw < 0.3:
            event = event._replace(kind=NoteKind.VIEW, peers=(1, 2))
        else:
            event = event._replace(about=rng.randrange(1, 3), seq=rng.randrange(4))
            event = event._replace(kind=rng.choice(_ABOUT), peers=(1, 3))
        found.append(event)
    return found


def one_by_one(events: list[Event]) -> tuple[list[list[int]], list[tuple[int, int, int]], list[tuple[int, int]]]:
    """Of each life node, incarnation, views and end; of each DELIVERED its life, message and place; all messages."""
    lives: list[list[int]] = []
    current: dict[int, list[int]] = {}
    left: set[int] = set()

    def begin(node: int) -> list[int]:
        lives.append([node, 0, 0, -1])
        left.discard(node)
        return lives[-1]

    for node in NODES:
        current[node] = begin(node)
    messages: dict[tuple[int, int], int] = {}
    delivered = []
    for place, event in enumerate(events):
        node = event.node
        if not node:
            if event.text in ("crash", "leave"):
                for peer in event.peers:
                    if peer in current and current[peer][3] < 0:
                        current[peer][3] = place
            continue
        if node not in current:
            current[node] = begin(node)
        life = current[node]
        if life[1] != event.incarnation or node in left:
            if life[1] or life[3] >= 0:
                life[3] = place if life[3] < 0 else life[3]
                life = current[node] = begin(node)
            life[1] = event.incarnation
        if event.kind is NoteKind.VIEW:
            life[2] += 1
        elif event.kind is NoteKind.LEFT:
            life[3] = place
            left.add(node)
        elif event.kind in _ABOUT:
            message = messages.setdefault((event.about, event.seq), len(messages))
            if event.kind is NoteKind.DELIVERED:
                delivered.append((next(at for at, one in enumerate(lives) if one is life), message, place))
    return lives, delivered, list(messages)


@pytest.mark.parametrize("start", range(0, 300, 100))
def test_lives_messages_and_deliveries_are_those_of_one_note_after_the_other(start: int, every_seed: EverySeed) -> None:
    def compare(seed: int) -> None:
        events = random_notes(seed)
        facts = Facts(Evidence(NODES, Notes(events)))
        places = {id(event): place for place, event in enumerate(events)}
        lives = [
            [life.node, life.incarnation, len(life.views), -1 if life.stopped is None else places[id(life.stopped)]]
            for life in facts.lives
        ]
        columns = (facts.d_life.tolist(), facts.d_message.tolist(), facts.d_event.tolist())
        found = lives, list(zip(*columns, strict=True)), facts.keys
        assert found == one_by_one(events)

    every_seed(range(start, start + 100), compare)
