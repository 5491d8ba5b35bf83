"""The few values of a scenario that have a way of being written of their own."""

from __future__ import annotations

from typing import Any

from harness.scenario.problems import Path, Problem, did_you_mean
from harness.scenario.schema import CODECS, Problems
from harness.scenario.units import UNITS
from topologies.distributions import Distribution, Normal, Pareto, Quantiles, TruncatedNormal, Uniform

_NAMED: dict[str, Distribution] = {"uniform": Uniform(), "normal": Normal(), "pareto": Pareto()}


class OneOrMore:
    """One name, or a list of names."""

    def read(self, value: Any, path: Path, problems: Problems) -> tuple[str, ...]:
        names = value if isinstance(value, list) else [value]
        if not names or not all(isinstance(name, str) for name in names):
            raise ValueError(f"{path[-1]} is a name, or a list of names")
        if len(set(names)) < len(names):
            raise ValueError(f"{path[-1]} names something twice")
        return tuple(names)

    def write(self, value: tuple[str, ...]) -> str | list[str]:
        return value[0] if len(value) == 1 else list(value)


class AllOrNames(OneOrMore):
    """Names, or "all", which becomes no name."""

    def read(self, value: Any, path: Path, problems: Problems) -> tuple[str, ...]:
        return () if value == "all" else super().read(value, path, problems)

    def write(self, value: tuple[str, ...]) -> str | list[str]:
        return super().write(value) if value else "all"


class Number:
    """A whole number, or a word for "without end"."""  # which becomes None

    def __init__(self, low: int, word: str) -> None:
        self._low, self._word = low, word

    def read(self, value: Any, path: Path, problems: Problems) -> int | None:
        if value == self._word:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or value < self._low:
            raise ValueError(f'{path[-1]} is a whole number from {self._low} up, or "{self._word}"')
        return value

    def write(self, value: int | None) -> int | str:
        return self._word if value is None else value


class DistributionCodec:
    """`"normal"`, `{ late = "0.01%", after = "100ms" }` or `{ quantiles = ["1ms", "3ms", "20ms"] }`."""

    def read(self, value: Any, path: Path, problems: Problems) -> Distribution | None:
        if isinstance(value, str):
            if value not in _NAMED:
                raise ValueError(f"no distribution is called {value!r}{did_you_mean(value, _NAMED)}")
            return _NAMED[value]
        if isinstance(value, dict) and set(value) == {"quantiles"} and isinstance(value["quantiles"], list):
            return Quantiles(tuple(int(UNITS["duration"].read(one)) for one in value["quantiles"]))
        if isinstance(value, dict) and set(value) == {"late", "after"}:
            late, after = UNITS["share"].read(value["late"]), UNITS["duration"].read(value["after"])
            if not 0 < late < 1:
                problems.append(Problem((*path, "late"), "late is a share between 0% and 100%"))
                return None
            return TruncatedNormal(float(late), int(after))
        raise ValueError(
            'a distribution is "uniform", "normal", "pareto", { late = "1%", after = "50ms" } or { quantiles = [...] }'
        )

    def write(self, value: Distribution) -> str | dict[str, Any]:
        if isinstance(value, TruncatedNormal):
            return {"late": UNITS["share"].write(value.late_share), "after": UNITS["duration"].write(value.after_ns)}
        if isinstance(value, Quantiles):
            return {"quantiles": [UNITS["duration"].write(one) for one in value.delays_ns]}
        return next(name for name, known in _NAMED.items() if known == value)


class Texts:
    """A table whose keys are the user's own, with texts."""

    def read(self, value: Any, path: Path, problems: Problems) -> tuple[tuple[str, str], ...]:
        if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
            raise ValueError(f"{path[-1]} is a table of texts")
        return tuple(value.items())

    def write(self, value: tuple[tuple[str, str], ...]) -> dict[str, str]:
        return dict(value)


CODECS["names"] = OneOrMore()
CODECS["texts"] = Texts()
CODECS["distribution"] = DistributionCodec()
