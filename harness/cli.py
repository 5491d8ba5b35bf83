"""The command line: collects the commands of harness/commands, and says how each ends.

Data goes to stdout, progress and complaints to stderr. A command imports what it does when it is called, so that
`--help` costs nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn, Protocol

from harness import VERSION
from harness.commands import (
    bench,
    branch,
    check,
    clean,
    completion,
    diff,
    doctor,
    explore,
    golden,
    pytest,
    python,
    run,
    show,
    sweep,
    test,
    validate,
    warm,
)
from harness.commands import list as list_
from harness.status import EXPLAINED, INTERRUPTED, LACKS, PASS, UNKNOWN, USAGE


class Command(Protocol):
    """What a module of harness/commands has."""

    @property
    def HELP(self) -> str:
        """What it does, in a line."""

    @property
    def EXAMPLES(self) -> str:
        """Of its use, a line each."""

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        """Describe what it takes."""

    def call(self, arguments: argparse.Namespace) -> int:
        """Do it; the exit status."""


# In the order in which `tutti --help` names them.
COMMANDS: dict[str, Command] = {
    "run": run,
    "branch": branch,
    "check": check,
    "show": show,
    "diff": diff,
    "sweep": sweep,
    "explore": explore,
    "list": list_,
    "validate": validate,
    "doctor": doctor,
    "bench": bench,
    "pytest": pytest,
    "test": test,
    "golden": golden,
    "clean": clean,
    "python": python,
    "warm": warm,
    "completion": completion,
}
PASS_ON = ("pytest", "test", "python")  # commands that hand their arguments to another program

EPILOG = f"""{EXPLAINED}
examples:
  tutti list                                     which scenarios come with tutti
  tutti run raw/quiet                            run one of them
  tutti run my.toml --seed 3 --set impair.0.loss=5%
  tutti show runs/raw-quiet-s1                       look at what happened, and why
"""


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints end with 64."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(USAGE, f"{self.prog}: {message}\n")


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = Parser(
        prog="tutti",
        description="A testbed for group-communication protocols on real networks in virtual time.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"tutti {VERSION}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True, dest="command")
    for name, command in COMMANDS.items():
        sub = commands.add_parser(
            name,
            help=command.HELP,
            description=command.HELP[0].upper() + command.HELP[1:] + ".",
            epilog=f"examples:\n{command.EXAMPLES}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.arguments(sub)
    return top


def main(words: Sequence[str] | None = None) -> int:
    """Carry out a command line; the exit status."""
    top = parser()
    arguments, rest = top.parse_known_args(words)
    if arguments.command in PASS_ON:
        arguments.passed_on = rest  # argparse cannot be told to pass on what looks like an option
    elif rest:
        top.error(f"{arguments.command} does not take {' '.join(rest)}")
    try:
        status = COMMANDS[arguments.command].call(arguments)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # the reader of our output has gone, e.g. `tutti list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PASS
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    except Exception as error:
        status = _status_of(error)
        complain(str(error))
        return status


def _status_of(error: Exception) -> int:
    """How a command ends that was given up with this error; raises it if it is a mistake of ours."""
    from harness.engines.outcome import EngineError, MachineLacks
    from harness.rundir import RunDirError
    from harness.scenario.problems import ScenarioError

    if isinstance(error, ScenarioError | RunDirError):
        return USAGE
    if isinstance(error, EngineError):
        return UNKNOWN
    if isinstance(error, MachineLacks | OSError):
        return LACKS
    raise error


def complain(text: str) -> None:
    """To stderr, once."""
    sys.stderr.write(text.rstrip("\n") + "\n")
