"""Three ways to keep the same order: the paper's, and the two that it improves on (paper 002 §3.1, §3.3).

They share S1, S2, S4, S5, R1, R3..R6 and condition (1); they differ in how much of CB travels and in what is
waited for beside condition (1).
"""

from __future__ import annotations

import typing
from collections.abc import Callable

from nodes.delta.options import DeltaOptions, SchemeName
from nodes.delta.tags import Entries, newest


class Scheme(typing.Protocol):
    """What differs."""

    def bound(self, entries: Entries) -> Entries:
        """S3: how much of CB_i[k] is kept when something is sent."""

    def attach(self, entries: Entries, me: int, is_destination: bool) -> Entries:
        """S4: how much of CB_i[k] travels."""

    def not_before(self, ts: int, entries: Entries) -> int:
        """R2: the local time before which m is not delivered even if condition (1) is true; `entries` is CB_m[i]."""

    def horizon(self, ts: int, entries: Entries) -> int:
        """R8: what has a smaller time stamp has expired when m is delivered, and so m need not name it."""


class Bounded:
    """The paper's: at most MAX_CB entries per destination; a full set may hide older messages, so one must expire."""

    def __init__(self, options: DeltaOptions) -> None:
        self._max_cb, self._limit_ns = options.max_cb, options.limit_ns

    def bound(self, entries: Entries) -> Entries:
        return newest(entries, self._max_cb)

    def attach(self, entries: Entries, me: int, is_destination: bool) -> Entries:
        return entries

    def not_before(self, ts: int, entries: Entries) -> int:
        if len(entries) < self._max_cb:
            return 0
        return min(entries.values()) + self._limit_ns + 1

    def horizon(self, ts: int, entries: Entries) -> int:
        expired_ns = ts - self._limit_ns  # S2
        return expired_ns if len(entries) < self._max_cb else max(expired_ns, min(entries.values()))


class Unbounded:
    """Every entry travels, up to N (N - 1); condition (1) says it all."""

    def __init__(self, options: DeltaOptions) -> None:
        self._limit_ns = options.limit_ns

    def bound(self, entries: Entries) -> Entries:
        return entries

    def attach(self, entries: Entries, me: int, is_destination: bool) -> Entries:
        return entries

    def not_before(self, ts: int, entries: Entries) -> int:
        return 0

    def horizon(self, ts: int, entries: Entries) -> int:
        return ts - self._limit_ns


class Hold:
    """No message is delivered before TS_m + w, with w > Δ/3, so that O(N) entries suffice.

    Every hop of a causal chain then takes w: at the earliest moment at which m can be delivered, a message three hops
    back has expired. What m must carry is therefore my own latest message to each process (the receiver will pass
    these on, once), and, for the destinations of m, those that the senders of what I delivered told me of.
    """

    def __init__(self, options: DeltaOptions) -> None:
        self._held_ns, self._limit_ns = options.held_ns, options.limit_ns

    def bound(self, entries: Entries) -> Entries:
        return entries

    def attach(self, entries: Entries, me: int, is_destination: bool) -> Entries:
        if is_destination:
            return entries
        return {me: entries[me]} if me in entries else {}

    def not_before(self, ts: int, entries: Entries) -> int:
        return ts + self._held_ns

    def horizon(self, ts: int, entries: Entries) -> int:
        return ts + self._held_ns - self._limit_ns


def scheme_for(options: DeltaOptions) -> Scheme:
    """The scheme that the options name."""
    schemes: dict[SchemeName, Callable[[DeltaOptions], Scheme]] = {
        "bounded": Bounded,
        "unbounded": Unbounded,
        "hold": Hold,
    }
    return schemes[options.scheme](options)
