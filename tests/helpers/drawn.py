"""Scenarios drawn for golden histories: every rule set of each protocol, on its network, with losses and faults.

Everything about one follows from protocol, rule set and number. It is a file, as a person would write it.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from nodes.cmd.options import Printed as CmdPrinted
from nodes.delta.options import Printed as DeltaPrinted
from nodes.him.options import HimOptions
from nodes.st.options import Printed as StPrinted
from nodes.to.options import ToPrinted

RuleSets = Mapping[str, Sequence[str]]  # name -> lines of the protocol's table
STRANGERS = "strangers"  # the repaired rules, among PDUs of programs that do not keep them
PLAIN = ("repaired", STRANGERS, "live", "tree", "evidence", "random")  # of these there are more


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """What is drawn for a protocol."""

    rules: RuleSets
    head: str  # of the scenario
    network: str
    nodes: tuple[int, ...]
    faults: tuple[str, ...]
    pdus: tuple[str, ...]  # types of which some are lost
    within_ms: int
    messages: int  # at most
    stops: tuple[int, ...] = (0, 1, 1, 2, 3)  # how many nodes something happens to
    to_all: bool = False
    delays: bool = True
    table: tuple[str, ...] = ()  # lines of the protocol's table that are always there
    sometimes: tuple[str, ...] = ()


def _switches(options: type[Any]) -> RuleSets:
    """A rule set for each printed rule."""
    return {field.name: [f"printed = {{ {field.name} = true }}"] for field in fields(options)}


_CHANNEL = 'kind = "one_channel"\nchannel = { rate = "10mbit", delay = "100us" }'
_OFTEN = ("pause", "link", "impair", "clock", "partition")

SPACES: Mapping[str, Space] = {
    "st": Space(
        rules={
            "repaired": [],
            STRANGERS: [],
            "range": ['recovery = "range"'],
            "go-back": ['recovery = "go_back"'],
            "printed": ['rules = "printed"'],
            **_switches(StPrinted),
        },
        head='settle = "60ms"\nlimit = "300ms"\nlivelock = "200ms"',
        network=_CHANNEL,
        nodes=(2, 3, 4, 5),
        faults=(*_OFTEN, "slow_reader"),
        pdus=("DATA", "RST", "RST_PAK", "RST_ACK"),
        within_ms=40,
        messages=14,
        delays=False,
        sometimes=(
            "window = 2",
            "buffer_share = 2",
            'period = "3ms"',
            'round = "4ms"',
            'kick = "2ms"',
            'answer = "5ms"',
        ),
    ),
    "to": Space(
        rules={
            "repaired": [],
            STRANGERS: [],
            "live": ['recovery = "live"'],
            "range": ['resend = "range"'],
            "live-range": ['recovery = "live"', 'resend = "range"'],
            "printed": ['rules = "printed"'],
            **_switches(ToPrinted),
        },
        head='settle = "100ms"\nlimit = "900ms"',
        network=_CHANNEL,
        nodes=(3, 4, 5),
        faults=(*_OFTEN, "crash", "crash", "leave"),
        pdus=("DATA", "STOP", "STOP_PACK", "STOP_ACK", "RCV", "RCV_PACK", "RCV_ACK"),
        within_ms=180,
        messages=20,
        stops=(1, 1, 2, 2, 3, 4, 5),
        to_all=True,
        delays=False,
        sometimes=("silence = 6", "window = 3", 'heartbeat = "6ms"', 'stop = "40ms"', "quorum = 2"),
    ),
    "delta": Space(
        rules={
            "repaired": [],
            STRANGERS: [],
            "unbounded": ['scheme = "unbounded"'],
            "hold": ['scheme = "hold"'],
            "printed": ['rules = "printed"'],
            **_switches(DeltaPrinted),
        },
        head='settle = "200ms"\nlimit = "2s"',
        network='kind = "mesh"',
        nodes=(2, 3, 4, 5),
        faults=(*_OFTEN, "crash"),
        pdus=("DATA",),
        within_ms=60,
        messages=24,
        table=('delta = "20ms"', 'epsilon = "6ms"'),
        sometimes=("max_cb = 1", "max_cb = 2"),
    ),
    "him": Space(
        rules={
            "repaired": [],
            STRANGERS: [],
            "tree": ['confirm = "tree"'],
            "evidence": ['confirm = "evidence"'],
            "silence": ['confirm = "silence"'],
            "random": ['adj = "random"'],
            "near-far": ['adj = "near_far"'],
            "sealed": ['auth = "hmac"', 'key = "secret"'],
            "printed": ['rules = "printed"'],
            **{
                field.name: [f"{field.name} = true"]
                for field in fields(HimOptions)
                if field.name.startswith("printed_")
            },
        },
        head='settle = "1s"\nlimit = "4s"',
        network='kind = "lan"',
        nodes=(2, 3, 4, 6),
        faults=(*_OFTEN, "crash", "leave"),
        pdus=("DATA", "QUERY", "ANSWER", "REPORT", "END", "VIEW", "JOIN"),
        within_ms=250,
        messages=8,
        to_all=True,
        table=('rto_initial = "10ms"', 'rto_min = "2ms"', 'rto_max = "60ms"'),
        sometimes=(
            "neighbours = 2",
            "hasten = false",
            "fanout = 1",
            "fanout = 2",
            "q = 1",
            "q = 2",
            "rtry = 1",
            "rtry = 2",
            "maxfail = 0",
            "maxfail = 1",
            "disjoin = false",
            'decide = "30ms"',
            'spread = "0%"',
            'alive = "40ms"',
            'pace = "own"',
        ),
    ),
    "cmd": Space(
        rules={
            "repaired": [],
            STRANGERS: [],
            "unpruned": ['scheme = "unpruned"'],
            "matrix": ['scheme = "matrix"'],
            "printed": ['rules = "printed"'],
            **_switches(CmdPrinted),
        },
        head='settle = "1s"\nlimit = "8s"',
        network='kind = "mesh"',
        nodes=(2, 3, 4),
        faults=(*_OFTEN, "crash", "leave"),
        pdus=("DATA", "MATRIX", "ACK", "HELLO", "WELCOME"),
        within_ms=200,
        messages=24,
        table=('retry = "20ms"', 'retry_max = "80ms"'),
        sometimes=("queue_limit = 1", "queue_limit = 3", "window = 1", "window = 3", "attempts = 3"),
    ),
}


def numbers(rules: str) -> range:
    """Of the scenarios of a rule set."""
    return range(24 if rules in PLAIN else 6)


def drawn(protocol: str, rules: str, number: int) -> str:
    """One of them."""
    draw, space = random.Random(f"{protocol} {rules} {number}"), SPACES[protocol]
    n = draw.choice(space.nodes)
    names = [f"n{one}" for one in range(1, n + 1)]
    lines = [f'name = "drawn"\nprotocol = "{protocol}"\nseed = {draw.randrange(1000)}\n{space.head}']
    lines += ["[topology]", f"{space.network}\nnodes = {n}"]
    lines += [f"[{protocol}]", *space.table, *space.rules[rules], *_sometimes(draw, space, rules)]
    if draw.random() < 0.8:
        lines.append(f'[[impair]]\non = "receivers"\nloss = "{draw.choice((0, 1, 3, 8, 20))}%"')
        if space.delays:
            lines.append(f'delay = "{draw.choice((1, 2, 5, 9))}ms"\njitter = "{draw.choice((0, 500, 900))}us"')
    if draw.random() < 0.15:
        lines.append(f"[node]\nbuffer_pdus = {draw.choice((1, 2, 4, 16))}")
    lines.append('[workload]\nkind = "script"')
    for _ in range(draw.randrange(3, space.messages + 1)):
        to = names if space.to_all or draw.random() < 0.4 else draw.sample(names, draw.randrange(1, n + 1))
        at_ms = draw.choice((draw.randrange(space.within_ms), draw.randrange(space.within_ms // 4)))
        lines.append(f'[[workload.message]]\nat = "{at_ms}ms"\nnode = "{draw.choice(names)}"\nto = {_list(to)}')
        lines.append(f'data = "{"x" * draw.choice((0, 3, 3, 40))}"')
    for node in draw.sample(names, min(n, draw.choice(space.stops))):  # who is gone is not stopped as well
        lines += _fault(draw, space, names, node)
    for _ in range(draw.choice((0, 0, 1, 2))):
        lines.append(f'[[fault]]\nkind = "drop"\npdu = {{ type = "{draw.choice(space.pdus)}" }}')
        lines.append(f"count = {draw.choice((1, 2, 5))}\nskip = {draw.choice((0, 0, 1, 3))}")
        lines.append(f'towards = "{draw.choice(names)}"')
    return "\n".join(lines) + "\n"


def _sometimes(draw: random.Random, space: Space, rules: str) -> list[str]:
    """Each key once."""
    lines: dict[str, str] = {}
    for line in space.sometimes:
        key = line.partition(" ")[0]
        if draw.random() < 0.2 and not any(one.startswith(f"{key} ") for one in space.rules[rules]):
            lines[key] = line
    return list(lines.values())


def _list(names: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


def _fault(draw: random.Random, space: Space, names: Sequence[str], node: str) -> list[str]:
    kind = draw.choice(space.faults)
    at_ms, span_ms = draw.randrange(space.within_ms), draw.randrange(1, space.within_ms)
    head, here, lasts = f'[[fault]]\nat = "{at_ms}ms"\nkind = "{kind}"', f'node = "{node}"', f'for = "{span_ms}ms"'
    match kind:
        case "crash" | "leave":
            back = [f'[[fault]]\nat = "{at_ms + span_ms}ms"\nkind = "restart"', here]
            return [head, here, *(back if draw.random() < 0.7 else [])]
        case "clock":
            step = f'step = "{draw.choice((-4, 3, 9))}ms"'
            return [head, here, draw.choice((step, 'drift = "200ppm"'))]
        case "slow_reader":
            return [head, here, 'read_delay = "2ms"\nbuffer = 8192', lasts]
        case "link":
            return [head, f'link = "{node}-s1"', lasts]
        case "impair":
            return [head, f'on = "receivers"\nloss = "{draw.choice((10, 30, 60))}%"', lasts]
        case "partition":
            return [head, f"groups = [{_list(draw.sample(names, draw.randrange(1, len(names))))}]", lasts]
    return [head, here, lasts]
