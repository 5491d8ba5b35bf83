"""A node whose log is kept equal to the others' by PySyncObj, a library with Raft: a message that is submitted is
appended, and what the library applies is delivered. CONFIRMED is the library's word to the writer.

The environment has how long it waits for a leader (ELECT_S), and may have KEEP=yes: then what the library forgets in a
crash, its term and its vote, is kept on the node's disk."""

import os
import select
from pathlib import Path
from typing import Any

from pysyncobj import FAIL_REASON, SyncObj, SyncObjConf, replicated  # type: ignore[import-not-found]

ME = int(os.environ["TUTTI_ME"])
# Numbers are used once, also over restarts.
FIRST = ((int(os.environ["TUTTI_INCARNATION"]) - 1) << 32) + 1
ELECT_S = float(os.environ["ELECT_S"])
KEEP = os.environ.get("KEEP") == "yes"
KEPT = Path("kept")
TERM, VOTE = "_SyncObj__raftCurrentTerm", "_SyncObj__votedForNodeId"
TICK_S = 0.01
NODES = [f"n{node}:7000" for node in os.environ["TUTTI_MEMBERS"].split(",")]


def say(line: str) -> None:
    """Tell tutti."""
    print(line, flush=True)


class Log(SyncObj):  # type: ignore[misc]
    """The log of messages."""

    def __init__(self) -> None:
        self._keeps = False
        conf = SyncObjConf(
            autoTick=False,
            journalFile="journal",
            raftMinTimeout=ELECT_S,
            raftMaxTimeout=ELECT_S + 0.1,
            connectionRetryTime=0.2,
            connectionTimeout=60.0,
            onStateChanged=self._changed,
        )
        super().__init__(NODES[ME - 1], [node for node in NODES if node != NODES[ME - 1]], conf)
        if KEEP and KEPT.exists():
            term, vote = KEPT.read_text().split()
            setattr(self, TERM, int(term))
            setattr(self, VOTE, None if vote == "None" else vote)
        self._keeps = KEEP

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in (TERM, VOTE) and self._keeps:
            KEPT.write_text(f"{getattr(self, TERM)} {getattr(self, VOTE)}")

    def _changed(self, old: int, new: int) -> None:
        if new == 2:
            say(f"note state seq={getattr(self, TERM)} text=leads")

    @replicated  # type: ignore[untyped-decorator]
    def append(self, origin: int, seq: int, data: str) -> None:
        """A message."""
        say(f"note delivered about={origin} seq={seq} data={data}")


def main() -> None:
    """Until its input ends."""
    log, seq, text = Log(), FIRST, b""
    say("ready")
    while True:
        log.doTick(TICK_S)
        if not select.select([0], [], [], 0)[0]:
            continue
        if not (read := os.read(0, 65_536)):
            return
        *lines, text = (text + read).split(b"\n")
        for line in lines:
            _, number, to, data = line.decode().split()
            say(f"note sent about={ME} seq={seq} peers={to} values={number}")
            log.append(ME, seq, data, callback=lambda _, failed, seq=seq: told(seq, failed))
            seq += 1


def told(seq: int, failed: int) -> None:
    """What has become of a message."""
    if failed == FAIL_REASON.SUCCESS:
        say(f"note confirmed about={ME} seq={seq}")
    else:
        say(f"note alarm about={ME} seq={seq} text=not confirmed: reason {failed}")


main()
