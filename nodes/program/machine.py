"""What the programs of a node see as their machine: its files, which they may change, and nothing of another node.

The file system is this machine's, with a layer of the node's own over it, which lasts as long as the run: a node that
is started again finds on its disk what it left there. /dev, /run and /tmp are new each time. No path of where a run
lies or its code is can be seen, since it would make a difference.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from nodes.program.options import TEMPLATE

HOME = "/node"  # where programs are started

_MS_BIND, _MS_REC, _MS_PRIVATE, _MNT_DETACH = 4096, 16384, 1 << 18, 2
_NEWNS, _NEWTIME, _NEWUTS, _NEWIPC = 0x20000, 0x80, 0x04000000, 0x08000000
_SYS_PIVOT_ROOT = 155
_FORGET = 5  # SYSLOG_ACTION_CLEAR
_DEVICES = {"null": 3, "zero": 5, "full": 7, "random": 8, "urandom": 9}
_LINKS = {"fd": "fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}
_libc = ctypes.CDLL(None, use_errno=True)


def leave_machine(name: str, disk: Path, brought: Sequence[Path], words: Mapping[str, str], hosts: str) -> None:
    """Let this process, and what it starts, be on a machine of that name, whose disk has what is in the directories
    `brought`: below `root` of each what has a place, below `here` what lies where programs are started."""
    _check(_libc.unshare(_NEWNS | _NEWUTS | _NEWIPC | _NEWTIME), "namespaces of a node (programs need kernel 7.2)")
    _check(_libc.sethostname(name.encode(), len(name)), "the node's name")
    files = {"/etc/hosts": (hosts.encode(), 0o644), "/etc/hostname": (f"{name}\n".encode(), 0o644)}
    for place in brought:
        files |= _files(place / "root", "/", words) | _files(place / "here", HOME, words)
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE)
    _change_root(disk)
    for path, (data, mode) in files.items():
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)  # what is there may be for its owner alone: it is not read
        target.write_bytes(data)
        target.chmod(mode)


def set_wall_clock(ahead_ns: int, drift_ppb: int) -> None:
    """Set CLOCK_REALTIME of what this process has started, and will start, on its machine."""
    lines = [
        f"{word} {' '.join(map(str, divmod(value, 1_000_000_000)))}\n"
        for word, value in (("realtime", ahead_ns), ("drift", drift_ppb))
    ]
    Path("/proc/self/timens_offsets").write_text("".join(lines))


def become_program(user: pwd.struct_passwd) -> None:
    """Between fork and exec: from here on it is not one of ours. It has no priority, its system calls take virtual
    time, and so does the time stamp counter that it reads."""
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    _check(_libc.prctl(26, 2, 0, 0, 0), "virtual time for a program")  # PR_SET_TSC, PR_TSC_SIGSEGV
    if user.pw_uid:
        os.initgroups(user.pw_name, user.pw_gid)
        os.setgid(user.pw_gid)
        os.setuid(user.pw_uid)


def _files(place: Path, where: str, words: Mapping[str, str]) -> dict[str, tuple[bytes, int]]:
    found = {}
    for path in sorted(one for one in place.rglob("*") if one.is_file()):
        data, target = path.read_bytes(), f"{where.rstrip('/')}/{path.relative_to(place)}"
        if target.endswith(TEMPLATE):
            target = target.removesuffix(TEMPLATE)
            for word, value in words.items():
                data = data.replace(f"{{{word}}}".encode(), value.encode())
        found[target] = data, path.stat().st_mode & 0o777 | 0o444
    return found


def _change_root(disk: Path) -> None:
    """Move into a root of one's own."""
    root, upper, work = disk / "root", disk / "upper", disk / "work"
    for one in (root, upper, work):
        one.mkdir(parents=True, exist_ok=True)
    upper.chmod(0o755)
    _mount("node", str(root), "overlay", 0, f"lowerdir=/,upperdir={upper},workdir={work}")
    for name in ("dev", "proc", "sys", "run", "tmp", HOME.removeprefix("/")):
        (root / name).mkdir(exist_ok=True)
    _mount("proc", str(root / "proc"), "proc")
    _mount("sys", str(root / "sys"), "sysfs")
    _mount("dev", str(root / "dev"), "tmpfs", 0, "mode=755")
    _mount("run", str(root / "run"), "tmpfs", 0, "mode=755")
    _mount("tmp", str(root / "tmp"), "tmpfs", 0, "mode=1777")
    os.chdir(root)
    _check(_libc.syscall(_SYS_PIVOT_ROOT, b".", b"."), "a root of its own")
    _check(_libc.umount2(b".", _MNT_DETACH), "leaving the root before")
    os.chdir("/")
    _make_devices()
    (Path("/run") / "lock").mkdir(mode=0o1777)
    _hide_host()


def _hide_host() -> None:
    """Put something else over what tells of the machine outside: paths, and its kernel."""
    processor = Path("/proc/cpuinfo").read_text()
    texts = {
        "/proc/cmdline": "\n",
        "/proc/template": "",
        "/proc/cpuinfo": re.sub(r"^host\s*:.*", "core id\t\t: 0", processor, flags=re.MULTILINE),  # `ps` wants a core
    }
    for place, text in texts.items():
        if Path(place).exists():
            cover = Path("/dev/cover")
            cover.write_text(text)
            cover.chmod(0o444)
            _mount(str(cover), place, None, _MS_BIND)
            cover.unlink()
    _check(_libc.klogctl(_FORGET, None, 0), "what the kernel has said")


def _make_devices() -> None:
    os.umask(0)
    for name, minor in _DEVICES.items():
        os.mknod(f"/dev/{name}", 0o20666, os.makedev(1, minor))
    os.mknod("/dev/tty", 0o20666, os.makedev(5, 0))
    for name, target in _LINKS.items():
        Path(f"/dev/{name}").symlink_to(f"/proc/self/{target}")
    (Path("/dev") / "shm").mkdir(mode=0o1777)
    Path("/dev/pts").mkdir()
    _mount("pts", "/dev/pts", "devpts", 0, "newinstance,ptmxmode=0666")
    Path("/dev/ptmx").symlink_to("pts/ptmx")
    os.umask(0o022)


def _mount(source: str, target: str, kind: str | None, flags: int = 0, data: str | None = None) -> None:
    kind_bytes, data_bytes = (None if one is None else one.encode() for one in (kind, data))
    _check(_libc.mount(source.encode(), target.encode(), kind_bytes, ctypes.c_ulong(flags), data_bytes), target)


def _check(result: int, what: str) -> None:
    if result:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")
