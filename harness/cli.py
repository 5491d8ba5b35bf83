"""The command line: which commands there are, what they take, and how each ends.

    0 pass   1 a property is violated   2 unknown: the evidence is incomplete, or the run was not carried out
    64 bad usage or scenario            69 the machine lacks something

Data goes to stdout, progress and complaints to stderr. What a command does is imported when it is chosen, so that
`--help` costs nothing.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

PASS, VIOLATED, UNKNOWN, USAGE, LACKS = 0, 1, 2, 64, 69
INTERRUPTED = 130  # 128 + SIGINT, as shells say it

EPILOG = """exit status:
  0 pass   1 a property is violated   2 unknown (evidence incomplete, or the run could not be carried out)
  64 bad usage or scenario            69 the machine lacks something

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


Add = Callable[[argparse.ArgumentParser], None]


@dataclass(frozen=True, slots=True)
class Command:
    """One command. `call` is module:function; the function takes the arguments and returns the exit status."""

    name: str
    help: str
    call: str
    arguments: Add
    examples: str = ""


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def _scenario_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=int, metavar="N", help="another seed than the scenario's")
    parser.add_argument("--engine", choices=("virtual", "live"), help="another engine than the scenario's")
    parser.add_argument(
        "--set",
        dest="settings",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change a value of the scenario, e.g. topology.nodes=7 or impair.0.loss=5%% (repeatable)",
    )


def _positive(text: str) -> float:
    value = float(text)
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return value


def _run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scenario", metavar="SCENARIO", help="a file, or the name of one that comes with tutti")
    _scenario_options(parser)
    parser.add_argument("--out", metavar="DIR", help="the run directory (default: a new one in runs/)")
    parser.add_argument("--memory", type=int, default=2048, metavar="MB", help="of the guest (default: 2048)")
    parser.add_argument(
        "--stall",
        type=_positive,
        default=120.0,
        metavar="SECONDS",
        help="give up when the guest's clock stands still for so long of your time (default: 120)",
    )
    _json(parser)


def _check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="a run directory")
    _json(parser)


def _show(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="a run directory")
    parser.add_argument("--text", action="store_true", help="print it on the terminal")
    _json(parser)


def _diff(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", nargs=2, metavar="RUN", help="two run directories")
    parser.add_argument("--html", metavar="FILE", help="write both, aligned, as a page")
    _json(parser)


def _sweep(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sweep", metavar="SWEEP", help="a sweep file")
    parser.add_argument("--master", metavar="URL", help="a Spark cluster (default: this machine, one guest per core)")
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="where the tables and figures go, a directory or hdfs://... (default: build/sweeps/NAME)",
    )
    parser.add_argument("--quick", action="store_true", help="the small variant that the file describes in [quick]")
    parser.add_argument(
        "--set",
        dest="settings",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change a value of the sweep file, e.g. seeds=3 or set.workload.rounds=10 (repeatable)",
    )
    parser.add_argument("--jobs", type=int, metavar="N", help="guests at a time (default: one per core)")
    parser.add_argument("--compare", metavar="OLD", help="tell what moved against an earlier sweep")
    _json(parser)


def _list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        nargs="?",
        default="scenarios",
        choices=("scenarios", "protocols", "topologies", "faults", "properties", "metrics", "pdus", "keys"),
        help="of which the list is (default: scenarios)",
    )
    parser.add_argument("--lua", metavar="FILE", help="write a dissector of all PDUs for Wireshark and tshark")
    _json(parser)


def _validate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scenario", nargs="+", metavar="SCENARIO", help="files, or names of those that come with tutti")
    _scenario_options(parser)
    parser.add_argument("--resolved", action="store_true", help="print the scenario with all its defaults")
    _json(parser)


