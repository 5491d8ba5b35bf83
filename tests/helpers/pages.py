"""The blocks of a page, and a copy of this checkout to do in what they say.

A block with a file's name behind its language is that file; one in the language diff changes files that are there.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests import ROOT

BLOCK = re.compile(r"^```(\w*)(?: ([\w./-]+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_LEFT_OUT = shutil.ignore_patterns(".git", "runs", "build", ".*_cache", ".hypothesis", ".vagrant", "__pycache__")


class Block(NamedTuple):
    """What stands between two fences."""

    language: str
    file: str  # empty: none is meant
    text: str


def blocks(page: str) -> Iterator[Block]:
    """Those of a page, in its order."""
    return (Block(*found) for found in BLOCK.findall((ROOT / page).read_text()))


def copy(where: Path) -> None:
    """This checkout, without what is made from it."""
    shutil.copytree(ROOT, where, ignore=_LEFT_OUT)


def write(block: Block, where: Path) -> bool:
    """Do what a block says about files, if it does."""
    if block.language == "diff":
        subprocess.run(["git", "apply", "-"], cwd=where, input=block.text, text=True, check=True)
    elif block.file:
        (where / block.file).parent.mkdir(exist_ok=True)
        assert not (where / block.file).exists(), f"{block.file} is there already"
        (where / block.file).write_text(block.text)
    return bool(block.file) or block.language == "diff"
