"""Every command and snippet of the pages for users is carried out, as a reader would: in the order of the page.

The blocks of a page are run in a copy of this checkout. What a block without a language shows of a terminal is compared
with what is printed; "..." stands for anything, and times may differ. Commands that stand in a sentence, and those in
PARSED, are parsed only.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.cli import COMMANDS, PASS_ON, parser
from harness.scenario import load
from tests import ROOT
from tests.helpers.guests import child_environment, needs_kernel
from tests.helpers.pages import BLOCK, blocks, copy, write

PAGES = ("README.md", "CONTRIBUTING.md", "docs/own-node.md")

# Not run, and why not.
PARSED = {
    r"\./tutti test( .*)?": "it is what runs this",
    r"\./tutti golden": "tests/guest/test_golden.py repeats them one by one",
    r"\./tutti bench .*": "takes minutes, and a busy machine would spoil it",
}
ELSEWHERE = {r"git config .*": "tests/style/test_hook.py does it, in a repository of its own"}
TOML = {"README.md": "my-first.toml", "docs/own-node.md": "docs/own-node/as-documented.toml"}


def commands(block: str) -> list[str]:
    """The lines of a shell block, without comments."""
    lines = (re.sub(r"(^|\s+)#.*$", "", line).strip() for line in block.splitlines())
    return [line for line in lines if line]


def in_sentences(page: str) -> list[str]:
    """Commands of ours that stand in a sentence."""
    spans = (" ".join(span.split()) for span in re.findall(r"`([^`]+)`", BLOCK.sub("", page)))
    return [found[0] for span in spans if (found := re.search(r"(?:^|\./)tutti [a-z][^\"]*", span))]


def parsed(command: str) -> None:
    """The command line takes it; files that are named are there."""
    words = shlex.split(command)[1:]
    if len(words) == 1:  # "see `tutti show`"
        assert words[0] in COMMANDS
        return
    arguments, rest = parser().parse_known_args(words)
    assert not rest or words[0] in PASS_ON, command
    for word in rest:
        assert "/" not in word or (ROOT / word).exists(), command
    assert arguments.command == words[0]


def run(command: str, where: Path) -> str:
    done = subprocess.run(
        ["bash", "-c", command], cwd=where, env=child_environment(where), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def agrees(shown: str, printed: str) -> bool:
    """Is this what a page shows? Times and what "..." stands for are left open."""
    pattern = re.escape(shown.strip()).replace(re.escape("..."), ".*")
    return re.search(re.sub(r"[0-9]+\\\.[0-9]+\\ s", r"[0-9.]+\\ s", pattern), printed, re.DOTALL) is not None


def terminal(block: str) -> Iterator[tuple[str, str]]:
    """(command, what it prints) of a block that shows a terminal."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


@pytest.mark.guest
@needs_kernel
@pytest.mark.parametrize("page", PAGES)
def test_a_reader_who_does_as_told_gets_what_is_said(page: str, tmp_path: Path) -> None:
    where = tmp_path / "tutti"
    copy(where)
    printed: dict[str, str] = {}
    for one in blocks(page):
        language, block = one.language, one.text
        if write(one, where):
            continue
        if language == "sh":
            for command in commands(block):
                if any(re.fullmatch(pattern, command) for pattern in PARSED):
                    parsed(command)
                elif command not in printed and not any(re.fullmatch(pattern, command) for pattern in ELSEWHERE):
                    printed[command] = run(command, where)
        elif language == "toml":
            (where / TOML[page]).write_text(block)
            load(where / TOML[page])
        elif language == "python":
            (where / "snippet.py").write_text(block)
            assert run("./tutti python snippet.py", where)
        else:
            assert not language, f"nobody tests blocks of {language}"
            for command, shown in terminal(block):
                assert agrees(shown, printed.get(command) or run(command, where)), command


@pytest.mark.parametrize("page", [*PAGES, "ARCHITECTURE.md", "docs/papers.md"])
def test_commands_in_sentences_are_commands(page: str) -> None:
    for command in in_sentences((ROOT / page).read_text()):
        parsed(command)


def test_what_is_shown_is_compared() -> None:
    assert agrees("ok  A: ...\n...\nall, 6.2 s\n", "ok  A: it is\nok  B\nall, 17.0 s\n")
    assert not agrees("ok  A: ...\nall\n", "ok  A: it is\nNOT all\n")
    assert not agrees("ok  A, 6.2 s", "ok  A, soon")
