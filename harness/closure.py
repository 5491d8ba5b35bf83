"""Which of our own files a module needs: the closure of its imports, read from the sources, lazy ones included."""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def closure(modules: Iterable[str]) -> dict[str, Path]:
    """The modules of ours that these need, with themselves, and where each lies."""
    found: dict[str, Path] = {}
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        path = source(name)
        if path is not None and name not in found:
            found[name] = path
            waiting += [*imported(path), *_parents(name)]
    return found


def hash_of(modules: Iterable[str]) -> str:
    """Of all code that these need: ours by its bytes, others' by what is locked."""
    digest = hashlib.sha256(f"{sys.version_info[:2]}".encode())
    for path in [ROOT / "requirements.lock", *sorted(closure(modules).values())]:
        if path.is_file():
            digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def source(module: str) -> Path | None:
    """The file of a module of ours."""
    place = ROOT.joinpath(*module.split("."))
    files = (place / "__init__.py", place.with_suffix(".py"))
    return next((path for path in files if path.is_file()), None)


def imported(path: Path) -> set[str]:
    """The names that a file imports, wherever in it: modules, and what may be modules, of ours and of others.

    Who asks which modules there are (`pkgutil.iter_modules`) imports all that lie beside it.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = named(tree)
    if any(isinstance(node, ast.Attribute) and node.attr == "iter_modules" for node in ast.walk(tree)):
        package = ".".join(path.relative_to(ROOT).parent.parts)
        found |= {f"{package}.{one.stem}" for one in path.parent.iterdir()}  # what is none is no source either
    return found


def named(tree: ast.Module) -> set[str]:
    """What stands in its import statements."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def _parents(module: str) -> Iterator[str]:
    """The packages around a module, which are imported before it."""
    parts = module.split(".")
    return (".".join(parts[:length]) for length in range(1, len(parts)))
