"""The rules that hold the layers apart: who may import whom, what a machine may do, where a third party is known."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from harness.closure import named
from nodes.protocols import NAMES
from tests import ROOT

OURS = ("nodes", "topologies", "captures", "harness")

# What each package may import of ours. Nobody imports harness.
ALLOWED = {
    "nodes": {"nodes"},
    "topologies": {"topologies"},
    "captures": {"captures", "nodes"},
    "harness": {"harness", "nodes", "topologies", "captures"},
}

# Who may know a protocol: what is judged, measured or compared of it. All others ask its facet.
KNOWING = (
    *("nodes/", "harness/judges/", "harness/explore/invariants/", "captures/metrics/"),
    *("harness/sweep/formulas.py", "harness/bench/"),
)

# A machine is what a protocol's package has, with what it imports: it computes and does nothing else.
COMPUTING = {
    *("__future__", "abc", "bisect", "collections", "dataclasses", "enum", "functools", "hashlib", "heapq", "hmac"),
    *("itertools", "math", "random", "re", "struct", "types", "typing", "zlib"),
}
OF_ALL_MACHINES = {"clock", "facet", "lines", "lives", "machine", "wire"}  # of nodes/
BUILT_ON = {"to": {"st"}, "tcp": {"him"}, "maelstrom": {"program"}}  # a protocol whose parts another one uses
# These are processes, and programs are asked, or run, in their place.
NO_MACHINE = {
    *("nodes/own/program.py", "nodes/program/keeper.py", "nodes/program/machine.py", "nodes/program/talk.py"),
    "nodes/maelstrom/talk.py",
}
PROTOCOLS = tuple(f"nodes.{name}." for name in NAMES)
NOT_CALLED = {"breakpoint", "compile", "eval", "exec", "input", "open", "print", "__import__"}

# Untyped or heavy third parties, each in the files that know it. Those of harness/bench measure against it.
ONLY_IN = {
    "bokeh": (),
    "dpkt": ("harness/bench/decode_worker.py",),
    "matplotlib": ("captures/figures.py",),
    "mininet": ("topologies/mininet_network.py", "harness/bench/naive/scenario.py"),
    "pyroute2": ("topologies/netlink.py",),
    "pyspark": (
        "captures/measured.py",
        "captures/spark_session.py",
        "captures/spark_source.py",
        "harness/bench/sweep.py",
        "harness/sweep/tables.py",
    ),
    "scapy": ("captures/dissectors/packets.py",),
}


def _sources() -> Iterator[tuple[Path, ast.Module]]:
    for package in OURS:
        for path in sorted((ROOT / package).rglob("*.py")):
            yield path.relative_to(ROOT), ast.parse(path.read_text())


def _imported(tree: ast.Module) -> Iterator[str]:
    """All that a module imports, wherever it does: at its top, in a function, or by a name in a string."""
    yield from named(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            yield "."
        elif isinstance(node, ast.Call) and _name(node.func) in ("import_module", "importlib.import_module"):
            name = node.args[0]
            begin = name.values[0] if isinstance(name, ast.JoinedStr) else name
            if isinstance(begin, ast.Constant):
                yield str(begin.value)


def _name(node: ast.expr) -> str:
    """`random.Random`, as it is written; empty for anything but names and their attributes."""
    if isinstance(node, ast.Attribute):
        return f"{_name(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _of_machine(path: Path) -> bool:
    return (
        path.parts[0] == "nodes"
        and (len(path.parts) == 3 or path.stem in OF_ALL_MACHINES)
        and (str(path) not in NO_MACHINE)
    )


def _problems(path: Path, tree: ast.Module) -> Iterator[str]:
    package, imported = path.parts[0], sorted(set(_imported(tree)))
    for name in imported:
        top = name.split(".")[0]
        if not top:
            yield f"{path} imports {name}: say which package it is of"
        if top in OURS and top not in ALLOWED[package]:
            yield f"{path} imports {name}"
        if f"{name}.".startswith(PROTOCOLS) and (len(path.parts) == 2 or not str(path).startswith(KNOWING)):
            yield f"{path} imports {name}: ask the protocol's facet"
        if top in ONLY_IN and str(path) not in ONLY_IN[top]:
            yield f"{path} imports {name}; only {' and '.join(ONLY_IN[top]) or 'nobody'} may"
    if _of_machine(path):
        yield from (f"{path} {problem}: a machine only computes" for problem in _impure(path, tree, imported))


def _impure(path: Path, tree: ast.Module, imported: Iterable[str]) -> Iterator[str]:
    mine = path.parts[1] if len(path.parts) == 3 else ""
    known = {"wire"} if mine == "wire" else {mine, *OF_ALL_MACHINES, *BUILT_ON.get(mine, ())}
    for name in imported:
        top, _, rest = name.partition(".")
        if top == "nodes":
            if rest and rest.split(".")[0] not in known:
                yield f"imports {name}"
        elif top not in COMPUTING:
            yield f"imports {name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "random":
            yield "imports from random, where chance may have no seed"
        elif isinstance(node, ast.Attribute) and _name(node).startswith("random.") and _name(node) != "random.Random":
            yield f"uses {_name(node)}, which has no seed"
        elif isinstance(node, ast.Call):
            called = _name(node.func)
            if called in NOT_CALLED:
                yield f"calls {called}"
            elif called == "random.Random" and not node.args:
                yield "calls random.Random without a seed"


def test_the_layers_are_kept() -> None:
    problems = [problem for path, tree in _sources() for problem in _problems(path, tree)]
    assert not problems, "\n".join(problems)


def test_what_tests_share_is_a_helper() -> None:
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for name in named(ast.parse(path.read_text())):
            assert not re.search(r"^tests\..*\btest_", name), f"{path.relative_to(ROOT)} imports {name}"


def test_each_third_party_is_in_the_files_that_are_said_to_know_it() -> None:
    imports = {str(path): {name.split(".")[0] for name in _imported(tree)} for path, tree in _sources()}
    idle = [
        f"{path} imports no {name}" for name, paths in ONLY_IN.items() for path in paths if name not in imports[path]
    ]
    assert not idle, "\n".join(idle)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("nodes/st/machine.py", "from harness.runs import Run"),
        ("nodes/shell.py", "import captures.pcap"),
        ("nodes/shell.py", "def run():\n    from captures.pcap import blocks"),
        ("captures/pcap.py", "def late():\n    import harness"),
        ("captures/pcap.py", "import importlib\nimportlib.import_module('harness.runs')"),
        ("captures/pcap.py", "from importlib import import_module\nimport_module(f'harness.{name}')"),
        ("topologies/plan.py", "from nodes import wire"),
        ("topologies/plan.py", "from . import kinds"),
        ("harness/runs.py", "def late():\n    from mininet.net import Mininet"),
        ("harness/runs.py", "import pyroute2"),
        ("harness/runs.py", "from pyspark.sql import SparkSession"),
        ("harness/verdict.py", "from nodes.him.options import HimOptions"),
        ("harness/verdict.py", "from nodes import him"),
        ("captures/load.py", "def late():\n    from nodes.tcp import PROTOCOL"),
        ("nodes/shell.py", "from nodes.tcp.machine import Tcp"),
        ("nodes/wire/st.py", "from nodes.machine import Machine"),
        ("nodes/st/machine.py", "from nodes.shell import Shell"),
        ("nodes/st/machine.py", "from nodes import shell"),
        ("nodes/st/machine.py", "from nodes.him.options import HimOptions"),
        ("nodes/machine.py", "from nodes.st import machine"),
        *(
            ("nodes/st/machine.py", f"import {module}")
            for module in ("asyncio", "ctypes", "datetime", "io", "logging", "os", "pathlib", "secrets", "select")
        ),
        *(
            ("nodes/st/machine.py", f"import {module}")
            for module in ("socket", "subprocess", "sys", "threading", "time")
        ),
        ("nodes/st/machine.py", "def step():\n    import time"),
        ("nodes/facet.py", "import time"),
        ("nodes/wire/st.py", "import os.path"),
        *(("nodes/st/machine.py", f"{name}('x')") for name in sorted(NOT_CALLED)),
        ("nodes/st/machine.py", "from random import Random"),
        ("nodes/st/machine.py", "import random\nrandom.Random()"),
        ("nodes/st/machine.py", "import random\nrandom.random()"),
        ("nodes/st/machine.py", "import random\ndraw = random.randint"),
        ("nodes/st/machine.py", "import random\nrandom.SystemRandom()"),
    ],
)
def test_the_rules_see_what_breaks_them(path: str, source: str) -> None:
    assert list(_problems(Path(path), ast.parse(source)))


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("nodes/to/machine.py", "from nodes.st.rules import rules_for"),
        ("nodes/st/machine.py", "import random\nchance: random.Random = random.Random(7)\nchance.random()"),
        ("nodes/shell.py", "import time\nfrom nodes.machine import Machine"),
        ("harness/judges/him.py", "from nodes.him.options import HimOptions"),
    ],
)
def test_the_rules_let_pass_what_is_right(path: str, source: str) -> None:
    assert not list(_problems(Path(path), ast.parse(source)))


def test_nothing_of_one_machine_is_committed() -> None:
    """No path of somebody's machine, no host of a package registry, in any file that git has."""
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    forbidden = re.compile(
        r"(?<![\w*])/(?:root|home/(?!vagrant/)[a-z]+|work)/|pypi\.org|files\.pythonhosted|deb\.debian\.org|registry\.npmjs"
    )
    found = []
    for name in files:
        path = ROOT / name
        if not name or not path.is_file() or path.suffix in {".png", ".pcap"} or path == Path(__file__):
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if forbidden.search(line):
                found.append(f"{name}:{number}: {line.strip()[:120]}")
    assert not found, "\n".join(found)


def test_files_stay_readable() -> None:
    """A file that grows far beyond what one concept needs has become two."""
    long = {str(path): count for path, _ in _sources() if (count := (ROOT / path).read_text().count("\n")) > 600}
    assert not long, long