def _bench(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", nargs="*", metavar="WHAT", help="which benchmarks (default: all)")
    _json(parser)


def _test(parser: argparse.ArgumentParser) -> None:
    parser.usage = "tutti test [-h] [ARG ...]"  # whatever pytest takes; see main()


def _python(parser: argparse.ArgumentParser) -> None:
    parser.usage = "tutti python [-h] [ARG ...]"  # whatever Python takes; see main()


def _golden(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="*", metavar="NAME", help="which (default: all); a scenario's adds one")
    parser.add_argument("--renew", action="store_true", help="put the new captures in the place of the old")


def _completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh"), help="for which shell")


def _clean(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", default="runs", metavar="DIR", help="where the runs are (default: runs)")
    parser.add_argument("-n", "--dry-run", action="store_true", help="only say what would be removed")
    _json(parser)


COMMANDS = (
    Command(
        "run",
        "run a scenario and judge it",
        "harness.runner:run_command",
        _run,
        "  tutti run raw/quiet\n  tutti run my.toml --seed 3 --out here --set topology.nodes=7",
    ),
    Command(
        "check",
        "judge a run again, from its captures alone",
        "harness.check:check_command",
        _check,
        "  tutti check runs/raw-quiet-s1",
    ),
    Command(
        "show",
        "open or print the report of a run",
        "harness.report:show_command",
        _show,
        "  tutti show runs/raw-quiet-s1\n  tutti show --text runs/raw-quiet-s1",
    ),
    Command(
        "diff",
        "the first frame at which two runs part",
        "harness.diff:diff_command",
        _diff,
        "  tutti diff runs/raw-quiet-s1 runs/raw-quiet-s1-2",
    ),
    Command(
        "sweep",
        "scenario x parameters x seeds on Spark",
        "harness.sweep:sweep_command",
        _sweep,
        "  tutti sweep loss.toml\n  tutti sweep loss.toml --master spark://host:7077",
    ),
    Command(
        "list",
        "what there is: scenarios, protocols, faults, ...",
        "harness.commands.list:list_command",
        _list,
        "  tutti list\n  tutti list faults\n  tutti list pdus --json",
    ),
    Command(
        "validate",
        "check scenarios without running them",
        "harness.commands.validate:validate_command",
        _validate,
        "  tutti validate my.toml\n  tutti validate my.toml --set topology.nodes=9 --resolved",
    ),
    Command(
        "doctor",
        "what works on this machine, and what mends the rest",
        "harness.doctor:doctor_command",
        _json,
        "  tutti doctor",
    ),
    Command(
        "bench",
        "measure the testbed and the protocols",
        "harness.bench:bench_command",
        _bench,
        "  tutti bench\n  tutti bench st",
    ),
    Command(
        "test",
        "run tutti's own tests",
        "harness.commands.test:test_command",
        _test,
        "  tutti test\n  tutti test -k scenario",
    ),
    Command(
        "golden",
        "repeat the golden captures and compare",
        "harness.commands.golden:golden_command",
        _golden,
        "  tutti golden\n  tutti golden --renew raw-chosen",
    ),
    Command(
        "clean",
        "remove runs and caches that are no longer used",
        "harness.commands.clean:clean_command",
        _clean,
        "  tutti clean --dry-run",
    ),
    Command(
        "python",
        "Python with Scapy, Spark and tutti's own packages",
        "harness.commands.python:python_command",
        _python,
        "  tutti python\n  tutti python my-analysis.py runs/st-loss-s1",
    ),
    Command(
        "completion",
        "print a script that completes words in your shell",
        "harness.commands.completion:completion_command",
        _completion,
        '  eval "$(tutti completion bash)"   # also: zsh; in ~/.bashrc for always',
    ),
)


PASS_ON = ("test", "python")  # commands that hand their arguments to another program


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = Parser(
        prog="tutti",
        description="A testbed for group-communication protocols on real networks in virtual time.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        sub = commands.add_parser(
            command.name,
            help=command.help,
            description=command.help[0].upper() + command.help[1:] + ".",
            epilog=f"examples:\n{command.examples}" if command.examples else None,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.arguments(sub)
        sub.set_defaults(command=command)
    return top


def main(words: Sequence[str] | None = None) -> int:
    """Carry out a command line; the exit status."""
    top = parser()
    arguments, rest = top.parse_known_args(words)
    command: Command = arguments.command
    if command.name in PASS_ON:
        arguments.arguments = rest  # argparse cannot be told to pass on what looks like an option
    elif rest:
        top.error(f"{command.name} does not take {' '.join(rest)}")
    try:
        status = _call(command, arguments)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # the reader of our output has gone, e.g. `tutti list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PASS
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED


def _call(command: Command, arguments: argparse.Namespace) -> int:
    from harness.engines.outcome import EngineError, MachineLacks
    from harness.rundir import RunDirError
    from harness.scenario.problems import ScenarioError

    module, _, function = command.call.partition(":")
    try:
        call: Callable[[argparse.Namespace], int] = getattr(importlib.import_module(module), function)
        return call(arguments)
    except (ScenarioError, RunDirError) as error:
        complain(str(error))
        return USAGE
    except EngineError as error:
        complain(str(error))
        return UNKNOWN
    except BrokenPipeError:
        raise
    except (MachineLacks, OSError) as error:
        complain(str(error))
        return LACKS


def complain(text: str) -> None:
    """To stderr, once."""
    sys.stderr.write(text.rstrip("\n") + "\n")
