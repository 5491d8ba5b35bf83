"""Gossip, as gossip.js does it and with it: what a client at any node says comes to the clients of all, each life's
words in their order. Words are shouted by UDP multicast; now and then every node tells how much it has, and whoever has
more shouts that again. A node lets clients in once it has all that another one has."""

import asyncio
import json
import os
import random
import socket
from typing import Any

GROUP, PORT, AGAIN_S, BATCH = "239.1.1.1", 7001, 0.05, 8
HERE = os.environ["TUTTI_ADDRESS"]
ME = f"{os.environ['TUTTI_ME']}.{os.environ['TUTTI_INCARNATION']}"


class Gossip(asyncio.DatagramProtocol):
    """What this node knows."""

    def __init__(self) -> None:
        self.clients = set[asyncio.StreamWriter]()
        self.ready = asyncio.Event()
        self.words: dict[str, list[str]] = {ME: []}  # of each life, in order

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, sender: Any) -> None:
        what = json.loads(data)
        if "say" in what:
            self.take(*what["say"])
        else:
            self._help(what["have"])

    def take(self, life: str, number: int, word: str) -> None:
        """A word, which is known, or new, or comes again once the one before it is there."""
        words = self.words.setdefault(life, [])
        if number == len(words):
            words.append(word)
            for client in self.clients:
                client.write(f"{life} {number} {word}\n".encode())

    def shout(self, what: Any) -> None:
        """To all."""
        self._transport.sendto(json.dumps(what).encode(), (GROUP, PORT))

    def _help(self, have: dict[str, int]) -> None:
        if all(count <= len(self.words.get(life, ())) for life, count in have.items()):
            self.ready.set()
        for life, words in self.words.items():
            start = have.get(life, 0)
            for number, word in enumerate(words[start : start + BATCH], start):
                self.shout({"say": [life, number, word]})

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A client."""
        self.clients.add(writer)
        while line := await reader.readline():
            number, word = len(self.words[ME]), line.decode().strip()
            self.shout({"say": [ME, number, word]})
            self.take(ME, number, word)
        self.clients.discard(writer)


def heard() -> socket.socket:
    """A socket in the group."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("", PORT))
    here = socket.inet_aton(HERE)
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, here)
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 0)
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(GROUP) + here)
    return sock


async def main() -> None:
    """Until it is killed."""
    gossip = Gossip()
    await asyncio.get_running_loop().create_datagram_endpoint(lambda: gossip, sock=heard())
    telling = asyncio.create_task(tell(gossip))
    await gossip.ready.wait()
    await asyncio.start_server(gossip.serve, HERE, 7000)
    await telling


async def tell(gossip: Gossip) -> None:
    """The others how much is here."""
    while True:
        gossip.shout({"have": {life: len(words) for life, words in gossip.words.items()}})
        await asyncio.sleep(AGAIN_S * (1 + random.random()))


asyncio.run(main())
