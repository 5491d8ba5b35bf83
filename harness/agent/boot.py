"""The first process of a guest: makes its file systems, then starts the agent from the same paths in every run.

Runs with nothing but the standard library's built-in modules in mind: every import here is paid by every guest.
"""

import ctypes
import os
import sys

ROOT = "/run/tutti"
_MS_BIND = 4096
_POWER_OFF = 0x4321FEDC
_libc = ctypes.CDLL(None, use_errno=True)


def mount(source: str, target: str, kind: str, flags: int = 0, data: str | None = None) -> None:
    """mount(2)."""
    if not os.path.isdir(target):  # noqa: PTH112  (pathlib costs 10 ms here)
        os.makedirs(target)  # noqa: PTH103
    argument = data.encode() if data is not None else None
    if _libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), argument):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), target)


def halt() -> None:
    """The end of the guest; what was written is on this machine."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.sync()
    _libc.reboot(_POWER_OFF)


def main() -> None:
    """Mount, then start the agent, which ends the guest; should it die, that is done here."""
    try:
        mount("proc", "/proc", "proc")
        mount("sys", "/sys", "sysfs")
        mount("run", "/run", "tmpfs")
        mount(os.environ["TUTTI_CODE"], ROOT + "/code", "none", _MS_BIND)
        mount(os.environ["TUTTI_SITE"], ROOT + "/site", "none", _MS_BIND)
        environment = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "PYTHONPATH": f"{ROOT}/code:{ROOT}/site",
            "PYTHONHASHSEED": "0",
            "HOME": ROOT,
            "LC_ALL": "C.UTF-8",
            "TUTTI_RUN": os.environ.get("TUTTI_RUN", ""),
        }
        child = os.fork()
        if child == 0:
            command = ["python3", "-S", "-s", "-B", "-m", "harness.agent.guest", os.environ["TUTTI_AGENT"]]
            os.execve("/usr/bin/python3.11", command, environment)  # noqa: S606
        while os.wait()[0] != child:  # orphans come to process 1
            pass
    except BaseException as error:
        sys.stderr.write(f"boot failed: {type(error).__name__}: {error}\n")
    finally:
        halt()


if __name__ == "__main__":
    main()
