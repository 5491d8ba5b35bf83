"""An adapter for etcd: a message that is submitted is put under a key of its own through this node's member, and what
this member's watch shows is delivered. CONFIRMED is the cluster's word to the writer."""

import asyncio
import base64
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

ME, HERE = os.environ["TUTTI_ME"], os.environ["TUTTI_ADDRESS"]
# Numbers are used once, also over restarts.
FIRST = ((int(os.environ["TUTTI_INCARNATION"]) - 1) << 32) + 1
SEEN = Path("seen")  # the last revision that was delivered, on the node's disk
PATIENCE_S = 1.0
FAILURES = (OSError, EOFError, asyncio.TimeoutError, RuntimeError)


def say(line: str) -> None:
    """Tell tutti."""
    print(line, flush=True)


def packed(text: str) -> str:
    """As JSON carries bytes here."""
    return base64.b64encode(text.encode()).decode()


def unpacked(text: str) -> str:
    """The inverse."""
    return base64.b64decode(text).decode()


async def ask(path: str, question: Any) -> asyncio.StreamReader:
    """A question to this node's member; its answer is read from here on, in chunks."""
    reader, writer = await asyncio.open_connection(HERE, 2379)
    body = json.dumps(question)
    writer.write(f"POST {path} HTTP/1.1\r\nHost: etcd\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    if b" 200 " not in head.splitlines()[0]:
        raise RuntimeError(head.splitlines()[0].decode())
    return reader


async def submissions() -> AsyncIterator[tuple[int, str]]:
    """Number and data of what tutti wants sent, which is said to be sent by then."""
    lines = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    seq = FIRST
    while line := await lines.readline():
        _, number, to, data = line.decode().split()
        say(f"note sent about={ME} seq={seq} peers={to} values={number}")
        yield seq, data
        seq += 1


async def submit() -> None:
    """What tutti wants put."""
    async for seq, data in submissions():
        try:
            put = {"key": packed(f"m/{ME}/{seq}"), "value": packed(data)}
            await asyncio.wait_for(ask("/v3/kv/put", put), PATIENCE_S)
            say(f"note confirmed about={ME} seq={seq}")
        except FAILURES as error:
            say(f"note alarm about={ME} seq={seq} text=not confirmed: {type(error).__name__} {error}")


async def events(after: int) -> AsyncIterator[Any]:
    """What this member has, in its order, after a revision."""
    question = {"key": packed("m/"), "range_end": packed("m0"), "start_revision": after + 1}
    reader = await ask("/v3/watch", {"create_request": question})
    text = b""
    while True:
        text += (await reader.readexactly(int(await reader.readline(), 16) + 2))[:-2]
        *answers, text = text.split(b"\n")
        for answer in answers:
            result = json.loads(answer)["result"]
            if result.get("canceled"):
                raise RuntimeError(f"the watch was ended: {result}")
            for event in result.get("events", ()):
                yield event


async def deliver() -> None:
    """What is new, from where the last life of this adapter ended."""
    async for event in events(int(SEEN.read_text()) if SEEN.exists() else 0):
        _, origin, seq = unpacked(event["kv"]["key"]).split("/")
        SEEN.write_text(event["kv"]["mod_revision"])
        say(f"note delivered about={origin} seq={seq} data={unpacked(event['kv']['value'])}")


async def main() -> None:
    """Until tutti ends it."""
    say("ready")
    await asyncio.gather(submit(), deliver())


if __name__ == "__main__":
    asyncio.run(main())
