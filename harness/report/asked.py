"""What was asked of the network and what it did: loss, delay and clock of every node, asked, set, measured."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from captures.evidence import Evidence
from harness.manifest import Manifest
from harness.report.copies import Fate
from harness.report.page import escape, table
from harness.report.scene import Scene
from harness.scenario import Scenario
from topologies.impairments import Seeded

_SHARE = 2**32 - 1


@dataclass(slots=True)
class Way:
    """What copies met between two nodes."""

    due: int = 0
    lost: int = 0
    double: int = 0
    delays_ns: list[int] = field(default_factory=list)


def ways(scene: Scene) -> dict[tuple[int, int], Way]:
    """(from, to) -> what was measured."""
    found: dict[tuple[int, int], Way] = defaultdict(Way)
    for one in scene.sent:
        # On a channel the time in its queue is the sender's, so a delay counts from where it passed first.
        start = scene.seen.time_ns[one.passed[0]] if one.passed else one.time_ns
        for copy in one.copies:
            way = found[one.src, copy.to]
            if copy.fate is Fate.DOUBLE:
                way.double += 1
            elif copy.fate is not Fate.UNDER_WAY:
                way.due += 1
                way.lost += copy.seen is None
            if copy.seen is not None:
                way.delays_ns.append(copy.time_ns - start)
    return dict(found)


def section(scene: Scene, scenario: Scenario, evidence: Evidence, manifest: Manifest | None) -> str:
    """One row per node, and one per pair of nodes below it."""
    found = ways(scene)
    read_back: Mapping[str, Seeded] = {} if manifest is None else manifest.findings.impairments
    plan = scenario.plan()
    skews = _skews(evidence)
    rows = []
    for node in scene.nodes:
        host = f"n{node}"
        mine = [way for (_, to), way in found.items() if to == node]
        port = plan.port_towards(host).interface
        own = plan.interfaces(host)[0].interface
        rows.append(
            [
                f"<b>{host}</b>",
                escape(setting(read_back.get(port))),
                escape(setting(read_back.get(own))),
                *_measured(mine),
                escape(_clock_asked(scenario, host)),
                escape(skews.get(node, "")),
            ]
        )
    head = (
        "node",
        "set towards it",
        "set from it",
        "copies due",
        "lost",
        "share",
        "delay, median",
        "most",
        "clock asked",
        "clock error seen",
    )
    parts = [
        "<h2>Asked and measured</h2>",
        f'<p class="soft">{escape(_remark(scenario, read_back.get("channel")))}</p>',
    ]
    parts.append(table(head, rows, numbers=(3, 4, 5, 6, 7)))
    pairs = [[f"n{src} → n{to}", *_measured([way])] for (src, to), way in sorted(found.items())]
    inner = table(
        ("from and to", "copies due", "lost", "share", "delay, median", "most"), pairs, numbers=(1, 2, 3, 4, 5)
    )
    parts.append(f'<details class="keep"><summary>every pair of nodes</summary>{inner}</details>')
    return "".join(parts)


def _remark(scenario: Scenario, channel: Seeded | None) -> str:
    words = ["What is set was read back from the kernel; what is measured comes from the captures"]
    words.append(", and includes what faults took." if scenario.fault else ".")
    if channel:
        words.append(f" The channel: {setting(channel)}; delays count from there.")
    return "".join(words)


def _measured(ways_: list[Way]) -> list[str]:
    due, lost = sum(way.due for way in ways_), sum(way.lost for way in ways_)
    delays = [delay for way in ways_ for delay in way.delays_ns]
    double = sum(way.double for way in ways_)
    return [
        f"{due:,}" + (f" (+{double:,} double)" if double else ""),
        f"{lost:,}",
        f"{100 * lost / due:.2f} %" if due else "",
        span(int(statistics.median(delays))) if delays else "",
        span(max(delays)) if delays else "",
    ]


def setting(found: Seeded | None) -> str:
    """A netem qdisc in words."""
    if found is None:
        return "–"
    netem, parts = found.settings, []
    if netem.loss:
        parts.append(f"loss {100 * netem.loss / _SHARE:.3g} %")
    if netem.gemodel:
        p, r, h, k = (100 * one / _SHARE for one in netem.gemodel)
        parts.append(
            f"loss in bursts (to bad {p:.3g} %, back {r:.3g} %, lost when bad {100 - h:.3g} %, else {k:.3g} %)"
        )
    if netem.latency_ns:
        parts.append(f"delay {span(netem.latency_ns)}")
    if netem.jitter_ns:
        parts.append(f"± {span(netem.jitter_ns)}")
    for name, share in (("duplicate", netem.duplicate), ("reorder", netem.reorder), ("corrupt", netem.corrupt)):
        if share:
            parts.append(f"{name} {100 * share / _SHARE:.3g} %")
    if netem.rate_bytes_per_s:
        parts.append(f"{8 * netem.rate_bytes_per_s / 1e6:g} Mbit/s")
    return ", ".join(parts) or "nothing"


def _clock_asked(scenario: Scenario, host: str) -> str:
    parts = []
    for clock in scenario.clock:
        if host in clock.node:
            if clock.offset_ns:
                parts.append(f"{'+' if clock.offset_ns > 0 else '−'}{span(abs(clock.offset_ns))}")
            if clock.drift_ppb:
                parts.append(f"{clock.drift_ppb / 1000:+g} ppm")
    return ", ".join(parts) or "exact"


def _skews(evidence: Evidence) -> dict[int, str]:
    errors: dict[int, tuple[int, int]] = {}
    notes = evidence.notes
    for node in np.unique(notes.node[notes.node > 0]).tolist():
        error = (notes.local_ns - notes.time_ns)[notes.node == node]
        errors[node] = (int(error.min()), int(error.max()))

    def signed(error: int) -> str:
        return f"{'+' if error > 0 else '−' if error < 0 else ''}{span(abs(error))}"

    return {
        node: signed(low) if low == high else f"{signed(low)} to {signed(high)}" for node, (low, high) in errors.items()
    }


def span(ns: int) -> str:
    """A time as people read it."""
    if ns == 0:
        return "0"
    for limit, unit, size in ((1e3, "ns", 1.0), (1e6, "µs", 1e3), (1e9, "ms", 1e6)):
        if ns < limit:
            return f"{ns / size:.3g} {unit}"
    return f"{ns / 1e9:.4g} s"
