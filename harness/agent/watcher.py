"""The moments that faults wait for, seen at the nodes' own interfaces while they happen.

A packet socket in the namespace of each node concerned gives every frame that leaves or enters it: PDUs, and the NOTEs
on its loopback. In virtual time the agent then runs before all nodes (`run.py`): what a fault does at such a moment
comes before anything else that the node does, and before a PDU is read that has just come. In real time it comes a
little later.
"""

from __future__ import annotations

import socket
import struct

from harness.agent.frames import ETH_P_ALL, FRAME_MAX, PACKET_OUTGOING, pdu_of_frame
from harness.scenario.faults.when import Moments
from topologies.mininet_network import Network

_SOL_PACKET, _PACKET_STATISTICS = 263, 6
_SO_RCVBUFFORCE = 33
_BUFFER_BYTES = 8 * 1024 * 1024


class Watcher:
    """Watches at a node as long as something is waited for there."""

    def __init__(self, network: Network, moments: Moments) -> None:
        self._network = network
        self._moments = moments
        self._sockets: dict[int, tuple[str, socket.socket]] = {}
        self.lost = 0  # frames that came too fast to be seen

    def begin(self) -> None:
        """Watch from now on."""
        for node in sorted(self._moments.places - {node for node, _ in self._sockets.values()}):
            with self._network.node(node).entered():
                one = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.htons(ETH_P_ALL))
            one.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_BYTES)
            self._sockets[one.fileno()] = (node, one)

    @property
    def descriptors(self) -> list[int]:
        """Those to be waited on."""
        return list(self._sockets)

    def look(self, descriptor: int) -> None:
        """Look at all that has come there, and let happen what has waited for it."""
        while descriptor in self._sockets:
            node, one = self._sockets[descriptor]
            try:
                frame, (interface, _, kind, *_) = one.recvfrom(FRAME_MAX)
            except BlockingIOError:
                return
            out = kind == PACKET_OUTGOING
            if interface == "lo" and not out:
                continue  # a NOTE that was seen on its way out
            pdu = pdu_of_frame(frame)
            if pdu is not None and self._moments.see(node, "out" if out else "in", pdu):
                self.close()

    def close(self) -> None:
        """Watch no more where nothing is waited for."""
        needed = self._moments.places
        for descriptor, (node, one) in list(self._sockets.items()):
            if node not in needed:
                _, lost = struct.unpack("=II", one.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8))
                self.lost += lost
                one.close()
                del self._sockets[descriptor]
