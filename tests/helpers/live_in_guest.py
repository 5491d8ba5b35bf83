"""In a guest whose time is real: `tutti run --engine live` finds a plain Linux with root
and netem. On request it takes the processor away from all nodes for a while, as a busy machine would."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
from pathlib import Path

from harness.cli import main as tutti
from harness.exchange import Answer, Exchange
from harness.manifest import Findings


def carry_out(files: Exchange, state: Path) -> None:
    run_dir = files.run.path
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
    asked = json.loads((run_dir / "words.json").read_text())
    if asked["hold_s"] and os.fork() == 0:
        hold_the_nodes(asked["hold_s"])
        os._exit(0)
    status = tutti(asked["words"])
    sys.stdout.flush()
    left = sorted(path.name for path in Path("/sys/class/net").iterdir())
    (run_dir / "said.json").write_text(json.dumps({"status": status, "interfaces": left}))
    files.give(Answer(Findings()))


def hold_the_nodes(seconds: float) -> None:
    """Once n1 has sent its first PDU."""
    while not (nodes := found(("n1", "n2", "n3"))) or not sent(nodes[0]):
        time.sleep(0.005)
    for node in nodes:
        os.kill(node, signal.SIGSTOP)
    time.sleep(seconds)
    for node in nodes:
        os.kill(node, signal.SIGCONT)


def found(names: tuple[str, ...]) -> list[int]:
    """The processes with these names, if they are all there."""
    named: dict[str, int] = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            named[(process / "comm").read_text().strip()] = int(process.name)
        except OSError:
            continue
    return [named[name] for name in names] if named.keys() >= set(names) else []


def sent(node: int) -> bool:
    """Has anything left the node, but on its loopback?"""
    try:
        lines = Path(f"/proc/{node}/net/dev").read_text().splitlines()[2:]
    except OSError:
        return False
    return any(int(line.split(":")[1].split()[9]) for line in lines if line.split(":")[0].strip() != "lo")
