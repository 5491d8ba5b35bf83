"""The evaluation of paper 000 §5: how many PDUs a loss makes the entities sort, and how many go out again.

n entities, d destinations per PDU on average, f the chance that an entity misses a PDU, L the length of the sequence
that is not yet pre-acknowledged (the paper takes L = n). F = (1-f)^d is the chance that all destinations get a PDU.
Everything is a mean per burst of L PDUs; divide by L for the paper's rates.

U, printed, contains the share d/n three times (in P_l, in T_l and in U_l); the one in P_l is already in T_l
(D-ST-21). U and R count per *entity*, a capture counts per *channel*: the functions for captures are at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Load:
    """n, d, f and L."""

    n: int
    d: float
    f: float
    length: int

    @property
    def share(self) -> float:
        """d/n: the chance that a PDU is for a given entity."""
        return self.d / self.n

    @property
    def all_get_it(self) -> float:
        """F."""
        return float((1 - self.f) ** self.d)


def first_loss(load: Load, at: int) -> float:
    """P_l: the first `at` PDUs reach all, the next one does not and is for me."""
    return first_loss_anywhere(load, at) * load.share


def first_loss_anywhere(load: Load, at: int) -> float:
    """The first `at` PDUs reach all their destinations, the next one does not."""
    return load.all_get_it**at * (1 - load.all_get_it)


def to_sort(load: Load, at: int) -> float:
    """(1) T_l: PDUs an entity sorts when the first loss is PDU at+1. The exponent belongs to (L-l-i)."""
    not_mine = 1 - load.share
    return load.share * sum(not_mine**i * (load.length - at - i) for i in range(load.length - at))


def sorted_at(load: Load, at: int) -> float:
    """(2) U_l, as printed."""
    return to_sort(load, at) * first_loss(load, at) * load.share


def sorted_printed(load: Load) -> float:
    """(3) U, as printed; also what a go-back of ST sends again, by the paper's count."""
    return _sum(sorted_at, load)


def sorted_once(load: Load) -> float:
    """U without the duplicate share: PDUs sorted per entity, with the line of §4.1 (D-ST-21)."""
    return _sum(lambda one, at: to_sort(one, at) * first_loss_anywhere(one, at) * one.share, load)


def resent_at(load: Load, at: int) -> float:
    """(4) R_l: of what follows the first loss, what was lost as well."""
    return first_loss(load, at) * (1 + (load.length - at - 1) * (1 - load.all_get_it))


def resent_printed(load: Load) -> float:
    """(5) R, as printed: the share d/n of what is retransmitted selectively."""
    return _sum(resent_at, load)


def _sum(term: Callable[[Load, int], float], load: Load) -> float:
    return sum(term(load, at) for at in range(load.length))


# Closed forms.


def sorted_closed_to(load: Load) -> float:
    """U for d = n: L - F(1-F^L)/(1-F)."""
    everybody = load.all_get_it
    if everybody == 1:
        return 0.0
    return load.length - everybody * (1 - everybody**load.length) / (1 - everybody)


def resent_closed(load: Load) -> float:
    """R = L (d/n) (1-F), for every d."""
    return load.length * load.share * (1 - load.all_get_it)


# What a capture of the channel shows.


def channel_selective(load: Load) -> float:
    """PDUs that go out again when only lost ones do: L (1-F), before losses of the retransmissions."""
    return load.length * (1 - load.all_get_it)


def channel_go_back(load: Load) -> float:
    """PDUs of the burst at or behind the first lost one."""
    return _sum(lambda one, at: first_loss_anywhere(one, at) * (one.length - at), load)
