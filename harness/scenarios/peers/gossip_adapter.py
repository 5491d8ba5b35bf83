"""An adapter for gossip.js and gossip.py: a client of this node's program."""

import asyncio
import os
import sys

ME = os.environ["TUTTI_ME"]


def number(life: int, word: int) -> int:
    """A message's, which is used once, also over restarts."""
    return ((life - 1) << 32) + word + 1


async def submit(writer: asyncio.StreamWriter) -> None:
    """What tutti wants said."""
    lines = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    seq = number(int(os.environ["TUTTI_INCARNATION"]), 0)
    while line := await lines.readline():
        _, submission, to, data = line.decode().split()
        print(f"note sent about={ME} seq={seq} peers={to} values={submission}", flush=True)
        writer.write(f"{data}\n".encode())
        seq += 1


async def main() -> None:
    """Until either end is gone."""
    reader, writer = await asyncio.open_connection(os.environ["TUTTI_ADDRESS"], 7000)
    print("ready", flush=True)
    submitting = asyncio.create_task(submit(writer))
    while line := await reader.readline():
        who, word, data = line.decode().split()
        origin, life = who.split(".")
        print(f"note delivered about={origin} seq={number(int(life), int(word))} data={data}", flush=True)
    submitting.cancel()


asyncio.run(main())
