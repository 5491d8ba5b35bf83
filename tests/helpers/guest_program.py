"""A program that tells which time it sees: in its clocks, in the processor's time stamp counter, and passing by."""

from __future__ import annotations

import ctypes
import json
import mmap
import select
import time

_RDTSC = bytes.fromhex("0f31 48c1e220 4809d0 c3")  # rdtsc; shl rdx, 32; or rax, rdx; ret
_POLLS = 1000


def main() -> None:
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(_RDTSC)
    rdtsc = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
    before_ns = time.monotonic_ns()
    counter = rdtsc()
    said = {"counter": counter - before_ns, "reads_ns": _cost_ns(time.monotonic_ns)}
    nothing = select.poll()
    said["polls_ns"] = _cost_ns(lambda: nothing.poll(0))
    said["ahead_ns"] = time.time_ns() - time.monotonic_ns()
    time.sleep(5)
    said["ahead_after_5_s_ns"] = time.time_ns() - time.monotonic_ns()
    print(json.dumps(said))


def _cost_ns(action: object) -> int:
    begin_ns = time.monotonic_ns()
    for _ in range(_POLLS):
        action()  # type: ignore[operator]
    return time.monotonic_ns() - begin_ns


if __name__ == "__main__":
    main()
