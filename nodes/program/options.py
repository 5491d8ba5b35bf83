"""What a scenario says about programs of this machine."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from nodes.lines import log
from nodes.machine import Machine, Setting

Texts = Annotated[tuple[tuple[str, str], ...], "texts"]  # a table of texts, by their keys

_ADAPTER = "adapter"
_NAME = re.compile(r"[A-Za-z0-9._+-]+")
_USER = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
_WORD = re.compile(r"[A-Za-z_]\w*")
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]+")
TEMPLATE = ".in"  # of files in which words in braces are replaced
WORDS = ("me", "node", "address", "members", "addresses")  # in braces, of every node


@dataclass(frozen=True, slots=True, kw_only=True)
class Daemon:
    """[program] and [[program.also]]: one program of a node."""

    command: tuple[str, ...]
    name: str = ""  # of its log; that of its file
    user: str = "root"  # who it runs as
    environment: Texts = ()
    # It is ready when it has written a line in which this regular expression is found, when somebody listens at this
    # TCP port of the node, when there is this file; at once without any of them.
    ready: str = ""
    ready_port: int | None = None
    ready_file: str = ""
    notes: tuple[
        tuple[str, ...], ...
    ] = ()  # a regular expression, and the NOTE that a line of output is in which it is
    may_end: bool = False  # a run goes on without it

    def __post_init__(self) -> None:
        _check_command(self.command)
        if not _NAME.fullmatch(self.called):
            raise ValueError(f"name is letters, digits and . _ + -, not {self.called!r}")
        if not _USER.fullmatch(self.user):
            raise ValueError(f"user is the name of a user, not {self.user!r}")
        if sum(one not in ("", None) for one in (self.ready, self.ready_port, self.ready_file)) > 1:
            raise ValueError("ready is a line, a port or a file: one of them")
        if self.ready_port is not None and not 0 < self.ready_port < 65536:
            raise ValueError("ready_port is 1 to 65535")
        _check_environment(self.environment)
        _expression(self.ready, "ready")
        for note in self.notes:
            if len(note) != 2:
                raise ValueError("notes are pairs: a regular expression, and the NOTE for it")
            expression = _expression(note[0], "notes")
            try:
                log(re.sub(r"\\\d|\\g<\w+>", "1", note[1]))
                expression.sub(note[1], "")
            except (ValueError, IndexError, re.error) as error:
                raise ValueError(f"notes has {note[1]!r}: {error}") from None

    @property
    def called(self) -> str:
        """Its name."""
        return self.name or self.command[0].rpartition("/")[2]


def _expression(text: str, key: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise ValueError(f"{key} has {text!r}, which is no regular expression: {error}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """[program.adapter]: a client of the program that is told what to submit, and says what happens, in lines."""

    command: tuple[str, ...]
    user: str = "root"
    environment: Texts = ()

    def daemon(self) -> Daemon:
        """As a program like the others."""
        return Daemon(command=self.command, name=_ADAPTER, user=self.user, environment=self.environment)


@dataclass(frozen=True, slots=True, kw_only=True)
class OfNodes:
    """[[program.node]]: what is otherwise at some nodes. Files and environment are added, or take a place."""

    node: Annotated[tuple[str, ...], "names"]
    command: tuple[str, ...] | None = None
    environment: Texts = ()
    files: Texts = ()

    def __post_init__(self) -> None:
        if self.command is not None:
            _check_command(self.command)
        _check_environment(self.environment)
        _check_files(self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramOptions:
    """[program]. `used` is written by tutti, so that a run says what it ran."""

    template: ClassVar[str] = TEMPLATE
    main: Annotated[Daemon, "flatten"]
    files: Texts = ()  # where it is at the node: where it lies, seen from the scenario
    words: Texts = ()  # what further words in braces stand for
    directories: tuple[str, ...] = ()  # that there must be
    needs: tuple[str, ...] = ()  # files of this machine that the programs are nothing without
    packages: tuple[str, ...] = ()  # of Debian, without which these and the programs are not there
    build: tuple[tuple[str, ...], ...] = ()  # commands, before the run, where the files without a directory are
    ready_within_ns: Annotated[int, "duration"] = 10_000_000_000
    adapter: Adapter | None = None
    speaks: bool = False  # the program is its own adapter
    also: tuple[Daemon, ...] = ()
    node: tuple[OfNodes, ...] = ()
    used: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = [one.called for one in self.daemons()]
        if len(set(names)) < len(names):
            raise ValueError(f"two programs of a node have one name ({', '.join(names)}): give each a name")
        for key in ("directories", "needs"):
            if not all(one.startswith("/") for one in getattr(self, key)):
                raise ValueError(f"{key} are whole paths")
        for word, _ in self.words:
            if word in WORDS or not _WORD.fullmatch(word):
                raise ValueError(f"words has {word!r}: a word that is not {', '.join(WORDS)}")
        if unknown := [one for one in self.packages if not _PACKAGE.fullmatch(one)]:
            raise ValueError(f"packages has {unknown[0]!r}, which is no name of a package of Debian")
        if not all(self.build) or not all(word for words in self.build for word in words[:1]):
            raise ValueError("build is a list of commands, each a list: the program and its arguments")
        if self.adapter and self.speaks:
            raise ValueError("a program that speaks itself needs no adapter")
        if self.ready_within_ns < 1:
            raise ValueError("ready_within is more than nothing")
        _check_files(self.files)

    @property
    def talks(self) -> str:
        """The name of the program that is told what to submit; empty if there is none."""
        return _ADAPTER if self.adapter else self.main.called if self.speaks else ""

    @property
    def braced(self) -> tuple[str, ...]:
        """The words that stand for something in braces."""
        return (*WORDS, *dict(self.words))

    def daemons(self) -> tuple[Daemon, ...]:
        """In the order in which they are started, each when the one before it is ready."""
        adapter = () if self.adapter is None else (self.adapter.daemon(),)
        return (self.main, *self.also, *adapter)


def _check_command(command: Sequence[str]) -> None:
    if not command or not command[0] or "\0" in "".join(command):
        raise ValueError("command is a list: the program and its arguments")


def _check_environment(variables: Sequence[tuple[str, str]]) -> None:
    for name, value in variables:
        if not name or "=" in name or "\0" in name + value:
            raise ValueError(f"environment has {name!r}, which is no variable")
        if name.startswith("TUTTI_"):
            raise ValueError(f"environment has {name}: what begins with TUTTI_ is told by tutti")


def _check_files(files: Sequence[tuple[str, str]]) -> None:
    for target, source in files:
        parts = target.removeprefix("/").split("/")
        if not target or not source or "" in parts or ".." in parts or "." in parts:
            raise ValueError(f"files has {target!r}: a whole path, or a path below the program's own directory")


def misfit(options: ProgramOptions, nodes: int, rate_bps: int) -> str:
    """Why the options do not fit so many nodes."""
    known = {f"n{number}" for number in range(1, nodes + 1)}
    strangers = sorted({name for one in options.node for name in one.node} - known)
    return f"node names {strangers[0]!r}: this scenario has n1 to n{nodes}" if strangers else ""


def deaf(options: ProgramOptions) -> str:
    """Why nothing can be submitted."""
    return "" if options.talks else "messages need a [program.adapter], which hands them to the program"


def no_machine(setting: Setting, options: ProgramOptions) -> Machine:
    """What programs have in place of one."""
    raise ValueError("programs run in a private kernel only: there is no machine to step")
