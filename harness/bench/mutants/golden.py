"""Golden histories of the rules that a search draws: what changes none of them nobody asks it to find."""

from __future__ import annotations

from harness.bench.mutants.trial import Known
from harness.explore.base import base_of
from harness.explore.edit import option_values
from harness.scenario import loads
from harness.scenario.schema import keys_of
from nodes.protocols import protocol
from tests.helpers.drawn import SPACES, STRANGERS, drawn

_TEST = "tests/machines/test_histories.py::test_what_happens_is_what_happened"
_CPU_S = 20.0  # one of them, about


def histories(name: str) -> list[Known]:
    """The tests of a protocol's golden histories whose rules `tutti explore PROTOCOL` may draw."""
    base, space = base_of(name), SPACES[name]
    assert base.explore is not None
    keys, values = keys_of(protocol(name).options), dict(option_values(base, base.explore))
    fields = {keys[line.partition(" ")[0]].field for lines in space.rules.values() for line in lines}

    def is_drawn(rules: str) -> bool:
        options = loads(drawn(name, rules, 0)).options
        return all(getattr(options, one) in (getattr(base.options, one), *values.get(one, ())) for one in fields)

    chosen = [rules for rules in space.rules if rules != STRANGERS and is_drawn(rules)]
    return [Known(f"{_TEST}[{name}-{rules}]", _CPU_S, {}) for rules in chosen]
