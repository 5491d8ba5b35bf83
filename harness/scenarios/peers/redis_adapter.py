"""An adapter for Redis: a message that is submitted is added to a list at the master that this node's Sentinel names;
what this node's server has in its copy of the list is delivered. CONFIRMED is the master's word to the writer."""

import asyncio
import contextlib
import os
import sys
from typing import Any

ME, HERE = os.environ["TUTTI_ME"], os.environ["TUTTI_ADDRESS"]
# Numbers are used once, also over restarts.
FIRST = ((int(os.environ["TUTTI_INCARNATION"]) - 1) << 32) + 1
LOOK_S, PATIENCE_S = 0.02, 0.3
FAILURES = (OSError, EOFError, TimeoutError, asyncio.TimeoutError, RuntimeError)


def say(line: str) -> None:
    """Tell tutti."""
    print(line, flush=True)


async def _reply(reader: asyncio.StreamReader) -> Any:
    line = await reader.readuntil(b"\r\n")
    kind, rest = line[:1], line[1:-2]
    if kind == b"-":
        raise RuntimeError(rest.decode())
    if kind == b"$":
        return None if rest == b"-1" else (await reader.readexactly(int(rest) + 2))[:-2].decode()
    if kind == b"*":
        return [await _reply(reader) for _ in range(int(rest))]
    return int(rest) if kind == b":" else rest.decode()


async def ask(address: str, port: int, *words: str) -> Any:
    """The answer to one command, over a connection of its own."""
    reader, writer = await asyncio.open_connection(address, port)
    try:
        lines = "".join(f"${len(word)}\r\n{word}\r\n" for word in words)
        writer.write(f"*{len(words)}\r\n{lines}".encode())
        return await _reply(reader)
    finally:
        writer.close()


async def write(seq: int, data: str) -> None:
    """At the master, as far as is known here."""
    address, port = await ask(HERE, 26379, "SENTINEL", "get-master-addr-by-name", "tutti")
    await ask(address, int(port), "RPUSH", "log", f"{ME} {seq} {data}")


async def submit() -> None:
    """What tutti wants written."""
    lines = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    seq = FIRST
    while line := await lines.readline():
        _, number, to, data = line.decode().split()
        say(f"note sent about={ME} seq={seq} peers={to} values={number}")
        try:
            await asyncio.wait_for(write(seq, data), PATIENCE_S)
            say(f"note confirmed about={ME} seq={seq}")
        except FAILURES as error:
            say(f"note alarm about={ME} seq={seq} text=not written: {type(error).__name__} {error}")
        seq += 1


async def deliver() -> None:
    """What this node's server has."""
    seen = 0
    while True:
        with contextlib.suppress(*FAILURES):
            length = await ask(HERE, 6379, "LLEN", "log")
            if length < seen:
                say(f"note alarm text=of {seen} entries of the log {length} are left")
                seen = length
            for entry in await ask(HERE, 6379, "LRANGE", "log", str(seen), "-1"):
                origin, seq, data = entry.split()
                say(f"note delivered about={origin} seq={seq} data={data}")
                seen += 1
        await asyncio.sleep(LOOK_S)


async def main() -> None:
    """Until tutti ends it."""
    say("ready")
    await asyncio.gather(submit(), deliver())


asyncio.run(main())
