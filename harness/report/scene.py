"""What the space-time diagram shows, as columns of numbers and a few words: a function of the captures alone.

Times are nanoseconds since the run began. Columns have one element per sending (s.*), copy (c.*), passage through the
channel or a router (p.*), NOTE (n.*), distinct PDU (d.*) or step of a series (v.*).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from captures.evidence import CHANNEL, Damaged, Event, Evidence
from captures.tables import Ints, codes
from harness.judges import Verdict
from harness.judges.facts import name_of
from harness.report.blob import Column
from harness.report.copies import Fate, Network, Sending, sendings
from harness.report.faults import Band, bands
from harness.report.folding import Folding, fold
from harness.report.seen import Seen, seen_in
from harness.report.series import Series, series_of
from harness.scenario import Scenario
from nodes.wire.note import NoteKind
from topologies.addresses import ipv4, ipv6, link_local
from topologies.plan import Plan

_NOT_DRAWN = (NoteKind.MARK, NoteKind.FAULT)


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything there is to draw."""

    origin_ns: int  # true time at which the page's time is 0
    nodes: tuple[int, ...]
    seen: Seen
    sent: list[Sending]
    notes: list[Event]
    damaged: list[Damaged]
    bands: list[Band]
    series: list[Series]
    failures: list[tuple[Verdict, bool]]  # and whether it is as expected
    kinds: list[int]  # of what was sent
    captures: list[str]
    folding: Folding
    words: dict[str, int] = field(default_factory=dict)

    @property
    def events(self) -> int:
        """How many things happen in it."""
        return len(self.sent) + sum(len(one.copies) for one in self.sent) + len(self.notes)


def network_of(scenario: Scenario, evidence: Evidence) -> Network:
    """Who is who in this run."""
    plan = scenario.plan()
    captured = frozenset(path.stem for path in evidence.captures)
    starts: dict[int, list[int]] = {node: [] for node in evidence.nodes}
    for event in evidence.notes.events(NoteKind.READY):
        starts.setdefault(event.node, []).append(event.time_ns)
    hosts = _hosts(scenario)
    ways = {
        (a, b): plan.way(f"n{a}", f"n{b}") if plan.ipv6 else (f"n{a}", CHANNEL, f"n{b}")
        for a in hosts
        for b in hosts
        if a != b or not plan.ipv6
    }
    return Network(hosts, addresses_of(plan), captured, starts, ways)


def addresses_of(plan: Plan) -> dict[bytes, int]:
    """Whose each address is, those for programs included."""
    found: dict[bytes, int] = {}
    for host in plan.hosts:
        mine = {ipv4(plan, host), ipv6(plan, host), link_local(plan, host)}
        mine |= {one for end in plan.interfaces(host) for one in (end.address, end.link_local) if one}
        found |= {ipaddress.ip_address(one).packed: int(host[1:]) for one in mine}
    return found


def _hosts(scenario: Scenario) -> tuple[int, ...]:
    """The nodes, and the outsiders behind them."""
    return tuple(range(1, scenario.topology.nodes + (scenario.topology.outsiders or 0) + 1))


def origin_of(evidence: Evidence) -> int:
    """When the run began: the harness's mark, else the first thing seen."""
    marks = (event.time_ns for event in evidence.notes.events(NoteKind.MARK) if event.text == "start")
    return next(marks, int(evidence.notes.time_ns.min()) if len(evidence.notes) else 0)


def make_scene(
    scenario: Scenario,
    evidence: Evidence,
    failures: Iterable[tuple[Verdict, bool]] = (),
) -> Scene:
    """The scene of one run."""
    network, origin_ns = network_of(scenario, evidence), origin_of(evidence)
    seen = seen_in(evidence, network.addresses, origin_ns)
    sent = sendings(seen, network)
    drawn = (evidence.notes.node > 0) & ~np.isin(evidence.notes.kind, _NOT_DRAWN)
    notes = evidence.notes.rows(np.flatnonzero(drawn))
    used = np.unique(seen.kind[[one.first for one in sent]]).tolist()
    faults = bands(evidence.notes.events(NoteKind.MARK, NoteKind.FAULT), evidence.nodes)
    scene = Scene(
        origin_ns,
        _hosts(scenario),
        seen,
        sent,
        notes,
        sorted(evidence.damaged, key=lambda one: one.time_ns),
        faults,
        series_of(notes, seen, sent),
        list(failures),
        used,
        [path.name for path in evidence.captures],
        fold(np.zeros(0, dtype=np.int64), ()),
    )
    return replace(scene, folding=common_folding([scene]))


