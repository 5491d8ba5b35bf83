"""`tutti clean`: removes finished runs and superseded caches, and nothing that tutti did not make.

A run is known by its manifest, a cache by its name, its place and the mark of its completion. Links are not followed:
what only looks like ours is left alone and named.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from harness.commands.options import json_option
from harness.status import PASS

HELP = "remove runs and caches that are no longer used"
EXAMPLES = "  tutti clean --dry-run"

_CACHE = re.compile(r"(python|kernel)-[0-9a-f]{16}")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Where the runs are."""
    parser.add_argument("--runs", default="runs", metavar="DIR", help="where the runs are (default: runs)")
    parser.add_argument("-n", "--dry-run", action="store_true", help="only say what would be removed")
    json_option(parser)


def call(arguments: argparse.Namespace) -> int:
    """Remove, or say what would be removed."""
    found, left = runs(Path(arguments.runs))
    targets = [*found, *stale_caches()]
    sizes = {path: _size(path) for path in targets}
    if not arguments.dry_run:
        for path in targets:
            shutil.rmtree(path)
    if arguments.json:
        result = {
            "removed": [str(path) for path in targets],
            "dry_run": arguments.dry_run,
            "bytes": sum(sizes.values()),
            "left_alone": [str(path) for path in left],
        }
        print(json.dumps(result, indent=1, ensure_ascii=False))
        return PASS
    for path, size in sizes.items():
        print(f"{size / 1e6:9.1f} MB  {path}")
    for path in left:
        sys.stderr.write(f"left alone, not a finished run of tutti: {path}\n")
    verb = "would be removed" if arguments.dry_run else "removed"
    print(f"{sum(sizes.values()) / 1e6:9.1f} MB in {len(targets)} director{'y' if len(targets) == 1 else 'ies'} {verb}")
    return PASS


def runs(base: Path) -> tuple[list[Path], list[Path]]:
    """The finished runs in a directory, and what else is in it."""
    ours: list[Path] = []
    others: list[Path] = []
    for path in sorted(base.iterdir()) if base.is_dir() else ():
        (ours if is_run(path) else others).append(path)
    return ours, others


def is_run(path: Path) -> bool:
    """A directory of its own with a manifest of ours beside the scenario and the captures."""
    if path.is_symlink() or not path.is_dir():
        return False
    from harness.manifest import is_manifest

    ours = is_manifest(path / "manifest.json")
    return ours and (path / "scenario.toml").is_file() and (path / "captures").is_dir()


def stale_caches() -> Iterator[Path]:
    """Complete caches of other recipes than those in use. Which are in use says the shell command that started us;
    without it nothing is taken for stale."""
    kernel = os.environ.get("TUTTI_KERNEL")
    if not kernel:
        return
    in_use = {Path(kernel).resolve(), Path(sys.prefix).resolve()}
    for path in sorted(Path(kernel).resolve().parent.iterdir()):
        known = _CACHE.fullmatch(path.name) and (path / "complete").exists() and not path.is_symlink()
        if known and not any(used == path or path in used.parents for used in in_use):
            yield path


def _size(path: Path) -> int:
    return sum(one.lstat().st_size for one in path.rglob("*"))
