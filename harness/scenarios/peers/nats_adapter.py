"""An adapter for NATS: a message that is submitted is published on one subject, to which every node has subscribed."""

import asyncio
import os
import sys

ME = os.environ["TUTTI_ME"]
# Numbers are used once, also over restarts.
FIRST = ((int(os.environ["TUTTI_INCARNATION"]) - 1) << 32) + 1


def say(line: str) -> None:
    """Tell tutti."""
    print(line, flush=True)


async def connected() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A client of this node's server, which has subscribed."""
    reader, writer = await asyncio.open_connection(os.environ["TUTTI_ADDRESS"], 4222)
    await reader.readline()  # INFO
    writer.write(b'CONNECT {"verbose":false,"pedantic":false}\r\nSUB tutti 1\r\nPING\r\n')
    while not (await reader.readline()).startswith(b"PONG"):
        pass
    return reader, writer


async def publish(writer: asyncio.StreamWriter) -> None:
    """What tutti submits."""
    lines = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    seq = FIRST
    while line := await lines.readline():
        _, number, to, data = line.decode().split()
        say(f"note sent about={ME} seq={seq} peers={to} values={number}")
        body = f"{ME} {seq} {data}".encode()
        writer.write(b"PUB tutti %d\r\n%s\r\n" % (len(body), body))
        seq += 1


async def deliver(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """What the server brings."""
    while line := await reader.readline():
        if line.startswith(b"MSG"):
            origin, seq, data = (await reader.readexactly(int(line.split()[-1]) + 2)).decode().split()
            say(f"note delivered about={origin} seq={seq} data={data}")
        elif line.startswith(b"PING"):
            writer.write(b"PONG\r\n")


async def main() -> None:
    """Until either end is gone."""
    reader, writer = await connected()
    say("ready")
    await asyncio.wait(
        [asyncio.create_task(publish(writer)), asyncio.create_task(deliver(reader, writer))],
        return_when=asyncio.FIRST_COMPLETED,
    )


asyncio.run(main())
