"""In a guest: tries to write everywhere but into the run directory, and says what happened."""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Callable
from pathlib import Path

from harness.exchange import Answer, Exchange
from harness.manifest import Findings

_MS_REMOUNT = 32
_libc = ctypes.CDLL(None, use_errno=True)


def _mount(source: str, target: str, kind: str, flags: int, data: str | None) -> None:
    Path(target).mkdir(parents=True, exist_ok=True)
    argument = data.encode() if data is not None else None
    if _libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), argument):
        raise OSError(ctypes.get_errno(), "mount")


def _attempt(what: str, action: Callable[[], object]) -> str:
    try:
        action()
    except OSError as error:
        return f"{what}: {os.strerror(error.errno or 0)}"
    return f"{what}: WRITTEN"


def carry_out(files: Exchange, state: Path) -> None:
    run_dir = files.run.path
    victim = (run_dir / "victim").read_text()  # a directory of the test that anybody may write to
    outside = "/run/tutti/outside"
    above = str(Path(victim).parent)

    def remounted() -> None:
        _mount("", "/", "", _MS_REMOUNT, None)
        Path(victim, "b").write_text("x")

    def mounted(target: str, source: str, name: str) -> None:
        _mount("none", target, "hostfs", 0, source)
        Path(target, name).write_text("x")

    attempts: dict[str, Callable[[], object]] = {
        "through the root": lambda: Path(victim, "a").write_text("x"),
        "after a remount": remounted,
        "through a mount of its own": lambda: mounted(outside, victim, "c"),
        "above the run directory": lambda: mounted(outside + "2", above, "d"),
        "by unlinking": lambda: Path(victim, "precious").unlink(),
    }
    said = [_attempt(what, action) for what, action in attempts.items()]
    said.append(_attempt("inside", lambda: (run_dir / "inside").write_text("x")))
    (run_dir / "said.json").write_text(json.dumps(said))
    files.give(Answer(Findings()))
