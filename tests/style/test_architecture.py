"""The rules that hold the layers apart: who may import whom, and who alone may import a third party."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OURS = ("nodes", "topologies", "captures", "harness")

# What each package may import of ours. nodes.wire comes first; nobody imports harness.
ALLOWED = {
    "nodes": {"nodes"},
    "topologies": {"topologies"},
    "captures": {"captures", "nodes"},
    "harness": {"harness", "nodes", "topologies", "captures"},
}

# Untyped or heavy third parties, each in the one place that knows it.
ONLY_IN = {
    "mininet": ("topologies/mininet_network.py",),
    "pyroute2": ("topologies/netlink.py",),
    "scapy": ("captures/",),
}


def _modules(package: str) -> Iterator[tuple[Path, set[str]]]:
    for path in sorted((ROOT / package).rglob("*.py")):
        found = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module)
        yield path.relative_to(ROOT), found


def _problems(path: Path, imported: set[str]) -> Iterator[str]:
    package = path.parts[0]
    for name in sorted(imported):
        top = name.split(".")[0]
        if top in OURS and top not in ALLOWED[package]:
            yield f"{path} imports {name}"
        if package == "nodes" and path.parts[1] == "wire" and top == "nodes" and not name.startswith("nodes.wire"):
            yield f"{path} imports {name}: the wire table knows no protocol"
        if top in ONLY_IN and not str(path).startswith(ONLY_IN[top]):
            if str(path).startswith("harness/bench/"):
                continue  # measured against, not used
            yield f"{path} imports {name}; only {ONLY_IN[top][0]} may"
        machine = package == "nodes" and len(path.parts) == 3 and path.parts[1] != "wire"
        if machine and top in {"socket", "time", "threading", "subprocess", "select", "asyncio", "logging"}:
            yield f"{path} imports {name}: a machine is pure"


@pytest.mark.parametrize("package", OURS)
def test_imports_point_one_way(package: str) -> None:
    problems = [problem for path, imported in _modules(package) for problem in _problems(path, imported)]
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize(
    ("path", "imported"),
    [
        ("nodes/st/machine.py", "harness.runs"),
        ("nodes/st/machine.py", "time"),
        ("nodes/wire/st.py", "nodes.machine"),
        ("topologies/plan.py", "nodes.wire"),
        ("harness/runs.py", "mininet.net"),
        ("harness/runs.py", "pyroute2"),
    ],
)
def test_the_rules_see_what_breaks_them(path: str, imported: str) -> None:
    assert list(_problems(Path(path), {imported}))


def test_nothing_of_one_machine_is_committed() -> None:
    """No path of somebody's machine, no host of a package registry, in any file that git has."""
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    forbidden = re.compile(
        r"(?<![\w*])/(?:root|home/[a-z]+|work)/|pypi\.org|files\.pythonhosted|deb\.debian\.org|registry\.npmjs"
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
    long = {
        str(path): count
        for package in OURS
        for path, _ in _modules(package)
        if (count := (ROOT / path).read_text().count("\n")) > 600
    }
    assert not long, long