def common_folding(scenes: Sequence[Scene]) -> Folding:
    """One time axis for all of them: what is idle in every one is folded."""
    times: list[int] = []
    flights: list[int] = []
    for scene in scenes:
        found = [one.time_ns for one in scene.sent]
        found += [copy.time_ns for one in scene.sent for copy in one.copies]
        found += [event.time_ns for event in scene.notes if event.time_ns >= scene.origin_ns]
        found += [at for band in scene.bands for at in (band.begin_ns, band.end_ns) if at is not None]
        times += [at - scene.origin_ns for at in found]
        flights += [copy.time_ns - one.time_ns for one in scene.sent for copy in one.copies if copy.seen is not None]
    return fold(np.array(times or [0], dtype=np.int64), flights)


# As numbers.


def numbers(scene: Scene, parting_ns: int | None = None) -> tuple[dict[str, Column], dict[str, Any]]:
    """The columns of a scene, and the words that belong to them; `parting_ns` is when it parts from another."""
    legs = _legs(scene)
    columns = {**_sendings(scene, legs), **_notes(scene), **_series(scene)}
    about = {
        "nodes": list(scene.nodes),
        "called": scene.seen.called,
        "types": [scene.seen.kinds[kind] for kind in scene.kinds],
        "captures": scene.captures,
        "kinds": {int(kind): kind.name for kind in NoteKind},
        "folding": {"times": scene.folding.times, "places": scene.folding.places, "folds": scene.folding.folds},
        "bands": [_band(band, scene.origin_ns) for band in scene.bands],
        "damaged": [[one.time_ns - scene.origin_ns, one.at, one.capture, one.frame] for one in scene.damaged],
        "series": [[one.name, one.meaning, one.levels] for one in scene.series],
        "failures": [_failure(scene, verdict, expected) for verdict, expected in scene.failures],
        "words": list(scene.words),
        "legs": legs,
        "origin": str(scene.origin_ns),
        "parting": None if parting_ns is None else parting_ns - scene.origin_ns,
    }
    return columns, about


def _band(band: Band, origin_ns: int) -> dict[str, Any]:
    return {
        "kind": band.kind,
        "text": band.text,
        "nodes": list(band.nodes),
        "begin": band.begin_ns - origin_ns,
        "end": None if band.end_ns is None else band.end_ns - origin_ns,
        "capture": band.event.capture,
        "frame": band.event.frame,
    }


def _failure(scene: Scene, verdict: Verdict, expected: bool) -> dict[str, Any]:
    places = {(event.capture, event.frame): index for index, event in enumerate(scene.notes)}
    found = [places[event.capture, event.frame] for event in verdict.events if (event.capture, event.frame) in places]
    messages = dict.fromkeys((event.about, event.seq) for event in verdict.events if event.about)
    return {
        "property": verdict.property,
        "sentence": verdict.sentence,
        "expected": expected,
        "notes": found,
        "messages": [[about, seq, name_of(about, seq)] for about, seq in messages],
    }


def _sendings(scene: Scene, legs: Sequence[str]) -> dict[str, Column]:
    sent, seen = scene.sent, scene.seen
    leg = {name: index for index, name in enumerate(legs)}
    type_of = np.zeros(len(seen.kinds), np.uint8)
    type_of[scene.kinds] = np.arange(len(scene.kinds))
    copies = [copy for one in sent for copy in one.copies]
    first = np.array([one.first for one in sent], np.int64)
    passed = np.array([row for one in sent for row in one.passed], np.int64)
    arrived = np.array([-1 if copy.seen is None else copy.seen for copy in copies], np.int64)
    contents, which = _distinct(seen, first)
    time_ns = np.array(seen.time_ns, np.int64)

    def since(rows: Ints) -> Column:
        return (time_ns[rows] - scene.origin_ns).astype(np.float64)

    return {
        "s.time": since(first),
        "s.node": seen.src[first].astype(np.uint16),
        "s.type": type_of[seen.kind[first]],
        "s.about": seen.about[first].astype(np.uint16),
        "s.seq": seen.seq[first].astype(np.float64),
        "s.capture": seen.place[first].astype(np.uint16),
        "s.frame": seen.frame[first].astype(np.uint32),
        "s.original": _array("int32", (-1 if one.original is None else one.original for one in sent)),
        "s.copies": _starts(len(one.copies) for one in sent),
        "s.passed": _starts(len(one.passed) for one in sent),
        "s.pdu": which.astype(np.uint32),
        "c.to": _array("uint16", (copy.to for copy in copies)),
        "c.time": _floats(copy.time_ns - scene.origin_ns for copy in copies),
        "c.frame": np.where(arrived >= 0, seen.frame[arrived], 0).astype(np.uint32),
        "c.leg": _array("uint16", (leg[copy.lost_at] for copy in copies)),
        "c.fate": _array("uint8", (int(copy.fate) for copy in copies)),
        "p.capture": seen.place[passed].astype(np.uint16),
        "p.frame": seen.frame[passed].astype(np.uint32),
        "p.time": since(passed),
        **contents,
    }


