"""Runs as the agent of a guest whose time is real: there, `tutti run --engine live` finds a plain Linux with root
and netem."""

from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path

from harness.cli import main as tutti


def main(run_dir: Path) -> None:
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
    words = json.loads((run_dir / "words.json").read_text())
    status = tutti(words)
    sys.stdout.flush()
    left = sorted(path.name for path in Path("/sys/class/net").iterdir())
    (run_dir / "logs/agent.json").write_text(json.dumps({"status": status, "interfaces": left}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
