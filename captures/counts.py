"""Which fields of a PDU say how many elements other fields have: what every reading of the table needs to know."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from nodes.wire import PduType
from nodes.wire.table import Members, Of, Records, SumOf, Vector


@dataclass(frozen=True, slots=True)
class Counts:
    """Names of fields, by what they are used for."""

    factors: frozenset[str]  # integers that are the length of a list, or a factor of it
    sums: frozenset[str]  # vectors whose sum is the length of a list
    sizes: frozenset[str]  # integers that say of how many entities a set is


@cache
def counts_of(row: PduType) -> Counts:
    """The fields of this type that others depend on."""
    kinds = [field.kind for field in row.fields]
    lists = [kind.count for kind in kinds if isinstance(kind, Vector | Records)]
    return Counts(
        factors=frozenset(name for count in lists if isinstance(count, Of) for name in count.names),
        sums=frozenset(count.name for count in lists if isinstance(count, SumOf)),
        sizes=frozenset(kind.size for kind in kinds if isinstance(kind, Members)),
    )
