"""From a scenario file to a Scenario: read, override, check, complete. All that is wrong is told at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path as FilePath
from typing import Any, TypeVar

from harness.scenario.document import Document, parse
from harness.scenario.explore import Explore
from harness.scenario.faults import FAULTS
from harness.scenario.model import (
    WORKLOADS,
    ClockStart,
    Expect,
    Impair,
    NodeOptions,
    Scenario,
    Top,
    TopologyOptions,
    read_variant,
)
from harness.scenario.overrides import override
from harness.scenario.problems import Located, Problem, ScenarioError, did_you_mean
from harness.scenario.program import find_program
from harness.scenario.rules import Draft, check
from harness.scenario.schema import Problems, keys_of, read_table
from nodes.facet import ProtocolSpec
from nodes.protocols import NAMES, protocol

T = TypeVar("T")

TABLES = ("topology", "node", "impair", "clock", "workload", "fault", "expect", "explore")


def load(
    path: FilePath,
    *,
    settings: Iterable[str] = (),
    seed: int | None = None,
    engine: str | None = None,
    resolved: bool = False,
    judged: bool = False,
) -> Scenario:
    """The scenario in a file, complete. ScenarioError has all that is wrong with it.

    Of a file that `dump` wrote (`resolved`) the names of properties and metrics are known to be right: they are not
    looked up, which would import all judges. A run that is only `judged` needs no program any more.
    """
    try:
        text = path.read_bytes().decode()
    except OSError as error:
        raise ScenarioError([Located(str(path), 0, f"cannot be read: {error.strerror}")]) from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ScenarioError([Located(f"{path}:{line}", line, "this is not TOML: it is no UTF-8 text")]) from None
    return loads(text, str(path), settings=settings, seed=seed, engine=engine, resolved=resolved, judged=judged)


def loads(
    text: str,
    name: str = "scenario",
    *,
    settings: Iterable[str] = (),
    seed: int | None = None,
    engine: str | None = None,
    resolved: bool = False,
    judged: bool = False,
) -> Scenario:
    """The same from text; `name` stands in messages."""
    return resolve(parse(text, name), settings=settings, seed=seed, engine=engine, resolved=resolved, judged=judged)


def resolve(
    document: Document,
    *,
    settings: Iterable[str] = (),
    seed: int | None = None,
    engine: str | None = None,
    resolved: bool = False,
    judged: bool = False,
) -> Scenario:
    """The same from a document, which is changed by the settings."""
    override(document, settings)
    for key, value in (("seed", seed), ("engine", engine)):
        if value is not None:
            document.values[key] = value
            document.overridden[key,] = f"--{key} {value}"
    return _resolve(document, resolved, judged)


def _resolve(document: Document, resolved: bool, judged: bool) -> Scenario:
    values, problems = document.values, list[Problem]()
    draft = Draft(words=not resolved)
    top_keys = keys_of(Top)
    _unknown(values, [*top_keys, *TABLES, *NAMES], problems)
    draft.top = read_table(Top, {key: values[key] for key in values if key in top_keys}, (), problems, "a scenario")
    draft.spec = _protocol(values.get("protocol"), problems)
    options = _options(draft.spec, values, problems)
    if draft.spec is not None and not resolved and not judged:
        options = find_program(draft.spec, options, FilePath(document.name), problems)
    draft.options = options
    if "topology" in values:
        draft.topology = read_table(TopologyOptions, values["topology"], ("topology",), problems)
    else:
        problems.append(Problem((), "a scenario needs a [topology] with kind and nodes"))
    node = read_table(NodeOptions, values.get("node", {}), ("node",), problems)
    draft.impair = _tables("impair", values, problems, _reader(Impair, problems))
    draft.clock = _tables("clock", values, problems, _reader(ClockStart, problems))
    draft.expect = _tables("expect", values, problems, _reader(Expect, problems))
    draft.fault = _tables(
        "fault", values, problems, lambda raw, path: read_variant(FAULTS, raw, path, problems, "fault")
    )
    if "workload" in values:
        draft.workload = read_variant(WORKLOADS, values["workload"], ("workload",), problems, "workload")
    explore = None
    if "explore" in values:
        explore = draft.explore = read_table(Explore, values["explore"], ("explore",), problems)
    problems += check(draft)
    if problems or draft.top is None or draft.topology is None or node is None:
        raise ScenarioError(document.locate(problem.path, problem.reason) for problem in problems)
    return Scenario(
        **{key.field: getattr(draft.top, key.field) for key in top_keys.values()},
        topology=draft.topology,
        options=options,
        node=node,
        impair=tuple(one for _, one in draft.impair),
        clock=tuple(one for _, one in draft.clock),
        workload=draft.workload,
        fault=tuple(one for _, one in draft.fault),
        expect=tuple(one for _, one in draft.expect),
        explore=explore,
    )


def _unknown(values: Mapping[str, Any], known: Iterable[str], problems: Problems) -> None:
    for key in values:
        if key not in known:
            problems.append(Problem((key,), f"a scenario has no key {key!r}{did_you_mean(key, known)}"))


def _protocol(name: Any, problems: Problems) -> ProtocolSpec | None:
    if not isinstance(name, str):
        return None  # read_table has said so
    if name not in NAMES:
        problems.append(Problem(("protocol",), f"no protocol is called {name!r}{did_you_mean(name, NAMES)}"))
        return None
    try:
        return protocol(name)
    except (ImportError, AttributeError) as error:  # a package that is not there, or not whole
        problems.append(Problem(("protocol",), f"the protocol {name} cannot be loaded here: {error}"))
        return None


def _options(spec: ProtocolSpec | None, values: Mapping[str, Any], problems: Problems) -> Any:
    for name in NAMES:
        if spec is not None and name != spec.name and name in values:
            problems.append(Problem((name,), f"this scenario runs {spec.name}: [{name}] would have no effect"))
    if spec is None:
        return None
    return read_table(spec.options, values.get(spec.name, {}), (spec.name,), problems)


def _reader(cls: type[T], problems: Problems) -> Callable[[Any, tuple[str | int, ...]], T | None]:
    return lambda raw, path: read_table(cls, raw, path, problems)


def _tables(
    name: str, values: Mapping[str, Any], problems: Problems, read: Callable[[Any, tuple[str | int, ...]], T | None]
) -> list[tuple[int, T]]:
    """The tables of an array that could be read, with their numbers."""
    raw = values.get(name, [])
    if not isinstance(raw, list):
        problems.append(Problem((name,), f"{name} is a list of tables: write [[{name}]]"))
        return []
    found = ((number, read(one, (name, number))) for number, one in enumerate(raw))
    return [(number, one) for number, one in found if one is not None]
