"""The records of a sweep's runs: what is there, and was made by this code, is not run again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from typing import Any

from harness.closure import hash_of
from harness.sweep.store import Store
from harness.sweep.task import Record

# Where the code of a run is entered: by the sweep's worker, in the guest, on this kernel.
ENTRIES = (
    "harness.sweep.task",
    "harness.agent.boot",
    "harness.agent.guest",
    "harness.agent.__main__",
    "harness.engines.isolated",
)


def finished(store: Store, keys: Iterable[str]) -> dict[str, Record]:
    """The records of those runs that are there."""
    there = set(store.names("records"))
    found: dict[str, Record] = {}
    for key in keys:
        if f"{key}.json" in there:
            data = store.read(f"records/{key}.json")
            if data is not None:
                found[key] = json.loads(data)
    return found


def keep(store: Store, key: str, record: Record) -> None:
    """Put a record there, unless the run failed: what fails for a reason of the machine is tried again next time."""
    if record["outcome"] != "failed":
        store.write(f"records/{key}.json", encoded(record))


def encoded(value: Any) -> bytes:
    """Equal values, equal bytes."""
    return (json.dumps(value, sort_keys=True, ensure_ascii=False) + "\n").encode()


@cache
def code_hash() -> str:
    """Of all code that a record depends on: whatever it imports, here and in the guest."""
    return hash_of(ENTRIES)
