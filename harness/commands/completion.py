"""`tutti completion bash|zsh`: a shell's completion, made from the command line's own description.

What a word may be follows from the argument: its choices, or its metavar: a scenario by name or file, a run directory,
a file. That table is the same for all shells; what stands around it is each shell's own.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from harness.status import PASS

HELP = "print a script that completes words in your shell"
EXAMPLES = '  eval "$(tutti completion bash)"   # also: zsh; in ~/.bashrc for always'

_BASH = (
    """\
_tutti() {
    local current="${COMP_WORDS[COMP_CWORD]}" choices= kind=
    case "$COMP_CWORD ${COMP_WORDS[1]} ${COMP_WORDS[COMP_CWORD-1]}" in
""",
    """\
    esac
    case "$current" in -*) kind= ;; esac
    COMPREPLY=($(compgen $kind -W "$choices" -- "$current"))
}
complete -o filenames -F _tutti tutti ./tutti
""",
)
_ZSH = (
    """\
_tutti() {
    local choices= kind=
    case "$((CURRENT - 1)) $words[2] $words[CURRENT-1]" in
""",
    """\
    esac
    compadd -- ${=choices}
    case "$kind" in -f) _files ;; -d) _files -/ ;; esac
}
(( $+functions[compdef] )) || { autoload -U compinit && compinit -i }
compdef _tutti tutti
""",
)
SHELLS = {"bash": _BASH, "zsh": _ZSH}
_FILES = {"SCENARIO": "-f", "SWEEP": "-f", "FILE": "-f", "ARG": "-f", "RUN": "-d", "DIR": "-d", "OLD": "-d"}


def arguments(parser: argparse.ArgumentParser) -> None:
    """SHELL."""
    parser.add_argument("shell", choices=tuple(SHELLS), help="for which shell")


def call(arguments: argparse.Namespace) -> int:
    """Print the script; `eval "$(tutti completion bash)"` uses it."""
    from harness.cli import parser

    print(script(parser(), *SHELLS[arguments.shell]), end="")
    return PASS


def script(top: argparse.ArgumentParser, head: str, tail: str) -> str:
    """The function, for a command line whose first word is a command."""
    commands = next(action for action in top._actions if isinstance(action, argparse._SubParsersAction)).choices
    lines = [_case(r"1\ *", sorted(commands) + _flags(top))]
    for name, command in commands.items():
        positional: list[str] = []
        files = ""
        for action in command._actions:
            words, kind = _values(action)
            if not action.option_strings:
                positional += words
                files = kind or files
            elif action.nargs != 0:
                pattern = "|".join(rf"*\ {name}\ {flag}" for flag in action.option_strings)
                lines.append(_case(pattern, words, kind))
        lines.append(_case(rf"*\ {name}\ *", _flags(command) + positional, files))
    return head + "".join(lines) + tail


def _case(pattern: str, words: list[str], kind: str = "") -> str:
    return f"""        {pattern}) choices="{" ".join(words)}" kind={kind} ;;\n"""


def _flags(parser: argparse.ArgumentParser) -> list[str]:
    return [flag for action in parser._actions for flag in action.option_strings if flag.startswith("--")]


def _values(action: argparse.Action) -> tuple[list[str], str]:
    """What may stand for an argument: words, and the option of compgen for files or directories."""
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    return [str(one) for one in action.choices or ()] or list(_named(metavar)), _FILES.get(metavar, "")


def _named(metavar: str) -> Iterator[str]:
    from harness.bench import BENCHES
    from harness.golden import known
    from harness.scenario.find import shipped

    if metavar == "SCENARIO":
        yield from shipped()
    elif metavar == "WHAT":
        yield from BENCHES
    elif metavar == "NAME":
        yield from known()
