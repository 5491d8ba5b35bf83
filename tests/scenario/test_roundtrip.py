"""A resolved scenario is text that reads back as the same scenario; equal scenarios give equal text and identity."""

from __future__ import annotations

import copy
import dataclasses
import datetime
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.scenario import ScenarioError, dump, identity, load, loads
from harness.scenario.faults import FAULTS
from harness.scenario.model import WORKLOADS
from harness.scenario.units import UNITS
from tests import ROOT
from topologies.kinds import KINDS

SCENARIOS = ROOT / "harness" / "scenarios"


def durations(low: int = 0, high: int = 10**11) -> st.SearchStrategy[str]:
    return st.integers(low, high).map(UNITS["duration"].write)


def shares(high: float = 1.0) -> st.SearchStrategy[str]:
    return st.floats(0, high, allow_subnormal=False).map(UNITS["share"].write)


def some(**keys: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A table with some of these keys."""
    return st.fixed_dictionaries({}, optional=keys)


NAMES = st.lists(st.sampled_from(["n1", "n2", "n3"]), min_size=1, unique=True).map(lambda names: sorted(names))
ONE_OR_MORE = st.one_of(NAMES, NAMES.map(lambda names: names[0]))
TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
IMPAIRMENT = st.one_of(
    some(loss=shares(), duplicate=shares(), corrupt=shares(), limit=st.integers(1, 10**6), delay=durations()),
    st.fixed_dictionaries(
        {"delay": durations(10**6, 10**9), "jitter": durations(0, 10**6)}, optional={"reorder": shares()}
    ),
    st.fixed_dictionaries({"rate": st.integers(0, 10**9).map(lambda n: UNITS["bits"].write(8 * n))}),
    st.fixed_dictionaries(
        {
            "loss_model": st.fixed_dictionaries(
                {"good_to_bad": shares(), "bad_to_good": st.just("5%")},
                optional={"loss_bad": shares(), "loss_good": shares()},
            )
        }
    ),
    st.just({"delay": "20ms", "distribution": {"late": "0.01%", "after": "100ms"}}),
    st.just({"delay": "20ms", "jitter": "2ms", "distribution": "normal"}),
    st.lists(durations(0, 10**9), min_size=2, max_size=5).map(
        lambda delays: {"distribution": {"quantiles": sorted(delays, key=UNITS["duration"].read)}}
    ),
)
PDU = some(
    type=st.sampled_from(["DATA", ["DATA"]]),
    src=st.sampled_from([1, "n2", [1, "n3"]]),
    seq=st.sampled_from([4, [4, 5]]),
    dest=st.just([1, 2]),
    payload=TEXT.filter(bool),
)
CHOSEN = st.fixed_dictionaries(
    {"at": durations(), "pdu": PDU},
    optional={
        "towards": ONE_OR_MORE,
        "count": st.sampled_from([1, 7, "all"]),
        "skip": st.integers(0, 9),
        "for": durations(),
        "share": st.floats(0.001, 1).map(UNITS["share"].write),
    },
)


WHEN = st.one_of(
    st.fixed_dictionaries({"pdu": PDU}, optional={"towards": ONE_OR_MORE, "count": st.integers(1, 9)}),
    st.sampled_from(
        [
            {"note": {"kind": "VIEW", "src": [1, "n2"], "text": "stop"}},
            {"note": {"about": 3, "peers": [1, 2]}, "count": 2},
        ]
    ),
)


def kind(name: str, table: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return table.map(lambda values: {"kind": name, **values})


# Each fault alone is possible in any order with the others, except those on the state of nodes, which come as a series.
SINGLE = st.one_of(
    kind("drop", CHOSEN),
    kind("delay", st.tuples(CHOSEN, durations()).map(lambda both: {**both[0], "by": both[1]})),
    kind("duplicate", CHOSEN),
    kind("partition", st.just({"at": "1s", "groups": [["n1"], ["n2", "n3"]], "for": "2s"})),
    kind("partition", st.fixed_dictionaries({"at": durations(), "from": ONE_OR_MORE, "to": ONE_OR_MORE})),
    kind("partition", some(first=st.sampled_from(["n1", "n3"])).map(lambda keys: {"shape": "bridge", **keys})),
    kind(
        "partition", some(way=st.sampled_from(["in", "out"]), at=durations()).map(lambda keys: {"shape": "one", **keys})
    ),
    kind("crash", st.fixed_dictionaries({"node": ONE_OR_MORE, "when": WHEN}, optional={"at": durations()})),
    kind("duplicate", st.fixed_dictionaries({"pdu": PDU, "when": WHEN})),
    kind("clock", st.fixed_dictionaries({"at": durations(), "node": ONE_OR_MORE, "offset": st.just("-3ms")})),
    kind("clock", st.fixed_dictionaries({"node": ONE_OR_MORE, "step": st.just("5us"), "drift": st.just("-7ppm")})),
    kind("impair", st.tuples(IMPAIRMENT, durations()).map(lambda both: {**both[0], "on": "receivers", "for": both[1]})),
)
SERIES = st.sampled_from(
    [
        [],
        [
            {"kind": "crash", "at": "1s", "node": ["n1", "n2"]},
            {"kind": "restart", "at": "2s", "node": "n1"},
            {"kind": "leave", "at": "2s", "node": "n1"},
            {"kind": "slow_reader", "at": "2s", "node": "n3", "read_delay": "1ms", "for": "1s"},
        ],
        [
            {"kind": "pause", "at": "1s", "node": "n1"},
            {"kind": "resume", "at": "1s", "node": "n1"},
            {"kind": "link", "at": "3s", "link": "n1-s1"},
            {"kind": "heal", "at": "4s"},
            {"kind": "slow_reader", "node": "n3", "buffer": 4096},
        ],
    ]
)
DESTINATIONS = st.one_of(
    st.sampled_from(["all", "others", {"count": 2, "among": "others", "multicast": "30%"}, {"nodes": ["n1"]}]),
    st.floats(0.01, 1).map(lambda share: {"fraction": share}),
)
GENERATED = {
    "start": durations(),
    "payload": st.integers(0, 1400),
    "destinations": DESTINATIONS,
    "senders": ONE_OR_MORE,
}
WORKLOAD = st.one_of(
    kind(
        "bursts",
        st.fixed_dictionaries(
            {"rounds": st.integers(1, 50)},
            optional={**GENERATED, "every": durations(1, 10**8), "size": st.integers(1, 3)},
        ),
    ),
    kind(
        "steady",
        st.fixed_dictionaries(
            {"rate": st.floats(0.1, 1000).map(UNITS["rate"].write), "for": durations(0, 10**9)},
            optional={**GENERATED, "arrivals": st.sampled_from(["periodic", "poisson"])},
        ),
    ),
    st.lists(
        st.fixed_dictionaries(
            {"at": durations(), "node": st.just("n2")},
            optional={"to": st.sampled_from(["all", ["n1"], "n3"]), "data": TEXT},
        ),
        max_size=4,
    ).map(lambda messages: {"kind": "script", "message": messages}),
)
EXPECT = st.sampled_from(
    [
        {"property": "NC"},
        {"property": "NC", "verdict": "fail"},
        {"metric": "frames", "near": 0.1, "tolerance": "3%"},
        {"metric": "delivered", "at_least": 3, "at_most": 1e300},
    ]
)


FORGED = st.lists(
    kind(
        "forge",
        st.sampled_from(
            [
                {"from": "n4", "pdu": {"type": "DATA", "src": "n2", "seq": 3, "ndest": 2, "dest": [1, 2]}},
                {"from": "n4", "pdu": {"type": "DATA", "payload": "x"}, "to": ["n1", "n3"], "size": 20},
                {"from": "n4", "heard": {"type": "DATA", "src": 2}, "set": {"seq": 5}, "count": 3, "every": "1ms"},
                {"from": "n4", "raw": "74 75 ff", "to": "n1", "at": "1ms"},
                {"from": "n4", "raw": "", "size": 0},
            ]
        ),
    ),
    max_size=2,
)


NETWORKS = ("lan", "mesh", "star", "line", "ring", "tree", "two_sites")


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    forged = draw(FORGED)
    outsiders = {"outsiders": 1} if forged else {}
    return {
        "name": draw(st.sampled_from(["x", "<script>é\"'", "a b"])),
        "protocol": "raw",
        **draw(some(seed=st.integers(0, 2**63 - 1), description=TEXT, settle=durations(1, 10**9))),
        "topology": {
            "kind": draw(st.sampled_from(NETWORKS)),
            "nodes": 3,
            **outsiders,
            **draw(some(snooping=st.booleans())),
        },
        "impair": draw(st.lists(IMPAIRMENT, max_size=1).map(lambda all: [{**one, "on": "senders"} for one in all])),
        "clock": draw(
            st.sampled_from([[], [{"node": "n1", "offset": "-1ms"}, {"node": ["n2", "n3"], "drift": "9ppb"}]])
        ),
        "workload": draw(WORKLOAD),
        "fault": draw(SERIES) + draw(st.lists(SINGLE, max_size=3)) + forged,
        "expect": draw(st.lists(EXPECT, max_size=2)),
    }


def toml(values: dict[str, Any]) -> str:
    """Any values as TOML on one line per key: an independent, simpler writer than the one under test."""

    def inline(value: Any) -> str:
        if isinstance(value, dict):
            return "{" + ",".join(f'"{key}"={inline(one)}' for key, one in value.items()) + "}"
        if isinstance(value, list):
            return "[" + ",".join(map(inline, value)) + "]"
        if isinstance(value, str):
            return '"' + "".join(f"\\U{ord(letter):08x}" for letter in value) + '"'
        if isinstance(value, datetime.date):
            return value.isoformat()
        return str(value).lower() if isinstance(value, bool) else repr(value)

    return "\n".join(f"{key} = {inline(value)}" for key, value in values.items())


@given(documents())
@settings(deadline=None, max_examples=200, derandomize=True)
def test_a_resolved_scenario_reads_back(values: dict[str, Any]) -> None:
    scenario = loads(toml(values))
    text = dump(scenario)
    assert loads(text) == scenario
    assert dump(loads(text)) == text
    assert identity(loads(text)) == identity(scenario)
    assert scenario.seed == values.get("seed", 1) and scenario.name == values["name"]


JUNK = st.one_of(
    st.integers(),
    st.floats(),
    st.booleans(),
    TEXT,
    st.sampled_from(["5ms", "-5ms", "1e99s", "2%", "0%", "n1", "all", "n1-s1", "n1>n2", [], {}]),
    st.lists(st.integers(-1, 9), max_size=2),
    st.dictionaries(st.sampled_from(["at", "kind", "x y"]), TEXT, max_size=2),
    st.dates(),
    st.lists(st.just({"kind": "heal"}), max_size=2),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in nested tables and lists."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, one in inner for place in places(one, (*path, key)))]


@given(documents(), st.data())
@settings(deadline=None, max_examples=300, derandomize=True)
def test_whatever_is_written_is_refused_with_a_line_or_reads_back(values: dict[str, Any], data: st.DataObject) -> None:
    """One value of a good scenario becomes something else, or is left out."""
    values = copy.deepcopy(values)
    *above, key = data.draw(st.sampled_from(places(values)[1:]))
    here: Any = values
    for step in above:
        here = here[step]
    if data.draw(st.booleans()):
        here[key] = data.draw(JUNK)
    else:
        del here[key]
    try:
        scenario = loads(toml(values), "x.toml")
    except ScenarioError as error:
        assert error.problems
        assert all(re.fullmatch(r"x\.toml:\d+", one.place) and one.reason for one in error.problems), error
    else:
        assert loads(dump(scenario)) == scenario


def test_the_documents_above_have_every_kind() -> None:
    """So that a new kind of fault, workload or network is not forgotten here."""
    source = Path(__file__).read_text()
    for name in (*FAULTS, *WORKLOADS):
        assert re.search(rf'kind\(\s*"{name}"|"kind": "{name}"', source), name
    assert set(NETWORKS) == set(KINDS) - {"one_channel"}


def test_the_identity_is_that_of_what_happens() -> None:
    base = loads('name = "a"\nprotocol = "raw"\ntopology = { kind = "lan", nodes = 3 }')
    assert identity(base) == identity(dataclasses.replace(base, name="b", description="c"))
    for other in (
        dataclasses.replace(base, seed=2),
        dataclasses.replace(base, topology=dataclasses.replace(base.topology, nodes=4)),
        dataclasses.replace(base, settle_ns=5),
    ):
        assert identity(other) != identity(base)


@pytest.mark.parametrize("path", sorted(SCENARIOS.rglob("*.toml")), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_our_own_scenarios_are_valid_and_read_back(path: Path) -> None:
    scenario = load(path)
    assert loads(dump(scenario)) == scenario
    folder = "peers" if scenario.protocol == "program" else scenario.protocol
    assert scenario.name == f"{folder}-{path.stem}" and path.parent.name == folder
    assert scenario.description
