"""What programs of this machine need to be the nodes of a run: files and builds taken along, programs found and hashed.

In a run directory `program/all` has what every node gets and `program/nK` what node K gets beside it: `root` what has a
place in its file system, `here` what lies where its programs are started.
"""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
import os
import pwd
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.engines.outcome import EngineError, MachineLacks
from harness.scenario.problems import Problem
from harness.scenario.schema import Problems
from nodes.facet import ProtocolSpec

PLACE = "program"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_BRACED = re.compile(r"\{(\w+)\}")
_FilePairs = tuple[tuple[str, str], ...]


def find(spec: ProtocolSpec, options: Any, scenario: Path, problems: Problems) -> Any:
    """The options with the whole paths of the files that they name, and what the run will use; problems for those that
    are not there. A program that this machine lacks is none: another may have it."""
    found = _placed(options, lambda name: str((scenario.parent / name).resolve()))
    used = [f"processor {_processor()}"]  # programs take other ways on other ones
    for target, source in _all_files(found):
        if not os.path.isfile(source):  # noqa: PTH113
            reason = f"there is no file {source}: a path is meant from where the scenario lies"
            problems.append(Problem((spec.name, "files"), reason))
        else:
            used.append(f"{target} {_hash(Path(source))}")
    problems += _misspelt(spec, found)
    for path in _found(options).values():
        if path is not None:
            used.append(f"{path} {_hash(Path(path))}{_package(path)}")
    used += [f"user {name} {ids}" for name, ids in _users(options).items() if ids is not None]
    return dataclasses.replace(found, used=tuple(sorted(used)))


def take_along(options: Any, run_dir: Path) -> Any:
    """Copy and build all that the programs need into a run directory; the options as they are meant there."""
    missing = [name for name, path in _found(options).items() if path is None]
    missing += [f"user {name}" for name, ids in _users(options).items() if ids is None]
    if missing:
        mend = f"; as root, run:\n    apt-get install -y {' '.join(options.packages)}" if options.packages else ""
        raise MachineLacks(f"this machine has no {' and no '.join(missing)}{mend}", options.packages)
    place = run_dir / PLACE
    here = place / "all" / "here"
    here.mkdir(parents=True)
    common = _copied(options.files, options.template, place / "all", run_dir)
    nodes = []
    for one in options.node:
        files: _FilePairs = ()
        for node in one.node:
            files = _copied(one.files, options.template, place / node, run_dir)
        nodes.append(dataclasses.replace(one, files=files))
    for command in options.build:
        done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False)
        if done.returncode:
            raise EngineError(f"{' '.join(command)} ended with status {done.returncode}:\n{done.stdout}{done.stderr}")
    for daemon in options.daemons():
        program = daemon.command[0]
        if program.startswith("./") and not os.access(here / program, os.X_OK):
            raise EngineError(f"there is no executable {program} among the files of [program], built or brought")
    return dataclasses.replace(options, files=common, node=tuple(nodes))


def without_places(options: Any) -> Any:
    """The options as they are wherever the files lie: what they are is in `used`."""
    return _placed(options, lambda name: f"*{options.template}" if name.endswith(options.template) else "*")


def _placed(options: Any, place: Any) -> Any:
    def placed(files: _FilePairs) -> _FilePairs:
        return tuple((target, place(source)) for target, source in files)

    nodes = tuple(dataclasses.replace(one, files=placed(one.files)) for one in options.node)
    return dataclasses.replace(options, files=placed(options.files), node=nodes)


def _misspelt(spec: ProtocolSpec, options: Any) -> Iterator[Problem]:
    """Words in braces that stand for nothing, and are nearly one that stands for something."""
    texts = [("command", word) for one in (*options.daemons(), *options.node) for word in one.command or ()]
    texts += [("environment", value) for one in (*options.daemons(), *options.node) for _, value in one.environment]
    for _, source in _all_files(options):
        if source.endswith(options.template) and os.path.isfile(source):  # noqa: PTH113
            texts.append(("files", Path(source).read_text(errors="replace")))
    for key, text in texts:
        for word in set(_BRACED.findall(text)) - set(options.braced):
            for near in difflib.get_close_matches(word, options.braced, n=1, cutoff=0.8):
                yield Problem((spec.name, key), f"{{{word}}} stands for nothing; did you mean {{{near}}}?")


def _all_files(options: Any) -> Iterator[tuple[str, str]]:
    yield from options.files
    for one in options.node:
        for target, source in one.files:
            yield f"{','.join(one.node)}:{target}", source


def _found(options: Any) -> dict[str, str | None]:
    """Programs and files of this machine, and where they are, if they are there."""
    commands = [
        *(one.command for one in options.daemons()),
        *(one.command for one in options.node if one.command is not None),
        *options.build,
    ]
    programs = sorted({command[0] for command in commands if not command[0].startswith("./")})
    needs = {name: name if os.path.isfile(name) else None for name in options.needs}  # noqa: PTH113
    return {name: shutil.which(name, path=_PATH) for name in programs} | needs


def _users(options: Any) -> dict[str, str | None]:
    """Who the programs run as, beside root, and his numbers, if this machine knows him."""
    found: dict[str, str | None] = {}
    for name in sorted({daemon.user for daemon in options.daemons()} - {"root"}):
        try:
            found[name] = f"{pwd.getpwnam(name).pw_uid}:{pwd.getpwnam(name).pw_gid}"
        except KeyError:
            found[name] = None
    return found


def _copied(files: _FilePairs, template: str, place: Path, run_dir: Path) -> _FilePairs:
    copies = []
    for target, source in files:
        suffix = template if source.endswith(template) else ""
        copy = place / ("root" if target.startswith("/") else "here") / (target.removeprefix("/") + suffix)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copy)
        copies.append((target, str(copy.relative_to(run_dir))))
    return tuple(copies)


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _processor() -> str:
    """Its type, as the kernel calls it."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def _package(path: str) -> str:
    """` corosync 3.1.7`, if Debian brought it."""
    for name in dict.fromkeys((path, path.removeprefix("/usr"), os.path.realpath(path))):
        found = subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True, check=False)
        if found.returncode == 0:
            package = found.stdout.partition(":")[0]
            form = "${Package} ${Version}"
            said = subprocess.run(
                ["dpkg-query", "-W", "-f", form, package], capture_output=True, text=True, check=False
            )
            return f" {said.stdout}"
    return ""
