"""Golden captures: equal to the byte on one kernel, equal in what happened on another."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from captures.evidence import Evidence, Notes
from harness.golden import difference, happened, renew, same_kernel
from harness.manifest import Kernel
from harness.rundir import RunDirError
from nodes.wire import Pdu
from nodes.wire.raw import RawData
from tests.helpers.captured import Frame, leave_manifest, stopped, write_captures
from tests.helpers.notation import history

NEW, OLD = Kernel("7.2", "a recipe"), Kernel("6.12", "a recipe")
_LINE = "start 1+a>2,3 2-a 3-a 2+b>1 1-b end"


def recorded(path: Path, one: Evidence, kernel: Kernel, late_ns: int = 0, seq: int = 1) -> Path:
    """A run whose clock ran `late_ns` behind, on some kernel."""
    notes = Notes(
        event._replace(time_ns=event.time_ns + late_ns, local_ns=event.local_ns + late_ns) for event in one.notes
    )
    pdu: Pdu = RawData(src=1, seq=seq, ndest=1, dest=(2,), payload=b"x")
    write_captures(path, replace(one, notes=notes), [Frame(1_001_000_100 + late_ns, "n1", pdu)])
    leave_manifest(path, kernel=kernel)
    return path


def test_on_one_kernel_a_nanosecond_is_a_difference(tmp_path: Path) -> None:
    one = stopped(history(_LINE))
    golden = recorded(tmp_path / "golden", one, NEW)
    assert same_kernel(golden, recorded(tmp_path / "same", one, NEW))
    assert difference(golden, tmp_path / "same") == ""
    assert "part in" in difference(golden, recorded(tmp_path / "late", one, NEW, late_ns=1))


def test_on_another_kernel_only_what_happened_counts(tmp_path: Path) -> None:
    one = stopped(history(_LINE))
    golden = recorded(tmp_path / "golden", one, NEW)
    assert difference(golden, recorded(tmp_path / "late", one, OLD, late_ns=12_345)) == ""
    swapped = stopped(history("start 1+a>2,3 3-a 2-a 2+b>1 1-b end"))  # two nodes, each in its own order
    assert difference(golden, recorded(tmp_path / "swapped", swapped, OLD)) == ""


@pytest.mark.parametrize(
    ("line", "seq", "said"),
    [
        (_LINE.replace("2-a 3-a", "2-a"), 1, "notes of n3, step 1"),
        (_LINE.replace("2-a 3-a 2+b>1", "2+b>1 2-a 3-a"), 1, "notes of n2, step 1"),
        (_LINE.replace("1+a>2,3", "1+a>3"), 1, "notes of n1, step 1"),
        (_LINE, 2, "PDUs sent by n1, step 1"),
    ],
)
def test_what_happened_otherwise_is_told(tmp_path: Path, line: str, seq: int, said: str) -> None:
    golden = recorded(tmp_path / "golden", stopped(history(_LINE)), NEW)
    other = recorded(tmp_path / "other", stopped(history(line)), OLD, seq=seq)
    assert said in difference(golden, other)


def test_without_a_manifest_no_kernel_is_the_same(tmp_path: Path) -> None:
    one = recorded(tmp_path / "one", stopped(history(_LINE)), NEW)
    (one / "manifest.json").unlink()
    assert not same_kernel(one, one)
    assert difference(one, one) == ""
    assert happened(one / "captures")["notes of n2"] == [
        "DELIVERED 1:1",
        "SUBMITTED 2:1 to 1",
        "SENT 2:1 to 1",
        "END",
    ]


def test_renewing_shows_the_difference_and_ends_it(tmp_path: Path) -> None:
    golden, run = tmp_path / "golden", recorded(tmp_path / "run", stopped(history(_LINE)), NEW)
    assert renew(golden, run) == f"{golden} is new"
    assert difference(golden, run) == ""
    other = recorded(tmp_path / "other", stopped(history(_LINE.replace(" 1-b", ""))), NEW)
    assert "harness.pcap" in renew(golden, other)  # which ends earlier now
    assert difference(golden, other) == ""
    assert renew(golden, other) == ""
    with pytest.raises(RunDirError, match="no run directory"):
        renew(golden, tmp_path)
