"""`python -m harness.engines.isolated ...`: the agent, with these arguments, in namespaces of its own on this kernel.

Two processes: one that waits (and whose end the starter sees), and the first process of a process namespace, whose
end, for whatever reason, is the end of everything that the run has started.
"""

from __future__ import annotations

import ctypes
import os
import runpy
import sys

from harness.engines.watch import die_with_parent

_CLONE_NEWNS, _CLONE_NEWNET, _CLONE_NEWPID = 0x00020000, 0x40000000, 0x20000000
_MS_REC, _MS_PRIVATE = 0x4000, 0x40000
_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Become two; the inner one is the agent."""
    _check(_libc.unshare(_CLONE_NEWNS | _CLONE_NEWNET | _CLONE_NEWPID), "unshare")
    pid = os.fork()
    if pid:
        _, status = os.waitpid(pid, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    die_with_parent(0)  # which has no number in this namespace
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE)
    _mount("proc", "/proc", "proc", 0)
    _mount("sysfs", "/sys", "sysfs", 0)
    runpy.run_module("harness.agent", run_name="__main__", alter_sys=True)


def _mount(source: str, target: str, kind: str | None, flags: int) -> None:
    kind_bytes = None if kind is None else kind.encode()
    _check(_libc.mount(source.encode(), target.encode(), kind_bytes, ctypes.c_ulong(flags), None), f"mount {target}")


def _check(result: int, what: str) -> None:
    if result:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")


if __name__ == "__main__":
    sys.argv[0] = "harness.agent"
    main()
