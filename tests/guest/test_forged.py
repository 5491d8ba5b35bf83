"""A real outsider, a host of the emulated network that is no member: what it sends is counted and changes nothing.

The run with the forgeries is compared with the same run without them: who delivered what, what senders were told, and
what the nodes themselves put on the network.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from captures.evidence import Evidence
from harness import rundir
from harness.engines.outcome import EngineOptions
from harness.runs import carry_out
from harness.scenario import Scenario, dump, load, loads
from harness.scenario.faults.forge import Forge
from harness.scenario.find import SHIPPED
from harness.summary import summary
from harness.verdict import Result, judge_run
from nodes.wire.note import NoteKind

EVERYBODY = dict.fromkeys((1, 2, 3, 4, 5), 1)
ALL_BUT_N3 = dict.fromkeys((1, 2, 4, 5), 1)

# What is no packet of the protocol is refused alike with a key and without.
NO_PACKETS = {
    "malformed: 0 bytes are shorter than the header": EVERYBODY,
    "malformed: magic 0xdead is not ours": dict.fromkeys(EVERYBODY, 10),
    "malformed: no PDU has protocol 6 and type 99": EVERYBODY,
    "foreign": EVERYBODY,
}
# Per reason and node, counted by hand from the scenario: each [[fault]] goes to everybody or to its `to`.
REFUSED: dict[str, dict[str, dict[int, int]]] = {
    "forged": NO_PACKETS
    | {
        # to everybody: two DATA, an END, a VIEW, three changed DATA; to n1: ANSWER, 3 REPORT, JOIN; to n2 and n4: QUERY
        "forged": {1: 7 + 5, 2: 7 + 1, 3: 7, 4: 7 + 1, 5: 7},
        "truncated": EVERYBODY,
        "replayed": {1: 1, 2: 2, 3: 1, 4: 2, 5: 2},  # DATA of n1 and END of n3, at those that had them
        "outsider": {1: 1, 3: 1},  # who sent them himself knows them by his own name
        "malformed: length 136 of 30 bytes": EVERYBODY,
        "malformed: 1348 bytes behind the PDU": EVERYBODY,
    },
    "forged-no-key": NO_PACKETS
    | {
        # to everybody: DATA, END, VIEW; to n1: ANSWER, 3 REPORT, JOIN; to n2 and n4: QUERY; what n1 and n3 are said to
        # have sent comes back to them: 5 DATA of n3, of n1 an END and 2 DATA
        "outsider": {1: 3 + 5 + 2, 2: 3 + 1, 3: 3 + 5, 4: 3 + 1, 5: 3},
        "not its originator": ALL_BUT_N3,
        "hash": ALL_BUT_N3,
        "wrong view": ALL_BUT_N3,
        "oversized": {1: 2, 2: 2, 3: 1, 4: 2, 5: 2},  # DATA in the name of n3, END in the name of n1
        "malformed: length 112 of 30 bytes": EVERYBODY,
        "malformed: 1372 bytes behind the PDU": EVERYBODY,
    },
}


def _run(scenario: Scenario, out: Path) -> Result:
    where = rundir.create(scenario.name, scenario.seed, out)
    return judge_run(carry_out(scenario, where, EngineOptions(), lambda now: None))


def _without_forgeries(scenario: Scenario) -> Scenario:
    head, *faults = dump(scenario).split("[[fault]]")
    assert len(faults) == sum(isinstance(one, Forge) for one in scenario.fault) > 0
    return loads(head)


def _effects(history: Evidence) -> dict[int, list[tuple[object, ...]]]:
    """What every node's application and sender saw, and its views, in the node's order.

    Without the times: a process more on the machine, and they differ by a microsecond.
    """
    kinds = (NoteKind.DELIVERED, NoteKind.RESULT, NoteKind.VIEW, NoteKind.ALARM)
    found: dict[int, list[tuple[object, ...]]] = {}
    for one in history.notes:
        if one.kind in kinds:
            found.setdefault(one.node, []).append((one.kind, one.about, one.seq, one.peers, one.values, one.text))
    return found


def _refused(history: Evidence) -> dict[str, dict[int, int]]:
    found: dict[str, Counter[int]] = {}
    for one in history.notes:
        if one.kind is NoteKind.REFUSED:
            found.setdefault(one.text, Counter())[one.node] += 1
    return {text: dict(count) for text, count in found.items()}


@pytest.mark.parametrize("name", REFUSED)
def test_what_an_outsider_sends_is_counted_and_has_no_effect(name: str, tmp_path: Path) -> None:
    scenario = load(SHIPPED / f"him/{name}.toml")
    attacked = _run(scenario, tmp_path / "attacked")
    assert attacked.status == 0, summary(attacked)
    left_alone = _run(_without_forgeries(scenario), tmp_path / "alone")

    assert _refused(left_alone.evidence) == {}
    assert {text: dict(sorted(found.items())) for text, found in _refused(attacked.evidence).items()} == REFUSED[name]
    assert _effects(attacked.evidence) == _effects(left_alone.evidence)
    sent = [run.evidence.frames.rows(run.evidence.frames.sent) for run in (attacked, left_alone)]
    ours = [Counter(one.title for one in frames if one.src <= 5) for frames in sent]
    # Without a key, who speaks of an older view in the name of n3 is told the view, by n1, n2, n4 and n5; of a view to
    # come in his name, and n3 is asked for it by the same four, and tells them the one there is.
    more = {} if name == "forged" else {"him.VIEW": 4 + 4, "him.VIEW_REQUEST": 4}
    assert ours[0] - ours[1] == more
    assert ours[1] - ours[0] == Counter()


def test_the_outsiders_packets_are_in_its_capture(tmp_path: Path) -> None:
    """They are real frames: they leave n6 on its cable, and routers carry them to the others."""
    scenario = load(SHIPPED / "him/forged.toml")
    result = _run(scenario, tmp_path / "run")
    sent = [one for one in result.evidence.frames if one.at == "n6" and one.direction == "out"]
    asked = [event for event in result.evidence.notes if event.kind is NoteKind.FAULT]
    assert len(asked) == sum(one.count for one in scenario.fault if isinstance(one, Forge))
    assert Counter(one.title for one in sent) == {
        "him.DATA": 3 + 4,
        "him.ANSWER": 1,
        "him.REPORT": 3,
        "him.QUERY": 2,
        "him.END": 1 + 2,
        "him.VIEW": 1,
        "him.JOIN": 1,
        "raw.DATA": 1,
    }
    for one in sent:
        if one.multicast:
            times = [
                other.time_ns
                for other in result.evidence.frames
                if other.at == "n1"
                and other.direction == "in"
                and other.title == one.title
                and 0 <= other.time_ns - one.time_ns < 20_000_000
            ]
            assert times, f"n1 never saw {one.title} of n6, frame {one.frame}"
