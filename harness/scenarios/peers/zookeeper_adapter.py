"""An adapter for ZooKeeper: a message that is submitted becomes a sequential node below /m at this node's server, and
what this server shows there is delivered, in the order of their numbers. CONFIRMED is the server's word."""

import asyncio
import contextlib
import os
import struct
import sys
from pathlib import Path

ME, HERE = os.environ["TUTTI_ME"], os.environ["TUTTI_ADDRESS"]
# Numbers are used once, also over restarts.
FIRST = ((int(os.environ["TUTTI_INCARNATION"]) - 1) << 32) + 1
SEEN = Path("seen")  # the last sequential node that was delivered, on this node's disk
CREATE, GET_DATA, GET_CHILDREN, PING = 1, 4, 8, 11
SEQUENTIAL, EXISTS, WATCH_EVENT = 2, -110, -1
SESSION_MS, PATIENCE_S, AGAIN_S = 4000, 1.0, 0.05
FAILURES = (OSError, EOFError, asyncio.TimeoutError, RuntimeError)


def say(line: str) -> None:
    """Tell tutti."""
    print(line, flush=True)


def text(value: str) -> bytes:
    """As ZooKeeper writes strings and buffers."""
    return struct.pack("!i", len(value)) + value.encode()


EVERYBODY = struct.pack("!ii", 1, 31) + text("world") + text("anyone")  # may do anything


class Session:
    """One connection to this node's server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._changed = False  # a watch has said so

    @staticmethod
    async def begin() -> "Session":
        """Once the server serves."""
        session = Session(*await asyncio.open_connection(HERE, 2181))
        session._send(struct.pack("!iqiq", 0, 0, SESSION_MS, 0) + text("\0" * 16))
        await asyncio.wait_for(session.receive(), PATIENCE_S)
        return session

    def _send(self, data: bytes) -> None:
        self._writer.write(struct.pack("!i", len(data)) + data)

    async def receive(self) -> bytes:
        """One packet."""
        (length,) = struct.unpack("!i", await self._reader.readexactly(4))
        return await self._reader.readexactly(length)

    async def ask(self, what: int, question: bytes = b"") -> bytes:
        """The answer to one request."""
        self._send(struct.pack("!ii", 1, what) + question)
        while True:
            packet = await asyncio.wait_for(self.receive(), PATIENCE_S)
            number, _, error = struct.unpack_from("!iqi", packet)
            if number != WATCH_EVENT:
                if error not in (0, EXISTS):
                    raise RuntimeError(f"error {error}")
                return packet[16:]
            self._changed = True

    async def changed(self) -> None:
        """Wait until something may be new; not so long that the session ends."""
        if not self._changed:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.receive(), SESSION_MS / 4000)
        self._changed = False

    async def create(self, path: str, data: str, flags: int) -> None:
        """A node."""
        await self.ask(CREATE, text(path) + text(data) + EVERYBODY + struct.pack("!i", flags))

    async def deliver(self) -> None:
        """What is new below /m."""
        names = await self.ask(GET_CHILDREN, text("/m") + b"\1")
        (count,) = struct.unpack_from("!i", names)
        at, found = 4, []
        for _ in range(count):
            (length,) = struct.unpack_from("!i", names, at)
            found.append(names[at + 4 : at + 4 + length].decode())
            at += 4 + length
        seen = SEEN.read_text() if SEEN.exists() else ""
        for name in sorted(one for one in found if one > seen):
            answer = await self.ask(GET_DATA, text(f"/m/{name}") + b"\0")
            (length,) = struct.unpack_from("!i", answer)
            origin, seq, data = answer[4 : 4 + length].decode().split()
            SEEN.write_text(name)
            say(f"note delivered about={origin} seq={seq} data={data}")

    def end(self) -> None:
        """Close it."""
        self._writer.close()


async def submit() -> None:
    """What tutti wants written."""
    lines = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    seq, session = FIRST, None
    while line := await lines.readline():
        _, number, to, data = line.decode().split()
        say(f"note sent about={ME} seq={seq} peers={to} values={number}")
        try:
            session = session or await Session.begin()
            await session.create("/m/x", f"{ME} {seq} {data}", SEQUENTIAL)
            say(f"note confirmed about={ME} seq={seq}")
        except FAILURES as error:
            say(f"note alarm about={ME} seq={seq} text=not confirmed: {type(error).__name__} {error}")
            if session:
                session.end()
            session = None
        seq += 1


async def watch() -> None:
    """Deliver what there is whenever something has changed."""
    ready = False
    while True:
        with contextlib.suppress(*FAILURES):
            session = await Session.begin()
            await session.create("/m", "", 0)
            if not ready:
                say("ready")
                ready = True
            while True:
                await session.deliver()
                await session.changed()
        await asyncio.sleep(AGAIN_S)


async def main() -> None:
    """Until tutti ends it."""
    await asyncio.gather(submit(), watch())


asyncio.run(main())
