"""`tutti list`: what a scenario can be made of."""

from __future__ import annotations

import argparse
import json
import shutil
import textwrap
import tomllib
from collections.abc import Callable

from harness.commands.options import json_option
from harness.status import PASS

HELP = "what there is: scenarios, protocols, faults, ..."
EXAMPLES = "  tutti list\n  tutti list faults\n  tutti list pdus --json"

Rows = list[tuple[str, str]]


def arguments(parser: argparse.ArgumentParser) -> None:
    """WHAT."""
    parser.add_argument(
        "what", nargs="?", default="scenarios", choices=tuple(LISTS), help="of which the list is (default: scenarios)"
    )
    parser.add_argument("--lua", metavar="FILE", help="write a dissector of all PDUs for Wireshark and tshark")
    json_option(parser)


def call(arguments: argparse.Namespace) -> int:
    """Print names and meanings."""
    if arguments.lua is not None:
        from captures.dissectors.lua import write_lua

        print(write_lua(arguments.lua))
        return PASS
    rows = LISTS[arguments.what]()
    if arguments.json:
        print(json.dumps([{"name": name, "meaning": meaning} for name, meaning in rows], indent=1, ensure_ascii=False))
        return PASS
    width = max((len(name) for name, _ in rows), default=0) + 2
    columns = max(40, shutil.get_terminal_size((120, 24)).columns)
    for name, meaning in rows:
        lines = textwrap.wrap(meaning, columns - width) or [""]
        print(f"{name:{width}}{lines[0]}".rstrip())
        for line in lines[1:]:
            print(" " * width + line)
    return PASS


def _scenarios() -> Rows:
    from harness.scenario.find import shipped

    rows = []
    for name, path in shipped().items():
        values = tomllib.loads(path.read_text())
        rows.append((name, str(values.get("description", ""))))
    return rows


def _first(doc: str | None) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join((doc or "").split("\n\n")[0].split())


def _protocols() -> Rows:
    import importlib

    from nodes.protocols import NAMES

    rows = []
    for name in NAMES:
        try:
            rows.append((name, _first(importlib.import_module(f"nodes.{name}").__doc__).removeprefix(f"{name}: ")))
        except ImportError as error:
            rows.append((name, f"(cannot be loaded here: {error})"))
    return rows


def _topologies() -> Rows:
    from topologies.kinds import KINDS

    return [(kind.name, _sizes(kind.meaning, kind.sizes)) for kind in KINDS.values()]


def _sizes(meaning: str, sizes: object) -> str:
    names = ", ".join(sizes) if isinstance(sizes, dict) else ""
    return f"{meaning} ({names})" if names else meaning


def _faults() -> Rows:
    from harness.scenario.faults import FAULTS
    from harness.scenario.schema import keys_of

    return [(kind, f"{_first(cls.__doc__)} Keys: {', '.join(keys_of(cls))}.") for kind, cls in FAULTS.items()]


def _properties() -> Rows:
    from harness.judges import judges

    return [(judge.property, judge.meaning) for judge in judges()]


def _metrics() -> Rows:
    from captures.metrics import METRICS

    return [(metric.name, metric.meaning) for metric in METRICS.values()]


def _pdus() -> Rows:
    from nodes.wire import all_pdu_types

    return [
        (row.name, f"{_first(row.cls.__doc__)} Fields: {', '.join(field.name for field in row.fields)}.")
        for row in all_pdu_types()
    ]


def _keys() -> Rows:
    from harness.scenario.keys import keys

    return keys()


LISTS: dict[str, Callable[[], Rows]] = {
    "scenarios": _scenarios,
    "protocols": _protocols,
    "topologies": _topologies,
    "faults": _faults,
    "properties": _properties,
    "metrics": _metrics,
    "pdus": _pdus,
    "keys": _keys,
}
