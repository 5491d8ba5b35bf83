"""A node of Maelstrom for its workload `broadcast`. It repeats what a neighbour has not confirmed; with the argument
`once` it does not, and what is lost on the way is lost."""

import json
import os
import select
import sys
import time
from typing import Any

AGAIN_S = 0.1


class Node:
    """What this node knows."""

    def __init__(self, once: bool) -> None:
        self._once = once
        self._me = ""
        self._neighbours: list[str] = []
        self._values: set[int] = set()
        self._owed: dict[int, tuple[str, int]] = {}  # msg_id -> who has not confirmed which value
        self._last_id = 0

    def hear(self, source: str, body: Any) -> None:
        """One message."""
        kind = body["type"]
        if kind == "init":
            self._me = body["node_id"]
        elif kind == "topology":
            self._neighbours = body["topology"][self._me]
        elif kind == "broadcast":
            self._learn(body["message"], source)
        elif kind == "broadcast_ok":
            self._owed.pop(body["in_reply_to"], None)
            return
        more = {"messages": sorted(self._values)} if kind == "read" else {}
        self._send(source, {"type": f"{kind}_ok", "in_reply_to": body["msg_id"], **more})

    def repeat(self) -> None:
        """What is owed."""
        for number, (node, value) in self._owed.items():
            self._send(node, {"type": "broadcast", "msg_id": number, "message": value})

    def _learn(self, value: int, source: str) -> None:
        if value in self._values:
            return
        self._values.add(value)
        for node in self._neighbours:
            if node != source:
                self._last_id += 1
                self._send(node, {"type": "broadcast", "msg_id": self._last_id, "message": value})
                if not self._once:
                    self._owed[self._last_id] = node, value

    def _send(self, node: str, body: Any) -> None:
        print(json.dumps({"src": self._me, "dest": node, "body": body}), flush=True)


def main() -> None:
    """Until its input ends."""
    node, text, again_s = Node("once" in sys.argv), b"", time.monotonic() + AGAIN_S
    while True:
        if time.monotonic() >= again_s:
            node.repeat()
            again_s = time.monotonic() + AGAIN_S
        if not select.select([0], [], [], max(0.0, again_s - time.monotonic()))[0]:
            continue
        if not (read := os.read(0, 65_536)):
            return
        *lines, text = (text + read).split(b"\n")
        for line in lines:
            message = json.loads(line)
            node.hear(message["src"], message["body"])


main()
