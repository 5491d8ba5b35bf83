"""An adapter for babeld: a message goes by UDP to the node's own address fd01::N, which only its routes lead to, and is
delivered when it comes."""

import asyncio
import os
import sys
from typing import Any

ME, PORT = os.environ["TUTTI_ME"], 7000


class Messages(asyncio.DatagramProtocol):
    """What comes to this node's own address."""

    def datagram_received(self, data: bytes, sender: Any) -> None:
        origin, seq, payload = data.decode().split()
        print(f"note delivered about={origin} seq={seq} data={payload}", flush=True)


async def main() -> None:
    """Until tutti ends it."""
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(Messages, local_addr=(f"fd01::{ME}", PORT))
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    print("ready", flush=True)
    seq = 0
    while line := await lines.readline():
        _, number, to, data = line.decode().split()
        seq += 1
        print(f"note sent about={ME} seq={seq} peers={to} values={number}", flush=True)
        for node in to.split(","):
            transport.sendto(f"{ME} {seq} {data}".encode(), (f"fd01::{node}", PORT))


asyncio.run(main())
