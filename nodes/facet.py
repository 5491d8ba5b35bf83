"""What all others must know of a protocol: plain data and pure functions, exported by its package as PROTOCOL.

Who carries out a scenario, reads captures, judges or measures asks here, and knows no protocol by its name. What is
judged of a protocol stands with the judges, and its wire in the wire table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, NoReturn, Protocol, TypeAlias

from nodes.clock import Kind
from nodes.lives import Spent
from nodes.machine import Machine, Setting
from nodes.wire import Pdu

Numbers: TypeAlias = Any  # an int, or an array of them: machines do not import numpy


class Lists(Protocol):
    """A column of lists of numbers."""

    @property
    def counts(self) -> Numbers:
        """How many elements each has."""

    def at(self, place: Numbers) -> Numbers:
        """The element at this place of each, from 0; 0 where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """Which message a type of PDU carries or is about, named as NOTEs name it, and what its tag is.

    The functions take numbers, or whole columns of them: the same arithmetic holds for both. A field that is a list
    comes as a column of lists.
    """

    pdu: type[Pdu]
    fields: tuple[str, ...]  # what `message` is told, behind the PDU's sender
    message: Callable[..., tuple[Numbers, Numbers]]  # its origin and its number there; 0 and 0: about none
    carries: bool = False  # it carries the message: whoever has it can deliver
    tag: str = ""  # the field that holds the entries of the tag
    tag_bytes: Callable[[int, Numbers], Numbers] | None = None  # how long the tag is: number of nodes, of entries


def by_sender(src: Numbers, seq: Numbers) -> tuple[Numbers, Numbers]:
    """Its sender's message of that number."""
    return src, seq


def by_origin(src: Numbers, origin: Numbers, seq: Numbers) -> tuple[Numbers, Numbers]:
    """The message that it names."""
    return origin, seq


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When the protocol's rule allows a delivery, beyond that all before it in causal order must be delivered.

    A time stamp is the sender's clock as SENT tells it; the limits hold by the receiver's clock.
    """

    # Options -> at which age a message is waited for no longer; None: it is waited for until it comes.
    expires_ns: Callable[[Any], int] | None = None
    stamp: Callable[[Sequence[int]], int] = lambda values: 0  # values of SENT -> the message's time stamp
    # Options, receiver, time stamp, `told` of the PDU -> the time before which it may not be delivered.
    not_before_ns: Callable[..., int] | None = None
    told: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Milestone:
    """Something dangerous that should happen in some run of a search, else nobody has looked there.

    It has happened when one node took these steps in this order, and none of `without` between the first and the last.
    A step is a PDU that the node sent ("RCV_ACK"), a NOTE of it ("STATE normal"; "ALARM", whatever its text), or a
    fault that named it ("crash", "partition ends").
    """

    name: str
    steps: tuple[str, ...]
    without: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolSpec:
    """What a protocol package exports as PROTOCOL.

    `options` is a frozen dataclass: the scenario table of the protocol's name is read into it strictly, by its
    field types. Annotated[int, "duration"] is nanoseconds in the machine and "5ms" in the scenario (the field is
    named ..._ns, the key has no suffix); "share" is a float 0..1 and "2%"; "rate" is per second and "100/s".
    Judges and metrics are handed the very object: no default stands anywhere else.
    """

    name: str
    options: type
    make: Callable[[Setting, Any], Machine]

    # What is wrong with these options for so many nodes on a single channel of so many bits per second (0: there is
    # none); "" if nothing is.
    misfit: Callable[[Any, int, int], str] = lambda options, nodes, rate_bps: ""
    # Properties that these options do not give, and how often not: a warning, unless the scenario expects it.
    doubts: Callable[[Any], Mapping[str, str]] = lambda options: {}

    # For who carries out a scenario.
    transport: Literal["channel", "udp", "tcp", "any"]  # any: the single channel where there is one, else UDP
    max_payload: int = 1400
    most_nodes: int = 65_535  # what its PDUs can say
    lives: int = 65_535  # how often a node can be started: what its numbers can say, and NOTEs at most this
    # The clock that machines live by: the local one, which can be set, for who tells others the time; else one that
    # nobody sets, since a length of time is nothing else when somebody sets a clock meanwhile.
    clock: Kind = "steady"
    forgets: Callable[[Any], bool] = lambda options: True  # with these options what is over; else it need not
    beats: Callable[[Any], bool] = lambda options: False  # with these options it never falls silent by itself
    # The longest time for which a node may owe something and yet send nothing, with these options: a run in which
    # nothing moves for less than that has not ended.
    silence_ns: Callable[[Any], int] = lambda options: 0
    # What a machine is doing, in a word or a few: for a search, which looks for what it has not seen yet.
    phase: Callable[[Any], str] = lambda machine: ""
    # The states that docs/states.md draws, of one machine: each by a key of what is in it. None: nothing is drawn.
    states: Callable[[Any], Mapping[Any, str]] | None = None
    # What a search should come to, where the danger lies.
    milestones: tuple[Milestone, ...] = ()
    # The longest time-out, with these options, so many nodes and so long a channel time: a run in which nothing is
    # accepted, delivered or decided for some hundred times as long leads nowhere.
    longest_wait_ns: Callable[[Any, int, int], int] = lambda options, nodes, slot_ns: 0
    key_file: Callable[[Any], str] = lambda options: ""  # where Setting.key stands, if these options want one
    brings_program: bool = False  # its options have `program`, a file that runs take along, and `sha256` of it
    # Its nodes are programs of this machine, which its options name (nodes/program/options.py): what a node's process
    # does with its nodes/shell.py:NodeConfig, the tally and its control socket, in place of stepping a machine.
    run: Callable[[Any, Any, Any], NoReturn] | None = None
    deaf: Callable[[Any], str] = lambda options: ""  # why with these options nothing can be submitted
    warm_up_ns: Callable[[Any], int] = lambda options: 0  # what nodes need before the run begins

    # For who reads captures.
    properties: tuple[str, ...]  # judged on every run, e.g. ("ST-1", "ST-2")
    # What the values of its NOTEs say, beside what those of all protocols say (nodes/wire/note.py); None: it alone
    # knows, and is taken at its word.
    notes: tuple[type[NamedTuple], ...] | None = ()
    pdus: tuple[About, ...] = ()  # what its PDUs say about messages
    moment: Moment | None = None  # its rule about when a delivery takes place, if it has one
    counted: bool = False  # its properties say how many packets something takes

    def machine(self, setting: Setting, options: Any) -> Machine:
        """The machine of a node, or what stands in for it where the node was started too often."""
        return self.make(setting, options) if setting.incarnation <= self.lives else Spent(setting.me, self.lives)

    def says(self, meaning: type[NamedTuple]) -> bool:
        """May values of its NOTEs be read as that?"""
        return self.notes is None or meaning in self.notes
