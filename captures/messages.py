"""Which message a PDU carries, or is about, by the names that NOTEs give to messages (origin, seq); and its tag.

One row per PDU type that has such a thing; what is not here is about no single message. The columns are those of the
decoder (captures/columns.py), so a whole batch is answered at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from captures.fields import field_columns

Ints: TypeAlias = npt.NDArray[np.int64]
Table: TypeAlias = Any  # pa.Table: its stubs know no computed types
Names = Callable[[Table], tuple[Ints, Ints]]


def column(title: str, field: str) -> str:
    """The decoder's column of a field of a PDU."""
    for one in field_columns():
        if any(row.name == title and used.name == field for row, used in one.uses):
            return one.name
    raise KeyError(f"{title} has no field {field}")


def ints(table: Table, name: str) -> Ints:
    """A column of whole numbers; 0 where there is none."""
    values = pc.fill_null(table[name], 0).combine_chunks()
    found: Ints = values.to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def lengths(table: Table, name: str) -> Ints:
    """The lengths of a list column; 0 where there is none."""
    values = pc.fill_null(pc.list_value_length(table[name]), 0).combine_chunks()
    found: Ints = values.to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def _plain(title: str, origin: str, seq: str) -> tuple[tuple[str, ...], Names]:
    seq_column = column(title, seq)
    if origin == "src":
        return (seq_column,), lambda table: (ints(table, "src"), ints(table, seq_column))
    origin_column = column(title, origin)
    return (origin_column, seq_column), lambda table: (ints(table, origin_column), ints(table, seq_column))


def _with_destinations(title: str) -> tuple[tuple[str, ...], Names]:
    """A DATA PDU without destinations is an ACK PDU (D-ST-8): about no message."""
    seq, dst = column(title, "tseq"), column(title, "dst")

    def names(table: Table) -> tuple[Ints, Ints]:
        carries = lengths(table, dst) > 0
        return np.where(carries, ints(table, "src"), 0), np.where(carries, ints(table, seq), 0)

    return (seq, dst), names


def _cluster(title: str) -> tuple[tuple[str, ...], Names]:
    """TO: the sender's incarnation stands in its own element of V (paper 001 §3)."""
    seq, dst, view = column(title, "tseq"), column(title, "dst"), column(title, "v")

    def names(table: Table) -> tuple[Ints, Ints]:
        carries = lengths(table, dst) > 0
        src = ints(table, "src")
        own = np.array(
            [
                vector[node - 1] >> 1 if vector and 0 < node <= len(vector) else 0
                for vector, node in zip(table[view].to_pylist(), src.tolist(), strict=True)
            ],
            np.int64,
        )
        return np.where(carries, src, 0), np.where(carries, own << 32 | ints(table, seq), 0)

    return (seq, dst, view), names


def _rows() -> Mapping[str, Callable[[], tuple[tuple[str, ...], Names]]]:
    him = ("DATA", "QUERY", "ANSWER", "REPORT", "END", "CONFIRM")
    return {
        "raw.DATA": lambda: _plain("raw.DATA", "src", "seq"),
        "own.PDU": lambda: _plain("own.PDU", "origin", "seq"),
        "st.DATA": lambda: _with_destinations("st.DATA"),
        "to.DATA": lambda: _cluster("to.DATA"),
        "delta.DATA": lambda: _plain("delta.DATA", "src", "seq"),
        "cmd.DATA": lambda: _plain("cmd.DATA", "src", "t"),
        "cmd.MATRIX": lambda: _plain("cmd.MATRIX", "src", "t"),
    } | {f"him.{name}": (lambda name=name: _plain(f"him.{name}", "origin", "seq")) for name in him}


def naming(title: str) -> tuple[tuple[str, ...], Names] | None:
    """The columns needed, and the function from a table of such PDUs to (origins, seqs); None if they name none."""
    row = _rows().get(title)
    return row() if row is not None else None


def tag_column(title: str) -> str | None:
    """The column whose length is the number of entries of the PDU's tag."""
    return {"delta.DATA": "cb", "cmd.DATA": "r"}.get(title)


def stamps_for(table: Table, node: int) -> list[tuple[int, ...]]:
    """Of each delta.DATA that came into a node, the time stamps in CB_m[node]; of what it sent itself, none."""
    counts, cb = column("delta.DATA", "counts"), column("delta.DATA", "cb")
    parts = lengths(table, counts)  # of each tag
    sizes = table[counts].combine_chunks().flatten().to_numpy(zero_copy_only=False)  # of each part of all tags
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
    times = table[cb].combine_chunks().flatten().field("x").to_numpy(zero_copy_only=False)
    came = np.array([one == "in" for one in table["direction"].to_pylist()], bool)
    found: list[tuple[int, ...]] = []
    for part, own in zip(
        (np.cumsum(parts) - parts + node - 1).tolist(), ((parts >= node) & came).tolist(), strict=True
    ):
        found.append(tuple(times[ends[part] : ends[part + 1]].tolist()) if own else ())
    return found


def payload_column(title: str) -> str | None:
    """The column with the number of bytes that the application gave."""
    try:
        return f"{column(title, 'payload')}_length"
    except KeyError:
        return None
