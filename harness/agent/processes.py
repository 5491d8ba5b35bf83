"""The nodes' processes: forked from this warm process into their namespaces, stopped, continued, killed, restarted."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import pickle
import signal
import socket
import struct
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

from nodes.protocols import protocol
from nodes.shell import NodeConfig, NotReady, run_node
from nodes.tally import Tally
from nodes.waiting import readable
from topologies.mininet_network import NamespaceNode

_MESSAGE_MAX = 65_536
_LENGTH = struct.Struct("=I")
_CLONE_NEWPID = 0x20000000
_libc = ctypes.CDLL(None, use_errno=True)


class NodeFailed(RuntimeError):
    """A node's process, or a program in it, ended by itself."""


@dataclass(slots=True)
class Process:
    """One node process and the agent's end of its control socket."""

    node: str
    pid: int
    control: socket.socket
    keeps: bool = False  # it has processes of its own
    paused: bool = False


def start(node: NamespaceNode, tally: Tally, keeps: bool = False) -> Process:
    """Fork a node's process, which waits at its place until it is told to begin. What it keeps ends with it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sys.stdout.flush()
    sys.stderr.flush()
    with _apart() if keeps else contextlib.nullcontext():
        pid = os.fork()
        if pid == 0:
            ours.close()
            _become(node, tally, theirs)
    theirs.close()
    process = Process(node.name, pid, ours, keeps)
    expect(process, "there")
    return process


def begin(process: Process, config: NodeConfig) -> None:
    """Tell a process what it is to be; it is at work when this returns."""
    data = pickle.dumps(config)
    tell(process, "begin", len(data))
    for at in range(0, len(data), _MESSAGE_MAX):
        process.control.send(data[at : at + _MESSAGE_MAX])
    expect(process, "ready")


def _told(control: socket.socket) -> NodeConfig:
    """The other end of `begin`."""
    control.send(json.dumps(["there", None]).encode())
    message = control.recv(_MESSAGE_MAX)
    if not message:
        os._exit(1)  # the agent has ended, and said why
    _, size = json.loads(message)
    data = b""
    while len(data) < size:
        data += control.recv(_MESSAGE_MAX)
    config = pickle.loads(data)  # noqa: S301  (the agent's own)
    assert isinstance(config, NodeConfig)
    return config


@contextlib.contextmanager
def _apart() -> Iterator[None]:
    """A process forked in this block is the first of a process namespace: with it, all in there ends."""
    here = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if _libc.unshare(_CLONE_NEWPID):
            raise OSError(ctypes.get_errno(), "a process namespace")
        yield
        if _libc.setns(here, _CLONE_NEWPID):
            raise OSError(ctypes.get_errno(), "the process namespace before")
    finally:
        os.close(here)


def _become(node: NamespaceNode, tally: Tally, control: socket.socket) -> NoReturn:
    """In the child: never come back, whatever happens."""
    try:
        _leave_only(control.fileno(), node.namespace)
        with node.entered():
            config = _told(control)
            (protocol(config.protocol).run or run_node)(config, tally, control)
    except BaseException as error:
        traceback.print_exc()
        sys.stderr.flush()
        with contextlib.suppress(OSError):
            word = "late" if isinstance(error, NotReady) else "failed"
            control.send(json.dumps([word, f"{type(error).__name__}: {error}"]).encode())
    finally:
        os._exit(1)


def _leave_only(control: int, namespace: int) -> None:
    """Close what was inherited from the agent (other nodes' control sockets above all) but the standard streams."""
    keep = sorted({control, namespace})
    low = 3
    for descriptor in keep:
        os.closerange(low, descriptor)
        low = descriptor + 1
    os.closerange(low, os.sysconf("SC_OPEN_MAX"))


def receive(process: Process) -> tuple[str, Any]:
    """The next word from a node."""
    try:
        message = process.control.recv(_MESSAGE_MAX)
    except ConnectionResetError:  # it has ended, with a word of ours unread; its own last one is there
        message = process.control.recv(_MESSAGE_MAX)
    if not message:
        _, status = os.waitpid(process.pid, 0)
        how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"status {os.WEXITSTATUS(status)}"
        raise NodeFailed(f"{process.node} exited unexpectedly, with {how}")
    word, value = json.loads(message)
    if word in ("failed", "late"):
        raise (NotReady if word == "late" else NodeFailed)(f"{process.node} failed: {value}")
    return word, value


def expect(process: Process, wanted: str) -> Any:
    """Wait for a word."""
    word, value = receive(process)
    if word != wanted:
        raise NodeFailed(f"{process.node} said {word!r} instead of {wanted!r}")
    return value


def tell(process: Process, word: str, value: Any = None) -> None:
    """Send a command; a stopped process reads it when it is continued."""
    process.control.send(json.dumps([word, value]).encode())


def kill(process: Process) -> None:
    """SIGKILL: the process gets no chance to do anything."""
    os.kill(process.pid, signal.SIGKILL)
    os.waitpid(process.pid, 0)
    process.control.close()


def pause(process: Process) -> None:
    """SIGSTOP: alive, and silent; what it keeps first."""
    if process.keeps:
        tell(process, "freeze")
        expect(process, "frozen")
    os.kill(process.pid, signal.SIGSTOP)
    process.paused = True


def resume(process: Process) -> None:
    """SIGCONT."""
    os.kill(process.pid, signal.SIGCONT)
    if process.keeps:
        tell(process, "thaw")
    process.paused = False


def catch_up(running: Iterable[Process]) -> None:
    """Return when each has done what was due when it was asked."""
    asked = list(running)
    for process in asked:
        tell(process, "ask")
    for process in asked:
        expect(process, "here")


def stop(process: Process, word: Literal["stop", "leave"] = "stop") -> dict[str, int]:
    """Ask a node to end, with a farewell to the others if it leaves; its counters."""
    tell(process, word)
    counters: dict[str, int] = expect(process, "ended")
    os.waitpid(process.pid, 0)
    process.control.close()
    return counters


class Helper:
    """A process that is no node. Of what it does, some `parts` may have to wait until they are released."""

    def __init__(self, what: str, work: Callable[[int, int], None], parts: Sequence[object]) -> None:
        """`work` writes "r" to the first descriptor it is given when it is ready; what the other says is `told`."""
        self.what = what
        self._parts = parts
        ready, theirs = os.pipe()
        told, self._tell = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                work(theirs, told)
            except BaseException:
                traceback.print_exc()
                sys.stderr.flush()
            finally:
                os._exit(1)
        os.close(theirs)
        os.close(told)
        if os.read(ready, 1) != b"r":
            raise RuntimeError(f"{what} did not start")
        os.close(ready)

    def release(self, part: object) -> None:
        """Let it do this part now, if it has it."""
        for number, one in enumerate(self._parts):
            if one is part:
                self._say(number)

    def revise(self, parts: Sequence[object], work: object) -> None:
        """It has other parts now, and is told what they are."""
        self._parts = parts
        self._say(work)

    def _say(self, what: object) -> None:
        data = pickle.dumps(what)
        with os.fdopen(os.dup(self._tell), "wb") as pipe:
            pipe.write(_LENGTH.pack(len(data)) + data)

    def end(self) -> bool:
        """Kill it; was it still at work?"""
        os.kill(self._pid, signal.SIGKILL)
        _, status = os.waitpid(self._pid, 0)
        return os.WIFSIGNALED(status)


def told(descriptor: int) -> Any:
    """In a helper: the number of the part that is released, or what it is to do from now on."""
    with os.fdopen(os.dup(descriptor), "rb", buffering=0) as pipe:
        (size,) = _LENGTH.unpack(pipe.read(_LENGTH.size))
        data = b""
        while len(data) < size:
            data += pipe.read(size - len(data))
    return pickle.loads(data)  # noqa: S301  (the agent's own)


def wait(processes: Iterable[Process], timeout_ns: int, others: Sequence[int] = ()) -> list[int]:
    """Sleep; which of some other descriptors can be read. A node that ends by itself meanwhile is an error at once."""
    by_descriptor = {process.control.fileno(): process for process in processes}
    found = readable([*by_descriptor, *others], timeout_ns)
    for descriptor in found:
        if descriptor in by_descriptor:
            word, _ = receive(by_descriptor[descriptor])
            raise NodeFailed(f"{by_descriptor[descriptor].node} said {word!r} unasked")
    return found
