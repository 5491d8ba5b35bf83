"""What is said with a node of Maelstrom: JSON objects, one a line. Those to other nodes go over the emulated network,
as PDUs; beside each node is its client, whose requests are the workload.

A message may be lost, like any datagram; it is never altered, and a long one comes whole or not at all.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from nodes.links import attach
from nodes.machine import Log
from nodes.maelstrom.options import MaelstromOptions
from nodes.program.talk import Talk
from nodes.shell import NodeConfig, Submission
from nodes.wire import WireError, decode_untrusted, encode
from nodes.wire.maelstrom import MaelstromMessage
from nodes.wire.note import Delivered, NoteKind, Sent, digest_of

NUMBERS = 1_000_000  # message 17 of n2 is the integer 2,000,017 of a broadcast
_PART_BYTES = 1200
_INCOMPLETE_MAX = 1000


class MaelstromTalk(Talk):
    """One node's, with its client."""

    def __init__(self, config: NodeConfig, note: Callable[[Log], None], say: Callable[[str], None]) -> None:
        super().__init__(config, note, say)
        self._options: MaelstromOptions = config.options
        self._me, self._life = config.setting.me, config.setting.incarnation
        self._node, self._client = f"n{self._me}", f"c{self._me}"
        self._members = [f"n{one}" for one in config.setting.members]
        self._link = attach(config.attachment)
        self._padded = config.attachment.transport == "channel"
        self.listens = (self._link.socket.fileno(),)
        self._incomplete: OrderedDict[tuple[int, int], dict[int, bytes]] = OrderedDict()
        self._asked: dict[int, tuple[str, int]] = {}  # msg_id -> what was asked, the submission that it is
        self._last_id = 0
        self._out = 0  # messages to other nodes
        self._read: set[int] = set()
        self._read_at_ns = 0

    # the client

    def begin(self) -> None:
        self._ask("init", node_id=self._node, node_ids=self._members)

    def submit(self, one: Submission) -> None:
        everybody = self._options.workload == "broadcast"
        to = self.config.setting.members if everybody else (self._me,)
        self.note(Log(NoteKind.SENT, self._me, one.number, peers=tuple(to), values=Sent(one.number)))
        if everybody:
            self._ask("broadcast", one.number, message=self._me * NUMBERS + one.number)
        elif self._options.workload == "echo":
            self._ask("echo", one.number, echo=one.data.hex())
        else:
            self._ask("generate", one.number)

    def due(self, now_ns: int) -> int | None:
        if self._options.workload != "broadcast" or not self.ready:
            return None
        if now_ns >= self._read_at_ns:
            self._read_at_ns = now_ns + self._options.read_every_ns
            self._ask("read")
        return self._read_at_ns

    def _ask(self, what: str, number: int = 0, **more: Any) -> None:
        self._last_id += 1
        self._asked[self._last_id] = what, number
        body = {"type": what, "msg_id": self._last_id, **more}
        self.say(json.dumps({"src": self._client, "dest": self._node, "body": body}))

    def _answered(self, body: Any) -> None:
        what, number = self._asked.pop(body.get("in_reply_to"), ("", 0))
        about = (self._me, number) if number else (0, 0)
        if not what:
            raise ValueError("it answers nothing that its client has asked, or twice")
        if body["type"] == "error":
            self.note(Log(NoteKind.ALARM, *about, text=f"{what}: error {body.get('code')} {body.get('text', '')}"))
        elif body["type"] != f"{what}_ok":
            raise ValueError(f"the answer to {what} is {what}_ok, or an error")
        elif what == "init" and self._options.workload == "broadcast":
            self._ask("topology", topology=self._topology())
        elif what in ("init", "topology"):
            self.ready = True
        elif what == "echo":
            self.note(Log(NoteKind.DELIVERED, *about, values=Delivered(digest_of(_data(body["echo"])))))
        elif what == "broadcast":
            self.note(Log(NoteKind.CONFIRMED, *about))
        elif what == "generate":
            self.note(Log(NoteKind.RESULT, *about, text=json.dumps(body["id"])))
        else:
            self._compare(body["messages"])

    def _topology(self) -> dict[str, list[str]]:
        line = self._options.topology == "line"
        return {
            node: [other for at, other in enumerate(self._members) if at != here and (not line or abs(at - here) == 1)]
            for here, node in enumerate(self._members)
        }

    def _compare(self, messages: list[int]) -> None:
        """A read with those before it."""
        if not all(type(value) is int for value in messages):
            raise TypeError("what was read are whole numbers")
        found = set(messages)
        for value in sorted(found - self._read):
            origin, number = divmod(value, NUMBERS)
            self.note(Log(NoteKind.DELIVERED, origin, number))
        for value in sorted(self._read - found):
            origin, number = divmod(value, NUMBERS)
            self.note(Log(NoteKind.ALARM, origin, number, text="lost: a read lacks what an earlier one had"))
        self._read = found

    # the node

    def hear(self, line: str) -> None:
        try:
            message = json.loads(line)
            to, body = message["dest"], message["body"]
            if to == self._client:
                self._answered(body)
            elif to == self._node:
                self.say(line)
            elif to in self._members:
                self._send(int(to[1:]), line.encode())
            else:
                self.note(Log(NoteKind.ALARM, text=f"there is no {to}, to whom a message was sent"))
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"no message as Maelstrom has them ({type(error).__name__}: {error})") from None

    def _send(self, dest: int, data: bytes) -> None:
        self._out += 1
        pieces = [data[at : at + _PART_BYTES] for at in range(0, len(data), _PART_BYTES)]
        pdus = [
            MaelstromMessage(
                src=self._me,
                dest=dest,
                number=self._life << 32 | self._out,
                part=part,
                parts=len(pieces),
                payload=piece,
            )
            for part, piece in enumerate(pieces)
        ]
        self.sent += len(pdus)
        self._link.send([(encode(one), (dest,)) for one in pdus])

    def receive(self) -> None:
        for data in self._link.receive():
            self.received += 1
            try:
                pdu = decode_untrusted(data, padded=self._padded)
            except WireError as error:
                self.note(Log(NoteKind.REFUSED, text=f"malformed: {error}"))
                continue
            if isinstance(pdu, MaelstromMessage) and pdu.dest == self._me and self.ready:
                self._take(pdu)

    def _take(self, pdu: MaelstromMessage) -> None:
        pieces = self._incomplete.setdefault((pdu.src, pdu.number), {})
        pieces[pdu.part] = pdu.payload
        if len(pieces) == pdu.parts:
            del self._incomplete[pdu.src, pdu.number]
            self.say(b"".join(piece for _, piece in sorted(pieces.items())).decode())
        elif len(self._incomplete) > _INCOMPLETE_MAX:
            self._incomplete.popitem(last=False)


def _data(echo: Any) -> bytes:
    """Of which data this is the echo."""
    try:
        return bytes.fromhex(echo)
    except (TypeError, ValueError):
        return json.dumps(echo).encode()
