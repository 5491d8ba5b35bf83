"""Packets of programs in a report: whose they are, which copies were lost, what is sent again, what is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6ND_NS, IPv6
from scapy.packet import Raw

from harness.report.copies import Fate, Sending
from harness.report.scene import Scene, make_scene
from harness.report.text import as_text
from harness.runs import open_run
from harness.verdict import judge_run
from tests.helpers.captured import Frame
from tests.helpers.reported import NODES, START, US, write_run

N1, N2, N3 = "10.0.0.1", "10.0.0.2", "10.0.0.3"
GROUP = "239.1.1.1"


def datagram(to: str = N2, *, src: str = N1, content: bytes = b"hello", port: int = 7000) -> Any:
    return IP(src=src, dst=to, id=1) / UDP(sport=40_000, dport=port) / Raw(content)


def segment(number: int, content: bytes = b"hello", *, again: int = 0) -> Any:
    return IP(src=N1, dst=N2, id=1 + again) / TCP(sport=40_000, dport=80, seq=number, flags="PA") / Raw(content)


def way(packet: Any, at_us: int, to: Sequence[int], *, src: int = 1) -> list[Frame]:
    """A packet leaves a node, passes the channel, and comes to these."""
    start = START + at_us * US
    found = [Frame(start, f"n{src}", bytes(packet)), Frame(start + 100 * US, "channel", bytes(packet))]
    return [*found, *(Frame(start + 200 * US, f"n{node}", bytes(packet), outgoing=False) for node in to)]


def scene_of(directory: Path, frames: list[Frame]) -> Scene:
    result = judge_run(open_run(write_run(directory, [*frames, *way(datagram(port=9), 50_000, [2])])))
    return make_scene(result.scenario, result.evidence)


def sendings(directory: Path, frames: list[Frame]) -> list[Sending]:
    """All but the last, which only says that the captures go on."""
    return scene_of(directory, frames).sent[:-1]


def fates(sending: Sending) -> dict[int, Fate]:
    return {copy.to: copy.fate for copy in sending.copies}


def test_a_lost_datagram_is_its_receivers_alone(tmp_path: Path) -> None:
    one, two = sendings(tmp_path, [*way(datagram(), 100, [2, 3]), *way(datagram(content=b"two"), 900, [])])
    assert fates(one) == {2: Fate.ARRIVED}  # n3 only saw it pass
    assert fates(two) == {2: Fate.LOST_ON_THE_WAY}
    assert two.copies[0].lost_at == "channel>n2"


def test_a_packet_is_the_same_behind_a_router(tmp_path: Path) -> None:
    sent, passed, came = way(datagram(), 100, [2])
    behind = datagram()
    behind.ttl -= 1
    assert bytes(behind) != sent.pdu
    (one,) = sendings(tmp_path, [sent, passed, replace(came, pdu=bytes(behind))])
    assert fates(one) == {2: Fate.ARRIVED}


def test_a_multicast_is_owed_to_those_who_listen(tmp_path: Path) -> None:
    frames = [*way(datagram(GROUP), 100, [2]), *way(datagram(GROUP, content=b"two"), 900, [])]
    assert [fates(one) for one in sendings(tmp_path, frames)] == [{2: Fate.ARRIVED}, {2: Fate.LOST_ON_THE_WAY}]


def test_what_tcp_sends_again_is_tied_to_its_first_sending(tmp_path: Path) -> None:
    frames = [*way(segment(7), 100, []), *way(segment(7, again=1), 900, [2]), *way(segment(12), 1_700, [2])]
    assert [one.original for one in sendings(tmp_path, frames)] == [None, 0, None]


@pytest.mark.parametrize(
    "packet",
    [
        IPv6(src="fe80::1", dst="ff02::1:ff00:2") / ICMPv6ND_NS(tgt="fd00::2"),
        IP(src=N1, dst="224.0.0.22", proto=2) / Raw(b"\x22\x00\x00\x00\x00\x00\x00\x00"),
        datagram(N1),  # to oneself
        datagram(src="192.168.0.1"),  # nobody's
        Raw(b"\x45\x00"),  # cut off
        Raw(b"\x4f" + bytes(datagram())[1:]),  # its header's length is damaged
        Raw(b"\x41" + bytes(datagram())[1:]),
        IP(src=N1, dst=N2, proto=58, len=12),
    ],
)
def test_what_is_no_word_of_a_program_to_another_is_left_out(packet: Any, tmp_path: Path) -> None:
    assert sendings(tmp_path, way(packet, 100, [2])) == []


def test_what_was_said_before_the_run_began_is_left_out(tmp_path: Path) -> None:
    assert sendings(tmp_path, way(datagram(), -900, [2])) == []


def test_packets_are_called_by_their_service_and_dissected(tmp_path: Path) -> None:
    frames = [*way(datagram(), 100, NODES[1:]), *way(segment(7), 900, [2])]
    frames += way(IPv6(src="fd00::1", dst="fd00::2") / UDP(sport=7000, dport=50_000) / Raw(b"six"), 1_700, [2])
    scene = scene_of(tmp_path, frames)
    names = [scene.seen.kinds[scene.seen.kind[one.first]]["name"] for one in scene.sent]
    assert names == ["UDP 7000 over IPv4", "TCP 80 over IPv4", "UDP 7000 over IPv6", "UDP 9 over IPv4"]
    assert "█ packets" in as_text(judge_run(open_run(tmp_path)))
