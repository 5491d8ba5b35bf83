"""`python -m harness.engines.warm SECONDS`: keeps a template between commands, one for each user, until nobody has
asked for it for so long, and beside it a deep one of the shape that was asked for last.

Who asks is lent the template, and forks it like one of its own. The keeper's socket has a name and no file, so that
nothing is left of it however it ends; since anybody could take that name, both sides look who the other is. What the
template must be made of is told with each request; when that has changed, another one is made. Runs have the keeper's
priority and limits, not those of the command.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator

from harness.closure import ROOT
from harness.engines.kernel import PrivateKernel, private_kernel, site_packages
from harness.engines.outcome import EngineError, EngineOptions
from harness.engines.template import Template, new_template
from harness.shape import Shape
from harness.typed import as_json, from_json

_PACKAGES = ("captures", "harness", "nodes", "topologies")
_REQUEST_MAX = 65_536
_STOP = b"stop"
_PATIENCE_S = 5.0


def borrow(kernel: PrivateKernel, options: EngineOptions, shape: Shape | None = None) -> list[Template]:
    """A template that is kept warm for this kernel, this code and these options, if any is, and maybe a deep one. After
    a run of some shape, there will be one for the next."""
    with _keeper() as keeper, contextlib.suppress(OSError):  # it may end at this moment
        if keeper is not None:
            keeper.send(json.dumps([_makings(kernel, options), shape and as_json(shape)]).encode())
            return Template.lent(keeper)
    return []


def start(idle_s: float) -> None:
    """Have a keeper, if there is none."""
    with _keeper() as keeper:
        if keeper is not None:
            return
    ready, theirs = os.pipe()
    words = [sys.executable, "-P", "-m", "harness.engines.warm", str(idle_s), str(theirs)]
    subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        pass_fds=(theirs,),
        start_new_session=True,
    )
    os.close(theirs)
    begun = os.read(ready, 1)
    os.close(ready)
    if not begun:
        raise EngineError("no template can be kept warm here")


def stop() -> bool:
    """End the keeper and its template; was there one?"""
    with _keeper() as keeper:
        if keeper is None:
            return False
        keeper.send(_STOP)
        keeper.recv(1)  # until it has hung up
        return True


def _makings(kernel: PrivateKernel, options: EngineOptions) -> dict[str, str | int]:
    """All that a template is made of."""
    code = hashlib.sha256()
    for package in _PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            found = path.stat()
            code.update(f"{path} {found.st_mtime_ns} {found.st_size}\n".encode())
    return {
        "place": _place(),
        "code": code.hexdigest(),
        "kernel": str(kernel.image.parent),
        "memory_mb": options.memory_mb,
    }


def _place() -> str:
    """What a keeper cannot change: whose templates it makes."""
    return f"{ROOT} {site_packages()}"


def _name() -> str:
    return f"\0tutti-warm-{os.geteuid()}"


def _is_me(other: socket.socket) -> bool:
    """Is the other end a process of the same user?"""
    credentials = struct.Struct("3i")
    _, user, _ = credentials.unpack(other.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, credentials.size))
    return bool(user == os.geteuid())


@contextlib.contextmanager
def _keeper() -> Iterator[socket.socket | None]:
    """A connection to this user's keeper."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.settimeout(_PATIENCE_S)
        try:
            connection.connect(_name())
        except OSError:
            yield None
        else:
            yield connection if _is_me(connection) else None


class _Keeper:
    """The template, what it was made of, and the deep one."""

    def __init__(self) -> None:
        self._template: Template | None = None
        self._made_of: dict[str, str | int] = {}
        self._deep: Template | None = None
        self._shape: Shape | None = None

    def answer(self, client: socket.socket) -> bool:
        """Lend it to who asks for one of this code; False if asked to end."""
        request = client.recv(_REQUEST_MAX) if _is_me(client) else b""
        if not request or request == _STOP:
            return not request
        made_of, asked = json.loads(request)
        if made_of["place"] == _place():
            if self._template is None or made_of != self._made_of or not self._template.is_alive:
                self.close()
                os.environ["TUTTI_KERNEL"] = made_of["kernel"]
                self._template = new_template(private_kernel(), EngineOptions(memory_mb=made_of["memory_mb"]))
                self._made_of = made_of
            self._lend(self._template, asked and from_json(Shape, asked), client)
        return True

    def _lend(self, template: Template, shape: Shape | None, client: socket.socket) -> None:
        deep = self._deep if shape == self._shape else None
        if deep is not None and deep.is_alive:
            deep.tidy()
            Template.lend(client, template, deep)
            return
        Template.lend(client, template)
        if shape is not None:
            self._forget()
            with contextlib.suppress(OSError):  # no room for it
                self._deep, self._shape = template.deepen(shape), shape

    def _forget(self) -> None:
        if self._deep is not None:
            self._deep.close()
        self._deep = self._shape = None

    def close(self) -> None:
        self._forget()
        if self._template is not None:
            self._template.close()


def _keep(idle_s: float, ready: int) -> None:
    """Until nobody has asked for so long, or somebody says so."""
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening,
        contextlib.closing(_Keeper()) as keeper,
        contextlib.suppress(TimeoutError),
    ):
        listening.bind(_name())
        listening.listen()
        listening.settimeout(idle_s)
        os.write(ready, b"r")
        os.close(ready)
        asked = True
        while asked:
            client, _ = listening.accept()
            with client, contextlib.suppress(OSError):  # it may be gone before it is answered
                client.settimeout(_PATIENCE_S)
                asked = keeper.answer(client)


if __name__ == "__main__":
    _keep(float(sys.argv[1]), int(sys.argv[2]))
