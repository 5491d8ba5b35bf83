"""What a judge is: a pure function from the facts of a run to pass, fail or unknown, registered by property.

Three rules hold for every judge and are kept here, not in the judges:

* evidence with holes may convict, but never acquits; a conviction that rests on something *missing* needs
  evidence without holes;
* a judge that throws has not judged: unknown;
* the excerpt that shows a violation is made only when there is one.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

from captures.evidence import Event, Evidence
from harness.judges.facts import Facts, describe


class Outcome(StrEnum):
    """The three values of a verdict."""

    PASS = "pass"  # noqa: S105 (not a password)
    FAIL = "fail"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was decided about one property, and why."""

    property: str
    outcome: Outcome
    sentence: str
    events: tuple[Event, ...] = ()  # the violating events: message, node, capture and frame number stand in them
    excerpt: tuple[str, ...] = ()  # the smallest part of the evidence that shows it, one event per line

    def is_mistake(self) -> bool:
        """It says nothing of the run: its judge threw."""
        return self.sentence.startswith(_THREW)


_THREW = "the judge threw"


# What a judge says.


@dataclass(frozen=True, slots=True)
class Holds:
    """The property holds in what was seen."""

    sentence: str


@dataclass(frozen=True, slots=True)
class Broken:
    """The property is violated by `events`; `context` completes the excerpt."""

    sentence: str
    events: tuple[Event, ...] = ()
    context: tuple[Event, ...] = ()
    by_absence: bool = False  # it rests on something that was not seen


@dataclass(frozen=True, slots=True)
class Undecided:
    """The evidence cannot tell."""

    sentence: str


Finding = Holds | Broken | Undecided
Decide = Callable[[Facts], Finding]
Chosen = TypeVar("Chosen", bound=Decide)


@dataclass(frozen=True, slots=True)
class Judge:
    """One row of the registry."""

    property: str
    meaning: str
    decide: Decide


_judges: dict[str, Judge] = {}


def judge_of(name: str, meaning: str) -> Callable[[Chosen], Chosen]:
    """Register a function as the judge of the property `name`, which one line explains."""

    def register(decide: Chosen) -> Chosen:
        if name in _judges:
            raise ValueError(f"{name} has a judge already")
        _judges[name] = Judge(name, meaning, decide)
        return decide

    return register


def judges() -> tuple[Judge, ...]:
    """All judges, by name."""
    return tuple(_judges[name] for name in sorted(_judges))


def find_judge(name: str) -> Judge:
    """The judge of a property; ValueError names the nearest spelling."""
    if name in _judges:
        return _judges[name]
    near = difflib.get_close_matches(name.upper(), _judges, n=1)
    raise ValueError(f"no judge is called {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))


def judge(evidence: Evidence, properties: Iterable[str]) -> list[Verdict]:
    """One verdict per property, in the order asked for."""
    chosen = [find_judge(name) for name in properties]
    facts = Facts(evidence)
    return [_verdict(each, facts) for each in chosen]


def _verdict(each: Judge, facts: Facts) -> Verdict:
    try:
        finding = each.decide(facts)
    except Exception as error:  # whatever it is, nothing was judged
        return Verdict(each.property, Outcome.UNKNOWN, f"{_THREW} {type(error).__name__}: {error}")
    holes = facts.evidence.holes
    evidence = f"the evidence has {len(holes)} hole{'s' if len(holes) > 1 else ''} (first: {holes[0]})" if holes else ""
    if isinstance(finding, Broken) and not (holes and finding.by_absence):
        excerpt = {_place(event): event for event in (*finding.context, *finding.events)}
        lines = tuple(describe(event) for _, event in sorted(excerpt.items()))
        return Verdict(each.property, Outcome.FAIL, finding.sentence, finding.events, lines)
    if isinstance(finding, Undecided):
        return Verdict(each.property, Outcome.UNKNOWN, finding.sentence)
    if holes:
        return Verdict(each.property, Outcome.UNKNOWN, f"{evidence}; otherwise: {finding.sentence}")
    return Verdict(each.property, Outcome.PASS, finding.sentence)


def _place(event: Event) -> tuple[int, int, int, int, str, int]:
    return (event.time_ns, event.node, event.incarnation, event.number, event.capture, event.frame)


def all_of(facts: Facts, *parts: Decide) -> Finding:
    """Several judges as one: the first violation, else the first doubt, else the last one's sentence."""
    findings = [part(facts) for part in parts]
    for kind in (Broken, Undecided):
        for finding in findings:
            if isinstance(finding, kind):
                return finding
    return findings[-1]


def when_quiet(facts: Facts, decide: Decide) -> Finding:
    """A property of the end of a run ("eventually ...") is judged when the run ended because all was settled.

    In a livelock it can be told as well: what has not come will not come.
    """
    if facts.end == "quiet":
        return decide(facts)
    if facts.end == "livelock":
        found = decide(facts)
        if isinstance(found, Broken):
            return replace(found, sentence=f"livelock: {found.sentence}")
        return Broken("livelock: frames flow on and on, and nothing is decided any more", by_absence=True)
    if facts.end:
        return Undecided(f"the run ended by its {facts.end}, before everything was settled")
    return Undecided("nothing says how the run ended")
