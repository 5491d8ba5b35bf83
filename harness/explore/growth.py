"""Does a node remember for ever what is over? What happens in a case happens again and again, each time after a rest in
which everything about it may be forgotten, and what the machines hold must not grow with it."""

from __future__ import annotations

import types
from collections import Counter, deque
from dataclasses import replace
from itertools import pairwise
from typing import Any

from harness.explore.choices import edges
from harness.explore.memory import Run
from harness.explore.stage import START_NS
from harness.judges import Outcome, Verdict
from harness.scenario.faults import Fault
from harness.scenario.model import Scenario, Script
from nodes.machine import Machine
from nodes.protocols import protocol

GROWS = "grows"
EVERY = 250  # of so many seeds one: it takes as long as thirty cases
_LIVES, _MORE_LIVES = 8, 32  # from one look to the next, and where something seems to grow
_LOOKS = 3
_LIMIT_NS = 10**13
_NO_STATE = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.ModuleType, type)


def is_looked_at(case: Scenario) -> bool:
    """Whether it is, follows from the case itself, so that it says the same whenever it is judged."""
    says = isinstance(case.workload, Script) and bool(case.workload.message)
    return case.seed % EVERY == 0 and says and protocol(case.protocol).forgets(case.options)


def growth(case: Scenario) -> tuple[Verdict, ...]:
    """A verdict against it if in some machine something grows by an element each time. Who waits a while before he
    forgets, and longer the longer answers have taken, seems to do so as well, but not for long."""
    return _grown(case, _LIVES) and _grown(case, _MORE_LIVES)


def _grown(case: Scenario, lives: int) -> tuple[Verdict, ...]:
    """Seen at looks after so many lives each; at the last one as at the one before: what is forgotten after some time
    only, say a minute, grows ever less."""
    rest_ns = max(case.settle_ns, protocol(case.protocol).silence_ns(case.options))
    life_ns = _length_ns(case) + rest_ns
    run, looks = Run(_again(case, life_ns, _LOOKS * lives)), list[dict[int, tuple[Machine, Counter[str]]]]()

    def look() -> None:
        numbers = range(1, len(case.nodes) + 1)
        machines = [(number, run.world.machine(number)) for number in numbers if run.world.runs(number)]
        settled = [(number, machine) for number, machine in machines if machine.settled()]  # what is owed is held
        looks.append({number: (machine, elements(machine)) for number, machine in settled})

    for number in range(1, _LOOKS + 1):
        end_ns = number * lives * life_ns
        run.stage.until(end_ns)
        run.world.at(START_NS + end_ns, look)
    run.all()
    for number, (machine, last) in looks[-1].items() if len(looks) == _LOOKS else ():
        if not all(number in one and one[number][0] is machine for one in looks):
            continue  # it began anew, or owed something
        for where in last:
            sizes = [one[number][1][where] for one in looks]
            first, second = (after - before for before, after in pairwise(sizes))
            if first >= lives and 4 * second > 3 * first:
                held = ", then ".join(map(str, sizes))
                sentence = (
                    f"when all this happens again and again, n{number} remembers ever more: each time it has happened "
                    f"{lives} times more {where.removeprefix('.')} holds {held} elements"
                )
                return (Verdict(GROWS, Outcome.FAIL, sentence),)
    return ()


def _length_ns(case: Scenario) -> int:
    assert isinstance(case.workload, Script)
    return max((*(one.at_ns for one in case.workload.message), *edges(case.fault)))


def _again(case: Scenario, every_ns: int, lives: int) -> Scenario:
    """What is said, and what goes wrong for a while. The rest happens once: who is down for good stays so."""
    assert isinstance(case.workload, Script)
    said, faults = list(case.workload.message), list(case.fault)
    for later_ns in range(every_ns, lives * every_ns, every_ns):
        said += [replace(one, at_ns=one.at_ns + later_ns) for one in case.workload.message]
        faults += [replace(one, at_ns=one.at_ns + later_ns) for one in case.fault if _passes(one)]
    return replace(case, workload=Script(message=tuple(said)), fault=tuple(faults), limit_ns=_LIMIT_NS)


def _passes(fault: Fault) -> bool:
    return fault.when is None and bool(getattr(fault, "for_ns", None))


def elements(of: object) -> Counter[str]:
    """How many there are in all containers that can be reached, by the way to them."""
    waiting, seen, found = [(of, "")], set[int](), Counter[str]()
    while waiting:
        one: Any
        one, way = waiting.pop()
        if id(one) in seen or isinstance(one, _NO_STATE):
            continue
        seen.add(id(one))
        if isinstance(one, dict):
            found[way] += len(one)
            waiting += [(each, way) for each in (*one, *one.values())]
        elif isinstance(one, list | set | frozenset | deque | tuple):
            found[way] += 0 if isinstance(one, tuple) else len(one)
            waiting += [(each, way) for each in one]
        else:
            slots = [name for kind in type(one).__mro__ for name in getattr(kind, "__slots__", ())]
            names = dict.fromkeys((*slots, *getattr(one, "__dict__", {})))
            waiting += [(getattr(one, name), f"{way}.{name}") for name in names if hasattr(one, name)]
    return found
