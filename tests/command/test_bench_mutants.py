"""Mutants: what is changed in a source, and that a change is there in one process alone."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from itertools import count

import pytest

from harness.bench.mutants import PROTOCOLS, drawn, reaching
from harness.bench.mutants.golden import histories
from harness.bench.mutants.operators import mutants
from harness.bench.mutants.trial import Known, apart, limit_cpu
from harness.closure import ROOT

SOURCE = '''\
"""Ünits: 1."""
LIMIT: Literal[3] = 3
@dataclass(frozen=True)
class Log:
    def put(self, at: int, last: bool) -> int:
        assert at > 0, f"{at + 1}"
        if at <= LIMIT and not last:
            self.known = []
        else:
            self.note(min(at, 7))
        for one in [each for each in self.held if each is not None]:
            if last:
                continue
            at += one - 2
        if not last:
            return "Δ" + str(at)
        return at
'''
CHANGES = {
    "2:number": "LIMIT: Literal[3] = 4",
    "7:branch": "if (not (at <= LIMIT and (not last))):",
    "7:boolop": "if (at <= LIMIT or not last):",
    "7:compare": "if (at < LIMIT) and not last:",
    "8:reset": "pass",
    "10:drop": "pass",
    "10:minmax": "self.note(max(at, 7))",
    "10:number": "self.note(min(at, 8))",
    "11:negate": "for one in [each for each in self.held if (not (each is not None))]:",
    "12:negate": "if (not (last)):",
    "13:drop": "pass",
    "14:drop": "pass",
    "14:arith": "at -= one - 2",
    "14:arith.2": "at += (one + 2)",
    "14:number": "at += one - 3",
    "15:negate": "if (last):",
    "16:drop": "pass",
}


def test_what_is_changed() -> None:
    source = SOURCE.encode()
    found = {}
    for mutant in mutants("nodes/x/log.py", source):
        lines = mutant.applied(source).decode().splitlines()
        assert lines[: mutant.line - 1] == SOURCE.splitlines()[: mutant.line - 1]
        found[mutant.name.removeprefix("nodes/x/log.py:")] = lines[mutant.line - 1].strip()
    assert found == CHANGES


def test_every_mutant_has_a_name_compiles_and_differs() -> None:
    everything = drawn(PROTOCOLS, 1 << 30, 1, set())
    assert len(everything) > 3000 and max(Counter(one.name for one in everything).values()) == 1
    assert {one.protocol for one in everything} == set(PROTOCOLS)
    for mutant in drawn(PROTOCOLS, 200, 1, set()):
        source = (ROOT / mutant.path).read_bytes()
        compile(mutant.applied(source), mutant.path, "exec")
        assert mutant.diff(source)


def test_a_sample_follows_from_its_seed() -> None:
    one, again, other = (drawn(PROTOCOLS, 20, seed, set()) for seed in (1, 1, 2))
    assert one == again != other
    assert drawn(PROTOCOLS, 0, 1, {one[0].name}) == [one[0]]
    with pytest.raises(ValueError, match="no mutant"):
        drawn(PROTOCOLS, 0, 1, {"nodes/st/logs.py:1:compare"})
    with pytest.raises(ValueError, match="mutants are made of st"):
        drawn(["raw"], 20, 1, set())


def test_only_tests_that_reach_the_line_are_tried_the_fastest_first() -> None:
    inside, outside = mutants("p", b"def f(a):\n    return a + 1\n")[0], mutants("p", b"A = 1\n")[0]
    tests = [Known("slow", 2.0, {"p": [2]}), Known("fast", 1.0, {"p": [2]}), Known("other", 0.1, {"q": [2]})]
    assert [test.name for test in reaching(inside, tests)] == ["fast", "slow"]
    assert [test.name for test in reaching(outside, tests)] == ["other", "fast", "slow"]  # an import carries it out


def endless() -> None:
    limit_cpu(0)
    for _ in count():
        pass


def test_who_takes_too_long_is_ended() -> None:
    assert apart(endless) is None
    assert apart(len, "abc") == 3


def bench(words: Iterable[str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "harness", "bench", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_a_mutant_is_killed_or_survives_and_no_file_is_changed() -> None:
    of_rule, of_figure = ROOT / "nodes/delta/schemes.py", ROOT / "nodes/delta/evaluation.py"
    sources = of_rule.read_bytes(), of_figure.read_bytes()
    seen = next(one for one in mutants("nodes/delta/schemes.py", sources[0]) if one.operator == "negate")
    unseen = next(one for one in mutants("nodes/delta/evaluation.py", sources[1]) if one.in_function)
    only = ["--only", seen.name, "--only", unseen.name, "--tests", "tests/machines/test_delta_vectors.py"]
    done = bench(["mutants", *only])
    assert done.returncode == 0, done.stderr
    assert f"killed {seen.name}, by tests/machines/test_delta_vectors.py::" in done.stdout, done.stderr
    assert f"SURVIVED {unseen.name}, 0 tests reach it" in done.stdout
    assert "delta, 2 mutants, 1 killed, 0 timed out, 1 survived: 50% seen" in done.stdout
    assert (of_rule.read_bytes(), of_figure.read_bytes()) == sources


def test_golden_histories_are_those_of_the_rules_that_are_searched() -> None:
    found = [one.name.partition("[")[2].removesuffix("]") for name in PROTOCOLS for one in histories(name)]
    of_st, of_to = ["repaired", "range", "go-back"], ["repaired", "live", "range", "live-range"]
    of_delta, of_cmd = ["repaired", "unbounded", "hold"], ["repaired", "unpruned"]
    rules = {"st": of_st, "to": of_to, "delta": of_delta, "him": ["tree"], "cmd": of_cmd}
    assert found == [f"{name}-{one}" for name, listed in rules.items() for one in listed]


def test_what_changes_a_golden_history_is_looked_for_and_nothing_else() -> None:
    unseen = "nodes/delta/schemes.py", "nodes/delta/evaluation.py"  # the wire's tests reach neither
    found = [mutants(path, (ROOT / path).read_bytes()) for path in unseen]
    changing = next(one for one in found[0] if one.operator == "negate").name
    same = next(one for one in found[1] if one.in_function).name
    words = ["--only", changing, "--only", same, "--tests", "tests/machines/test_delta_wire.py", "--explore", "60"]
    done = bench(["mutants", *words])
    assert f"FOUND {changing}, by " in done.stdout and f"SAME {same}: " in done.stdout, done.stdout + done.stderr
    assert "delta, 2 mutants, 0 killed, 0 timed out, 1 the same, 1 found by the search, 0 survived" in done.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["st", "--sample", "3"], "st takes no --sample"),
        (["--seed", "3"], "say which benchmark --seed is meant for"),
        (["mutants", "--protocol", "raw"], "mutants are made of st, to, delta, him, cmd"),
        (["mutants", "--only", "nodes/st/logs.py:1:compare"], "there is no mutant nodes/st/logs.py:1:compare"),
    ],
)
def test_what_cannot_be_is_refused(words: list[str], told: str) -> None:
    done = bench(words)
    assert done.returncode == 64 and told in done.stderr
