"""What `tutti completion` prints completes words in the shells themselves."""

from __future__ import annotations

import os
import pty
import select
import subprocess
from pathlib import Path

import pytest

from harness.cli import COMMANDS, main
from tests import ROOT

ASK = 'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tutti; printf "%s\\n" "${COMPREPLY[@]}"'


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("ru", "run"),
        ("compl", "completion"),
        ("run st/los", "st/loss st/lost-rst st/lost-rst-ack st/lost-rst-pak"),
        ("run harness/bench/naive/s", "harness/bench/naive/scenario.py"),
        ("run st/loss --eng", "--engine"),
        ("run st/loss --engine ", "live virtual"),
        ("run st/loss --out harness/sc", "harness/scenario harness/scenarios"),
        ("validate raw/q", "raw/quiet"),
        ("show harness/prov", "harness/provision"),
        ("show READ", ""),
        ("list pr", "properties protocols"),
        ("list --lua READ", "README.md"),
        ("bench plat", "platform"),
        ("golden to", "to-brief"),
        ("clean --dry", "--dry-run"),
        ("run --seed ", ""),
    ],
)
def test_bash(words: str, wanted: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = script("bash", capsys) + ASK
    done = subprocess.run(
        ["bash", "--norc", "-c", text, "tutti", "tutti", *words.split(" ")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert " ".join(sorted(done.stdout.split())) == wanted and not done.stderr


def test_every_command_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    for shell in ("bash", "zsh"):
        text = script(shell, capsys)
        assert all(f"*\\ {command}\\ *) choices=" in text for command in COMMANDS)


def test_zsh(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In a terminal: what a Tab adds to what was typed."""
    (tmp_path / "script").write_text(script("zsh", capsys))
    (tmp_path / "runs/first-s1").mkdir(parents=True)
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.execvpe("zsh", ["zsh", "-f", "-i"], {**os.environ, "HOME": str(tmp_path), "TERM": "dumb"})  # noqa: S606

    def typed(text: str, wanted: str) -> None:
        os.write(terminal, text.encode())
        seen = ""
        while wanted not in seen:
            assert select.select([terminal], [], [], 20)[0], f"no {wanted!r} after {text!r}, but {seen!r}"
            seen += os.read(terminal, 65_536).decode(errors="replace").replace("\a", "")

    try:
        typed("source ./script; PS1=rea''dy; PS2=\n", "ready")
        typed("tutti comple\t", "completion ")
        typed("\x15tutti run st/quie\t", "st/quiet ")
        typed("\x15tutti run x --engine vi\t", "virtual ")
        typed("\x15tutti show ru\t", "runs/")
        typed("fi\t", "first-s1/")
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)