def _legs(scene: Scene) -> list[str]:
    """Where copies were lost; the first is nowhere."""
    return ["", *sorted({copy.lost_at for one in scene.sent for copy in one.copies if copy.lost_at})]


def _distinct(seen: Seen, rows: Ints) -> tuple[dict[str, Column], Ints]:
    """The different bytes of these frames, as far as they are shown, and which of them each frame has."""
    which = codes(seen.data[rows])
    at = rows[np.flatnonzero(np.diff(np.maximum.accumulate(which), prepend=-1))]  # where each comes first
    different = seen.data[at].tolist()
    columns: dict[str, Column] = {
        "d.bytes": np.frombuffer(b"".join(seen.shown[index] for index in different), dtype=np.uint8),
        "d.start": _starts(len(seen.shown[index]) for index in different),
        "d.whole": _array("uint32", (seen.whole[index] for index in different)),
    }
    return columns, which


def _notes(scene: Scene) -> dict[str, Column]:
    notes, words = scene.notes, scene.words
    capture = {name: index for index, name in enumerate(scene.captures)}
    return {
        "n.time": _floats(event.time_ns - scene.origin_ns for event in notes),
        "n.skew": _floats(event.local_ns - event.time_ns for event in notes),
        "n.node": _array("uint16", (event.node for event in notes)),
        "n.kind": _array("uint8", (int(event.kind) for event in notes)),
        "n.about": _array("uint16", (event.about for event in notes)),
        "n.seq": _floats(event.seq for event in notes),
        "n.capture": _array("uint16", (capture[event.capture] for event in notes)),
        "n.frame": _array("uint32", (event.frame for event in notes)),
        "n.words": _array("uint32", (words.setdefault(_said(event), len(words)) for event in notes)),
    }


def _said(event: Event) -> str:
    parts = []
    if event.peers:
        parts.append("peers " + " ".join(f"n{peer}" for peer in event.peers))
    if event.values:
        parts.append("values " + " ".join(map(str, event.values)))
    if event.text:
        parts.append(event.text)
    return "; ".join(parts)


def _series(scene: Scene) -> dict[str, Column]:
    times: list[float] = []
    values: list[float] = []
    counts = []
    for one in scene.series:
        for node in scene.nodes:
            steps = one.nodes.get(node, [])
            counts.append(len(steps))
            times += [float(time_ns - scene.origin_ns) for time_ns, _ in steps]
            values += [value for _, value in steps]
    return {
        "v.time": np.array(times, dtype=np.float64),
        "v.value": np.array(values, dtype=np.float64),
        "v.start": _starts(counts),
    }


def _floats(values: Iterable[int]) -> Column:
    return np.fromiter(values, dtype=np.float64)


def _array(kind: str, values: Iterable[int]) -> Column:
    return np.fromiter(values, dtype=kind)


def _starts(counts: Iterable[int]) -> Column:
    """Where each one's part begins, and behind them all the end."""
    return np.concatenate([[0], np.cumsum(np.fromiter(counts, dtype=np.int64))]).astype(np.uint32)


def lost(scene: Scene) -> Mapping[tuple[int, int], tuple[int, int]]:
    """(from, to) -> copies that should have come, and those of them that were lost."""
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for one in scene.sent:
        for copy in one.copies:
            if copy.fate in (Fate.DOUBLE, Fate.UNDER_WAY):
                continue
            due, missing = found.get((one.src, copy.to), (0, 0))
            found[one.src, copy.to] = (due + 1, missing + (copy.seen is None))
    return found
