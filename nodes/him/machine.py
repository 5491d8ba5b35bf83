"""HIM-R: one node of high integrity multicast (paper 003), put together from its parts.

tester: every node's steps 2 to 5 · sender: the originator's steps 1, 6, 7 · membership: views, JOIN, silence ·
seal: who may speak at all. The printed rules stand beside the repaired ones in rules.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nodes.him.core import Core
from nodes.him.membership import Membership
from nodes.him.options import HimOptions
from nodes.him.seal import Refused
from nodes.him.sender import Sender
from nodes.him.tester import Tester
from nodes.machine import Input, Output, Received, Setting, Submit
from nodes.wire import Pdu
from nodes.wire.him import (
    HimAlive,
    HimAnswer,
    HimConfirm,
    HimData,
    HimEnd,
    HimJoin,
    HimPdu,
    HimQuery,
    HimReport,
    HimView,
    HimViewRequest,
)
from nodes.wire.note import NoteKind


class Him:
    """One entity."""

    def __init__(self, setting: Setting, options: HimOptions) -> None:
        core = self._core = Core(setting, options)
        self._membership = Membership(core, self._view_changed, self._excluded, self._dispatch)
        self._sender = Sender(core, self._membership.disjoin, self._membership.before_data)
        self._tester = self._sender.tester = Tester(core, self._sender.own_result, self._sender.evidence)
        self._started = False
        self._handlers: dict[type, Any] = {
            HimData: self._tester.on_data,
            HimQuery: self._on_query,
            HimAnswer: self._on_answer,
            HimReport: self._sender.on_report,
            HimEnd: self._tester.on_end,
            HimConfirm: self._tester.on_confirm,
            HimAlive: lambda pdu: None,
        }
        self._viewless: dict[type, Any] = {
            HimView: self._membership.on_view,
            HimJoin: self._membership.on_join,
            HimViewRequest: self._membership.on_view_request,
        }
        self._timers: dict[str, Any] = {
            "try": lambda origin, seq, peer: self._tester.try_expired((origin, seq), peer),
            "hold": lambda origin, seq, peer: self._tester.answer_no((origin, seq), peer),
            "report": lambda origin, seq: self._tester.report((origin, seq)),
            "end": lambda origin, seq: self._tester.no_end((origin, seq)),
            "again": lambda origin, seq: self._tester.again((origin, seq)),
            "confirm": lambda origin, seq: self._tester.confirm((origin, seq)),
            "forget": self._forget,
            "decide": self._sender.decide,
            "probe": self._sender.probe_expired,
            "join": self._membership.join,
            "alive": self._membership.alive,
        }

    @property
    def deadline(self) -> int | None:
        if not self._started:
            return 0  # at once: the first view is noted, or the JOIN sent
        return self._core.timers.next_ns

    def step(self, event: Input, now_ns: int) -> list[Output]:
        core = self._core
        core.now_ns = now_ns
        core.out = []
        if not self._started:
            self._started = True
            self._membership.start()
        if isinstance(event, Submit):
            self._sender.submit(event)
        elif isinstance(event, Received):
            self._receive_untrusted(event.pdu)
        while (name := core.timers.pop_due(now_ns)) is not None:
            assert isinstance(name, tuple)
            self._timers[name[0]](*name[1:])
        return core.out

    def _receive_untrusted(self, pdu: Pdu) -> None:
        core = self._core
        if not isinstance(pdu, HimPdu):
            core.counters["refused_foreign"] += 1
            core.log(NoteKind.REFUSED, pdu.src, text="foreign")
            return
        try:
            opened = core.seal.open_untrusted(pdu)
        except Refused as refused:
            core.refuse(str(refused), pdu)
            return
        self._dispatch(opened)

    def _dispatch(self, pdu: HimPdu) -> None:
        handler = self._viewless.get(type(pdu))
        if handler is not None:
            if self._membership.knows(pdu):
                handler(pdu)
        elif self._membership.admits(pdu):
            self._handlers[type(pdu)](pdu)

    def _on_query(self, pdu: HimQuery) -> None:
        self._tester.on_query(pdu)
        self._sender.on_query(pdu)

    def _on_answer(self, pdu: HimAnswer) -> None:
        self._tester.on_answer(pdu)
        self._sender.on_answer(pdu)

    def _forget(self, origin: int, seq: int) -> None:
        mine = origin == self._core.me
        if self._tester.busy((origin, seq)) or (mine and self._sender.busy(seq)):
            self._tester.keep((origin, seq))
            return
        self._tester.forget((origin, seq))
        if mine:
            self._sender.forget(seq)

    def _view_changed(self, changed: frozenset[int]) -> None:
        self._tester.view_changed(changed)
        self._sender.view_changed(changed)

    def _excluded(self) -> None:
        self._sender.excluded()
        self._tester.view_changed(frozenset())

    def phase(self) -> str:
        """The states of our own messages, each once, whether we test, and how many members we see."""
        tests = "" if self._tester.settled() else "testing"
        return f"{self._sender.phase()} {tests} {len(self._core.members)}"

    def states(self) -> Mapping[int, str]:
        """Those of our own messages, by their numbers."""
        return self._sender.states()

    def settled(self) -> bool:
        return self._membership.settled() and self._tester.settled() and self._sender.settled()

    def counters(self) -> Mapping[str, int]:
        return dict(self._core.counters)
