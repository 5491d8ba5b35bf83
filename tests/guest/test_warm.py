"""A template that is kept between commands serves only the code that it was made of, and leaves nothing."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.engines.kernel import private_kernel
from tests.helpers.guests import digest, for_everybody, soon, tutti

USER = "nobody" if os.geteuid() == 0 else None  # a keeper of whoever runs the tests is none of our business


@dataclass
class Place:
    """A copy of the code, and where its runs go."""

    directory: Path
    code: Path

    def tutti(self, *words: str) -> str:
        """What the command says when all is well."""
        done = tutti(*words, cwd=self.directory, code=self.code, user=USER)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def run(self, name: str) -> dict[str, str]:
        """What a run comes to."""
        self.tutti("run", "raw/quiet", "--out", str(self.directory / name))
        return digest(self.directory / name)

    def processes(self, word: str) -> list[int]:
        """Those that were started by our code, with a word on their command line."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                told = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            except OSError:
                continue
            if str(self.code).encode() in told and word.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        return found


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    if not private_kernel().forks:
        pytest.skip("this private kernel cannot be forked")
    code = for_everybody(tmp_path)
    tmp_path.chmod(0o777)
    made = Place(tmp_path, code)
    try:
        yield made
    finally:
        made.tutti("warm", "--stop")
        assert soon(lambda: not made.processes("")), made.processes("")


def test_warm_runs_have_the_bytes_of_others_and_one_template(place: Place) -> None:
    alone = place.run("alone")
    place.tutti("warm")
    (template,) = place.processes("TUTTI_CODE=")
    assert place.run("warm") == alone
    assert place.run("again") == alone
    assert template in place.processes("TUTTI_CODE=")


def test_the_next_run_of_a_shape_is_a_fork_of_a_deep_one(place: Place) -> None:
    alone = place.run("alone")
    place.tutti("warm")
    for name in ("first", "second", "third"):
        assert place.run(name) == alone
    template, deep = place.processes("TUTTI_CODE=")
    os.kill(max(template, deep), signal.SIGKILL)
    assert place.run("fourth") == alone
    place.tutti("run", "raw/quiet", "--set", "topology.nodes=2", "--out", str(place.directory / "smaller"))


def test_a_template_of_yesterdays_code_is_not_used(place: Place) -> None:
    place.tutti("warm")
    place.run("before")
    agent = place.code / "harness/agent/run.py"
    agent.write_text(agent.read_text() + 'def carry_out(*_):\n    raise RuntimeError("code of today")\n')
    words = ["run", "raw/quiet", "--out", str(place.directory / "after")]
    done = tutti(*words, cwd=place.directory, code=place.code, user=USER)
    assert done.returncode == 2 and "code of today" in done.stderr, done.stderr


def test_it_ends_when_nobody_comes(place: Place) -> None:
    place.tutti("warm", "--idle", "0.02")
    assert soon(lambda: not place.processes(""))


def test_nothing_is_left_when_the_keeper_is_killed(place: Place) -> None:
    place.tutti("warm")
    (keeper,) = place.processes("harness.engines.warm")
    os.kill(keeper, signal.SIGKILL)
    assert soon(lambda: not place.processes(""))
    place.run("alone")
