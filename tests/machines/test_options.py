"""What options may be, to the last value that is allowed, and the times that follow from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nodes import delta, him, st, to
from nodes.cmd.options import CmdOptions
from nodes.delta.options import DeltaOptions
from nodes.him.options import HimOptions
from nodes.him.timing import decision_time_ns, patience_ns
from nodes.st.options import StOptions, Timing
from nodes.to.options import ToOptions, ViewTiming
from nodes.wire import Pdu, encode
from nodes.wire.st import StData, StRstAck
from nodes.wire.to import ToData, ToRstAck

MS = 1_000_000
FRAME = 1500
# the least and the greatest value of a key; None: there is no bound
RANGES: list[tuple[Callable[..., Any], str, int | None, int | None]] = [
    (StOptions, "cluster", 0, 65_535),
    (StOptions, "window", 0, 255 * 32),
    (StOptions, "buffer_share", 1, 65_535),
    (ToOptions, "cluster", 0, 65_535),
    (ToOptions, "window", 0, 255 * 32),
    (ToOptions, "buffer_share", 1, 65_535),
    (ToOptions, "quorum", 0, None),
    (ToOptions, "silence", 1, None),
    (DeltaOptions, "delta_ns", 1, None),
    (DeltaOptions, "epsilon_ns", 0, None),
    (DeltaOptions, "max_cb", 1, 255),
    (HimOptions, "neighbours", 1, None),
    (HimOptions, "q", 1, None),
    (HimOptions, "rtry", 1, None),
    (HimOptions, "fanout", 1, None),
    (HimOptions, "maxfail", 0, 100),
    (HimOptions, "alive_ns", 0, None),
    (HimOptions, "decide_ns", 0, None),
    (HimOptions, "rto_min_ns", 1, 200 * MS),
    (HimOptions, "rto_initial_ns", 2 * MS, 1000 * MS),
    (HimOptions, "rto_max_ns", 200 * MS, None),
    (CmdOptions, "queue_limit", 1, None),
    (CmdOptions, "window", 1, None),
    (CmdOptions, "attempts", 1, None),
    (CmdOptions, "retry_ns", 1, 400 * MS),
    (CmdOptions, "retry_max_ns", 50 * MS, None),
]


@pytest.mark.parametrize(
    ("options", "key", "least", "greatest"), RANGES, ids=[f"{row[0].__name__}-{row[1]}" for row in RANGES]
)
def test_the_range_of_a_key(options: Callable[..., Any], key: str, least: int | None, greatest: int | None) -> None:
    for bound, beyond in ((least, -1), (greatest, 1)):
        if bound is not None:
            assert getattr(options(**{key: bound}), key) == bound
            with pytest.raises(ValueError, match=r"is|must"):
                options(**{key: bound + beyond})


def test_hold_lies_between_a_third_and_a_half() -> None:
    """Paper 002 §3.1, of Δ + ε = 300."""
    for hold_ns in (101, 149):
        assert DeltaOptions(delta_ns=200, epsilon_ns=100, hold_ns=hold_ns).held_ns == hold_ns
    for hold_ns in (100, 150):
        with pytest.raises(ValueError, match="a third and a half"):
            DeltaOptions(delta_ns=200, epsilon_ns=100, hold_ns=hold_ns)


def test_the_time_between_repetitions_may_grow() -> None:
    """Repeated every nanosecond, a few copies on a way of some milliseconds keep all busy for ever."""
    assert CmdOptions(retry_ns=1, retry_max_ns=MS).retry_max_ns == MS
    with pytest.raises(ValueError, match="at least 1 ms"):
        CmdOptions(retry_ns=1, retry_max_ns=MS - 1)


def test_a_key_is_needed_to_seal() -> None:
    for key in ({"key": "k"}, {"key_file": "f"}):
        assert HimOptions(auth="hmac", **key).auth == "hmac"  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="key_file"):
        HimOptions(auth="hmac")


def test_the_times_of_st_and_to() -> None:
    """T is 2n PDU times, T_r 2 T, the first ACK PDU comes after 2 PDU times; a heartbeat is 4n PDU times."""
    plain = Timing.of(StOptions(), 4, 1000)
    assert plain == Timing(period=8000, round=16_000, kick=2000, answer=16_000)
    assert Timing.of(StOptions(), 4, 0).period == 8 * 300_000
    chosen = StOptions(period_ns=5, round_ns=7, kick_ns=3, answer_ns=2)
    assert Timing.of(chosen, 4, 1000) == Timing(period=5, round=7, kick=3, answer=2)
    assert Timing.of(StOptions(period_ns=5), 4, 1000) == Timing(period=5, round=10, kick=2000, answer=10)
    assert st.longest_wait_ns(StOptions(), 4, 1000) == 16_000 + 8000
    # 12 heartbeats; or 4 of them and three times the longest wait, if that is more
    assert ViewTiming.of(ToOptions(), plain, 4, 1000) == ViewTiming(heartbeat=16_000, stop=12 * 16_000)
    short = ViewTiming(heartbeat=16_000, stop=4 * 16_000 + 3 * 24_000)
    assert ViewTiming.of(ToOptions(silence=2), plain, 4, 1000) == short
    assert ViewTiming.of(ToOptions(heartbeat_ns=9, stop_ns=11), plain, 4, 1000) == ViewTiming(heartbeat=9, stop=11)
    assert ViewTiming.of(ToOptions(), plain, 4, 0).heartbeat == 16 * 300_000
    assert to.longest_wait_ns(ToOptions(), 4, 1000) == 12 * 16_000


def test_the_times_of_him() -> None:
    """T_dec: two trips, a test that asks three times with doubled time-outs (1 + 2 + 4, and it may start as late), and
    three REPORTs (D-HI-12). A holder waits for one time-out more than the slowest originator may take (D-HI-20)."""
    assert decision_time_ns(10, q=3, rtry=3) == (2 + 14 + 3) * 10
    assert decision_time_ns(10, q=1, rtry=1) == (2 + 2 + 1) * 10
    assert patience_ns(HimOptions(rto_max_ns=300 * MS)) == (19 + 1) * 300 * MS
    assert patience_ns(HimOptions(decide_ns=7)) == 14
    assert him.silence_ns(HimOptions(decide_ns=8)) == 20


def test_what_delta_waits_for_and_how_many_nodes_its_sets_can_have() -> None:
    options = DeltaOptions(delta_ns=20, epsilon_ns=6)
    assert (options.limit_ns, options.held_ns) == (26, 10)
    assert delta.PROTOCOL.silence_ns(options) == 32 + MS
    for scheme in ("unbounded", "hold"):
        assert not delta.misfit(DeltaOptions(scheme=scheme), 256, 0)
        assert "at most 256" in delta.misfit(DeltaOptions(scheme=scheme), 257, 0)
    assert not delta.misfit(DeltaOptions(), 1000, 0)


@pytest.mark.parametrize("row", [StRstAck, ToRstAck])
@pytest.mark.parametrize("window", [0, 200])
def test_the_longest_pdu_of_a_round_fits_into_a_frame_or_the_group_is_refused(row: type[Pdu], window: int) -> None:
    """Asked of the PDU itself, with everything in it that depends on the size of the group."""

    def size(n: int) -> int:
        words = -(-(window or 3 * n) // 32)
        counters = 1 if row is ToRstAck else n  # in TO everything is for everybody
        own: dict[str, Any] = {"cluster": 1, "n": n, "src": 1, "flags": 0, "epoch": 0, "tseq": 0, "words": words}
        own |= {"held": (0,) * (n * words), "d": (0,) * counters}
        return len(encode(row(**{field.name: (0,) * n for field in row.TYPE.fields} | own)))

    spec, options = (st.PROTOCOL, StOptions) if row is StRstAck else (to.PROTOCOL, ToOptions)
    most = next(n for n in range(2, 1000) if size(n + 1) > FRAME)
    assert not spec.misfit(options(window=window), most, 0)
    assert f"of {most + 1} nodes would have {size(most + 1)} bytes" in spec.misfit(options(window=window), most + 1, 0)


@pytest.mark.parametrize("nodes", [3, 34])
@pytest.mark.parametrize("row", [StData, ToData])
def test_a_period_has_room_for_the_ack_pdus_of_all_twice_or_is_refused(row: type[Pdu], nodes: int) -> None:
    """Asked of the PDU itself. The time is the channel's, so without one every period will do."""
    counters = 1 if row is ToData else nodes
    own: dict[str, Any] = {"cluster": 1, "n": nodes, "src": 1, "flags": 0, "epoch": 0, "tseq": 0, "buf": 0}
    own |= {"dst": (), "payload": b"", "pseq": (0,) * counters}
    ack = row(**{field.name: (0,) * nodes for field in row.TYPE.fields} | own)
    least_ns = 2 * nodes * (14 + len(encode(ack))) * 8 * 100  # at 10 Mbit/s a bit takes 100 ns
    spec, options = (st.PROTOCOL, StOptions) if row is StData else (to.PROTOCOL, ToOptions)
    assert not spec.misfit(options(period_ns=least_ns), nodes, 10_000_000)
    said = spec.misfit(options(period_ns=least_ns - 1), nodes, 10_000_000)
    assert f"2n of them take {least_ns / 1000:.1f} us on this channel" in said
    assert not spec.misfit(options(period_ns=least_ns - 1), nodes, 0)
    assert not spec.misfit(options(), nodes, 10_000_000)
