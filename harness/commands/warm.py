"""`tutti warm`: keeps a booted guest between commands, so that runs from the shell begin at once."""

from __future__ import annotations

import argparse
import os

from harness.commands.options import memory_option
from harness.status import PASS

HELP = "keep a booted guest between commands, for a while"
EXAMPLES = "  tutti warm --idle 30\n  tutti warm --stop"


def arguments(parser: argparse.ArgumentParser) -> None:
    """How long."""
    meaning = "end it when no run has begun for so long (default: 10)"
    parser.add_argument("--idle", type=float, default=10.0, metavar="MINUTES", help=meaning)
    memory_option(parser)
    parser.add_argument("--stop", action="store_true", help="end it now")


def call(arguments: argparse.Namespace) -> int:
    """There is one keeper for each user; a second call finds it."""
    from harness.engines import warm
    from harness.engines.kernel import private_kernel
    from harness.engines.outcome import EngineOptions, MachineLacks

    if arguments.stop:
        print("ended" if warm.stop() else "nothing is kept warm")
        return PASS
    kernel = private_kernel()
    if not kernel.forks:
        raise MachineLacks("this private kernel cannot be forked: each run boots a guest of its own")
    warm.start(arguments.idle * 60)
    lent = warm.borrow(kernel, EngineOptions(memory_mb=arguments.memory))
    if not lent:
        raise MachineLacks("a guest of another copy of tutti is kept warm: `tutti warm --stop` ends it")
    for template in lent:
        template.close()
    command = os.environ.get("TUTTI_COMMAND", "tutti")
    print(f"warm; it ends {arguments.idle:g} minutes after the last command, or with `{command} warm --stop`")
    return PASS
