"""The state of a search in a directory: what every order brought, one line each, and what was made of each failure.

A line is written when its order is done, and nothing that was written is changed. So whatever ends the search, what it
has seen is there: the same command reads the lines and goes on. A last line that is not whole is an order that was not
done, and goes.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from harness.closure import hash_of
from harness.explore.found import Result
from harness.explore.hunt import Failure
from harness.explore.mutate import Parent
from harness.explore.novelty import Word
from harness.explore.order import News, remembered
from harness.scenario import dump, loads
from harness.scenario.model import Scenario
from harness.scenario.problems import Located, ScenarioError

FORMAT = 2
FILE = "search.jsonl"


class Journal:
    """One search's file, for as long as the search goes on."""

    def __init__(self, folder: Path, base: Scenario, seed: int, network: bool = False) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = (folder / FILE).open("a+b")
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # of this process: who is forked does not hold it
        except OSError:
            self.close()
            raise _refused(folder, "another search is writing here") from None
        what = {"format": FORMAT, "scenario": dump(base), "seed": seed, "network": network}
        code = hash_of(["harness.explore.order"])
        lines = self._lines()
        if lines and {key: lines[0].get(key) for key in what} != what:
            self.close()
            raise _refused(folder, "here is a search of another scenario or seed: name another --out")
        self.is_outdated = bool(lines) and lines[0].get("code") != code
        if self.is_outdated:
            self._file.truncate(0)
            lines = []
        if not lines:
            self._write(what | {"code": code})
        self._read = lines[1:]

    def close(self) -> None:
        """Let others go on with it."""
        self._file.close()

    def news(self) -> Iterator[tuple[News, float]]:
        """What was brought before, each with the seconds until then. Of the cases those are read that are remembered:
        a search of an hour has tens of thousands."""
        lines = [line for line in self._read if "news" in line]
        known, fresh = set[Word](), list[int]()
        for one in (one for line in lines for one in line["news"]["found"]):
            one["words"] = frozenset(map(tuple, one["words"]))
            if not one["words"] <= known:
                known |= one["words"]
                fresh.append(id(one))
        kept = frozenset(remembered(fresh))
        for line in lines:
            yield _news(line["news"], kept), line["seconds"]

    def results(self) -> list[Result]:
        """What was made of the first failures."""
        return [Result(**line["result"]) for line in self._read if "result" in line]

    def add(self, news: News, seconds: float) -> None:
        """Keep what an order brought."""
        self._write({"news": _plain(news), "seconds": seconds})

    def add_result(self, result: Result) -> None:
        """Keep what was made of the next failure."""
        self._write({"result": asdict(result)})

    def _write(self, line: dict[str, Any]) -> None:
        self._file.write((json.dumps(line, ensure_ascii=False) + "\n").encode())
        self._file.flush()

    def _lines(self) -> list[dict[str, Any]]:
        self._file.seek(0)
        whole, end, rest = self._file.read().rpartition(b"\n")
        if rest:
            self._file.truncate(len(whole) + len(end))
        return [json.loads(line) for line in whole.splitlines()]


def _refused(folder: Path, reason: str) -> ScenarioError:
    return ScenarioError([Located(str(folder), 0, reason)])


def _plain(news: News) -> dict[str, Any]:
    return {
        "batches": news.batches,
        "runs": news.runs,
        "busy_s": news.busy_s,
        "judging_s": news.judging_s,
        "found": [
            {"run": run, "case": dump(parent.case), "moments": parent.moments, "words": sorted(words)}
            for run, parent, words in news.found
            if parent is not None
        ],
        "milestones": news.milestones,
        "changes": [(*change, count) for change, count in news.changes],
        "failures": [{"case": dump(one.case), "broken": sorted(one.broken), "runs": one.runs} for one in news.failures],
    }


def _news(plain: dict[str, Any], kept: frozenset[int]) -> News:
    found = [(one["run"], _parent(one) if id(one) in kept else None, one["words"]) for one in plain["found"]]
    failures = [Failure(_case(one["case"]), frozenset(one["broken"]), one["runs"]) for one in plain["failures"]]
    lists = {
        "found": tuple(found),
        "failures": tuple(failures),
        "milestones": tuple((name, run) for name, run in plain["milestones"]),
        "changes": tuple(((one, other, by), count) for one, other, by, count in plain["changes"]),
    }
    return News(**plain | lists)


def _parent(plain: dict[str, Any]) -> Parent:
    return Parent(_case(plain["case"]), tuple(plain["moments"]))


def _case(text: str) -> Scenario:
    return replace(loads(text), explore=None)
