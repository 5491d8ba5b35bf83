"""The rules of paper 000 that exist twice: as printed and as repaired, side by side, chosen once per machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nodes.st.lines import Cut, Evidence, Log, partition, prefix_line, printed_line
from nodes.st.minima import Minima
from nodes.st.options import Printed
from nodes.wire.st import DataBlock

# Acceptance, §3.2 (D-ST-2): is p the next thing I may take from its source?


def accept_next(tseq: int, treq: int, pseq: int, preq: int, mine: bool) -> bool:
    """Nothing for me is missing before p; TSEQs of PDUs that were not for me may have been lost."""
    return tseq >= treq and pseq == preq


def printed_accept_next(tseq: int, treq: int, pseq: int, preq: int, mine: bool) -> bool:
    """After the loss of one PDU that was not for me, every later one that is not for me fails both tests."""
    return tseq == treq or (mine and pseq == preq)


# Pre-acknowledgement and confirmation, §3.3, §3.4 (D-ST-6): who must have p before it may move?


def least_of_all(known: Minima, p: DataBlock) -> int:
    """Every entity of the cluster: no other log can then keep p behind something unrecovered."""
    return known.minimum[p.src - 1]


def printed_least_of_destinations(known: Minima, p: DataBlock) -> int:
    """The destinations alone; an ACK PDU has none and waits for all."""
    return min([known.columns[j - 1][p.src - 1] for j in p.dst]) if p.dst else known.minimum[p.src - 1]


# Retransmission, §4.3 (D-ST-11, D-ST-12): A and PREQ are the numbers expected next, hence the first missing ones.


def asked_for(pseq: int, lo: int) -> bool:
    """The requester does not have everything up to this number."""
    return pseq >= lo


def printed_asked_for(pseq: int, lo: int) -> bool:
    """Never sends the first missing PDU."""
    return pseq > lo


def retake(pseq: int, preq: int) -> bool:
    """The PDU is one I lack."""
    return pseq >= preq


def printed_retake(pseq: int, preq: int) -> bool:
    """Never takes the first missing PDU."""
    return pseq > preq


# Flow condition, §3.2 (D-ST-20): may one more data PDU go out?


def window_open(limit: int, unacknowledged: int, tseq: int, least: int) -> bool:
    """Counts data PDUs: ACK PDUs consume TSEQs too, and trailing ones are never acknowledged."""
    return unacknowledged < limit


def printed_window_open(limit: int, unacknowledged: int, tseq: int, least: int) -> bool:
    """minAL <= TSEQ < minAL + limit."""
    return least <= tseq < least + limit


# Order of the sources behind the line, §4.2 (2), §4.3 (D-ST-15).


def fixed_order(n: int, arrivals: Sequence[int]) -> Sequence[int]:
    """1 < 2 < ... < n: nothing to agree on."""
    return range(1, n + 1)


def printed_arrival_order(n: int, arrivals: Sequence[int]) -> Sequence[int]:
    """ORDR, as the RST_PAKs came here: equal everywhere only if none was lost."""
    return [*arrivals, *[j for j in range(1, n + 1) if j not in arrivals]]


@dataclass(frozen=True, slots=True)
class Rules:
    """One rule per question; `Printed` says which are the paper's."""

    accept_next: Callable[[int, int, int, int, bool], bool]
    least: Callable[[Minima, DataBlock], int]
    by_destinations: bool  # `least` is not the minimum over all
    asked_for: Callable[[int, int], bool]
    retake: Callable[[int, int], bool]
    window_open: Callable[[int, int, int, int], bool]
    cut: Callable[[Log, Evidence], Cut]
    order: Callable[[int, Sequence[int]], Sequence[int]]
    control_from_all: bool  # PAL learns from every accepted PDU, not from those for me alone (D-ST-7)
    ack_evidence: bool  # an ACK vector ahead of mine starts a round (D-ST-3)
    early_expectation: bool  # PREQ moves before the lost PDUs have come (D-ST-10)
    own_served: bool  # what I lost of my own I repeat to myself (D-ST-22)


def chosen(printed: Printed) -> Rules:
    """The rules for these switches."""
    return Rules(
        accept_next=printed_accept_next if printed.acceptance else accept_next,
        least=printed_least_of_destinations if printed.preack else least_of_all,
        by_destinations=printed.preack,
        asked_for=printed_asked_for if printed.resend else asked_for,
        retake=printed_retake if printed.reaccept else retake,
        window_open=printed_window_open if printed.flow else window_open,
        cut=printed_line if printed.line else prefix_line if printed.prefix else partition,
        order=printed_arrival_order if printed.order else fixed_order,
        control_from_all=not printed.pal,
        ack_evidence=printed.ack_evidence,
        early_expectation=printed.expectation,
        own_served=not printed.own_loss,
    )
