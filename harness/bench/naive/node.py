"""The naive node: broadcast frames at a fixed pace, log every frame with the time of its arrival."""

import select
import socket
import struct
import sys
import time

me, count, gap = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88B5))
link.bind((f"h{me}-eth0", 0x88B5))
address = link.getsockname()[4]
events, sent, due = [], 0, time.monotonic() + 0.1
while sent < count or time.monotonic() < due + 0.5:
    now = time.monotonic()
    if sent < count and now >= due:
        link.send(b"\xff" * 6 + address + b"\x88\xb5" + struct.pack("!HHId", me, 0, sent, now) + b"x" * 100)
        sent, due = sent + 1, due + gap
    wait = due + (0 if sent < count else 0.5) - time.monotonic()
    readable, _, _ = select.select([link], [], [], max(0.0, wait))
    if readable:
        frame, origin = link.recvfrom(2000)
        if origin[2] != socket.PACKET_OUTGOING:
            events.append((time.monotonic_ns(), frame[14:22].hex()))
with open(f"node-{me}.txt", "w") as log:
    for event in events:
        print(*event, file=log)
