"""The report for a terminal: the verdict, what happened as one row of marks per node, and what a failure rests on."""

from __future__ import annotations

import shutil

import numpy as np

from captures.evidence import Evidence
from harness.report.copies import Sending
from harness.report.folding import Folding
from harness.report.scene import Scene, make_scene
from harness.report.verdict import failures_of
from harness.summary import summary
from harness.verdict import Result
from nodes.wire.note import NoteKind

_HEIGHTS = " ▁▂▃▄▅▆▇█"
_MOST_LINES = 40  # of the ladder around a failure
_URGENT = {NoteKind.LEFT: "L", NoteKind.VIEW: "V", NoteKind.ALARM: "!"}  # in one column the last of these is shown


def as_text(result: Result, width: int | None = None) -> str:
    """Everything, at most `width` columns wide."""
    scene = make_scene(result.scenario, result.evidence, failures_of(result))
    wide = width or shutil.get_terminal_size((100, 24)).columns
    parts = [summary(result), "", *chart(scene, wide)]
    for verdict, _ in scene.failures:
        times = [event.time_ns for event in verdict.events]
        if times:
            parts += [
                "",
                f"{verdict.property}: {verdict.sentence}",
                *ladder(scene, result.evidence, min(times), max(times), wide),
            ]
    return "\n".join(parts)


def chart(scene: Scene, width: int) -> list[str]:
    """The whole run: PDUs sent and received per node and column, lost copies, alarms, views; faults below."""
    label = max(len(f"n{node}") for node in scene.nodes) + 2
    columns = max(10, width - label)
    place = _places(scene.folding, columns)
    counts = {node: np.zeros(columns, int) for node in scene.nodes}
    signs: dict[int, dict[int, str]] = {node: {} for node in scene.nodes}
    for one in scene.sent:
        counts[one.src][place(one.time_ns - scene.origin_ns)] += 1
        for copy in one.copies:
            at = place(copy.time_ns - scene.origin_ns)
            if copy.seen is not None:
                counts[copy.to][at] += 1
            elif copy.fate in (1, 2):
                signs[copy.to][at] = "×"
    for kind, sign in _URGENT.items():
        for event in scene.notes:
            if event.kind is kind:
                signs[event.node][place(event.time_ns - scene.origin_ns)] = sign
    most = max((int(row.max()) for row in counts.values()), default=1) or 1
    span = (scene.folding.times[-1] - scene.folding.times[0]) / 1e6
    lines = [f"{span:.3f} ms, idle time folded; × lost copy  ! alarm  V view  L left  ▁..█ {scene.seen.called}"]
    for node in scene.nodes:
        bars = [_HEIGHTS[0 if not count else 1 + int(7 * (count / most) ** 0.5)] for count in counts[node]]
        for at, sign in signs[node].items():
            bars[at] = sign
        lines.append(f"{f'n{node}':{label}}" + "".join(bars).rstrip())
    for band in scene.bands:
        begin = place(band.begin_ns - scene.origin_ns)
        end = columns - 1 if band.end_ns is None else place(band.end_ns - scene.origin_ns)
        row = " " * begin + "^" * (end - begin + 1)
        text = f" {band.text}"
        room = columns - len(row)
        lines.append(
            " " * label + (row + text if len(text) <= room else f"{row[: columns - len(text)]}{text}"[:columns])
        )
    return lines


class _places:
    """Time -> column."""

    def __init__(self, folding: Folding, columns: int) -> None:
        self._times, self._places = np.array(folding.times, float), np.array(folding.places, float)
        self._scale = (columns - 1) / max(1.0, self._places[-1])
        self._last = columns - 1

    def __call__(self, time_ns: int) -> int:
        return min(self._last, max(0, int(np.interp(time_ns, self._times, self._places) * self._scale)))


def ladder(scene: Scene, evidence: Evidence, begin_ns: int, end_ns: int, width: int) -> list[str]:
    """What happened around a failure, one line per event, one column per node, time downwards."""
    nodes = scene.nodes
    cell = max(6, min(14, (width - 14) // max(1, len(nodes))))
    lines: list[tuple[int, str]] = []
    room = max(1, (end_ns - begin_ns) // 4)
    for one in scene.sent:
        if begin_ns - room <= one.time_ns <= end_ns:
            lines.append((one.time_ns, _sent(scene, one, cell)))
    failing = {(event.capture, event.frame) for verdict, _ in scene.failures for event in verdict.events}
    notes = evidence.notes
    during = (notes.node > 0) & (notes.time_ns >= begin_ns) & (notes.time_ns <= end_ns)
    for event in notes.rows(np.flatnonzero(during)):
        here = (event.capture, event.frame) in failing
        if here or event.kind is NoteKind.DELIVERED:
            mark = f"{'!' if here else ''}{event.kind.name[:5].lower()} {event.about}:{event.seq & 0xFFFFFFFF}"
            cells = [f"{mark if node == event.node else '|':^{cell}}"[:cell] for node in nodes]
            lines.append((event.time_ns, "".join(cells)))
    lines.sort(key=lambda line: line[0])
    head = " " * 13 + "".join(f"{f'n{node}':^{cell}}" for node in nodes)
    shown = [f"{(time_ns - scene.origin_ns) / 1e6:11.3f}  {text}".rstrip()[:width] for time_ns, text in lines]
    if len(shown) > _MOST_LINES:
        left = len(shown) - _MOST_LINES
        shown = [
            *shown[: _MOST_LINES // 2],
            f"{'':13}({left} more events: the page shows them)",
            *shown[-_MOST_LINES // 2 :],
        ]
    return [head.rstrip()[:width], *shown]


def _sent(scene: Scene, one: Sending, cell: int) -> str:
    seen, at = scene.seen, one.first
    about, seq = int(seen.about[at]), int(seen.seq[at])
    name = seen.kinds[seen.kind[at]]["title"] + (f" {about}:{seq & 0xFFFFFFFF}" if about else "")
    fates = {copy.to: "×" if copy.fate in (1, 2) else "●" for copy in one.copies}
    cells = []
    for node in scene.nodes:
        mark = name[: cell - 1] if node == one.src else fates.get(node, "|")
        cells.append(f"{mark:^{cell}}")
    return "".join(cells)
