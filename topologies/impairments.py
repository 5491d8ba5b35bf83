"""What goes wrong on the way of a packet, as validated values: an Impairment is one netem qdisc on one interface.

An Impairment that exists is possible; `settings()` says in the kernel's own integers what has to be written, so that
what is read back can be compared exactly. What netem can do, but not reproducibly or not in this place, is refused
with the reason (`refusals`). Annotations name the unit in which people write a value. Facts about netem here are from
net/sched/sch_netem.c of Linux 6.12 and 7.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

from topologies.distributions import JITTER_MAX_NS, DelayDraw, Distribution, Uniform

EVERY = 2**32 - 1  # netem's probabilities are 32 bits wide
QUEUE_PACKETS = 10_000  # netem's own 1,000 is reached by a fast sender and 100 ms of delay, and then drops silently


class ImpairmentError(ValueError):
    """Why there is no such impairment: all reasons, each with the keys that it is about."""

    def __init__(self, problems: tuple[tuple[str, str], ...]) -> None:
        super().__init__("; ".join(f"{key}: {reason}" for key, reason in problems))
        self.problems = problems


@dataclass(frozen=True, slots=True, kw_only=True)
class GilbertElliott:
    """Loss in bursts: a good and a bad state with a loss share in each, changing with every packet."""

    good_to_bad: Annotated[float, "share"]
    bad_to_good: Annotated[float, "share"]
    loss_bad: Annotated[float, "share"] = 1.0
    loss_good: Annotated[float, "share"] = 0.0

    def problems(self) -> list[str]:
        """Why there is no such model."""
        found = [
            f"{name} is a share from 0% to 100%"
            for name in ("good_to_bad", "bad_to_good", "loss_bad", "loss_good")
            if not 0 <= getattr(self, name) <= 1
        ]
        if not found and self.good_to_bad + self.bad_to_good == 0:
            found.append("a model that never changes its state is a plain loss")
        return found

    def loss_share(self) -> float:
        """The share of packets lost in the long run."""
        bad = self.good_to_bad / (self.good_to_bad + self.bad_to_good)
        return bad * self.loss_bad + (1 - bad) * self.loss_good


@dataclass(frozen=True, slots=True, kw_only=True)
class NetemSettings:
    """One netem qdisc in the kernel's own numbers (tc_netem_qopt and its attributes).

    netem keeps table, rate, corruption and reordering of an earlier change when an attribute is left out: write all of
    them, or replace the qdisc.
    """

    latency_ns: int = 0
    jitter_ns: int = 0
    table: tuple[int, ...] = ()
    limit: int = QUEUE_PACKETS
    loss: int = 0
    gemodel: tuple[int, int, int, int] | None = None  # p, r, h, k1 of tc_netem_gemodel
    duplicate: int = 0
    gap: int = 0
    reorder: int = 0
    corrupt: int = 0
    rate_bytes_per_s: int = 0


@dataclass(frozen=True, slots=True)
class Seeded:
    """What is written to, and read from, a netem qdisc. No seed is read where the kernel knows none (before 6.6)."""

    settings: NetemSettings
    seed: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFeatures:
    """What a kernel can do that impairments depend on."""

    netem: bool = True
    netem_seed: bool = True  # TCA_NETEM_PRNG_SEED: since Linux 6.6
    randomness_from_seed: bool = False  # all of the kernel's own random numbers follow from the run's seed


_UNSEEDED = "netem draws it from the kernel's entropy, not from its seed: the run could not be repeated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Impairment:
    """What happens to packets that leave through one interface. Shares are 0..1."""

    # What netem has and people look for, and why it is not here.
    NOT_KEYS: ClassVar[Mapping[str, str]] = {
        "correlation": f"a correlation begins with a random number; {_UNSEEDED}",
        "slot": f"the first slot begins at a random moment; {_UNSEEDED}",
    }

    loss: Annotated[float, "share"] = 0.0
    loss_model: GilbertElliott | None = None
    delay_ns: Annotated[int, "duration"] = 0
    jitter_ns: Annotated[int, "duration"] = 0
    distribution: Annotated[Distribution | None, "distribution"] = None
    duplicate: Annotated[float, "share"] = 0.0
    reorder: Annotated[float, "share"] = 0.0
    corrupt: Annotated[float, "share"] = 0.0
    rate_bps: Annotated[int, "bits"] = 0  # 0: as fast as it comes
    limit_packets: Annotated[int, "packets"] = QUEUE_PACKETS

    def __post_init__(self) -> None:
        problems = (*self._values(), *self._combinations())
        if problems:
            raise ImpairmentError(problems)

    def _values(self) -> tuple[tuple[str, str], ...]:
        found = [
            (name, f"{name} is a share from 0% to 100%")
            for name in ("loss", "duplicate", "reorder", "corrupt")
            if not 0 <= getattr(self, name) <= 1
        ]
        if self.loss_model is not None:
            found += [("loss_model", reason) for reason in self.loss_model.problems()]
        found += [
            (key, f"{key} cannot be below 0")
            for key, value in (("delay", self.delay_ns), ("jitter", self.jitter_ns), ("rate", self.rate_bps))
            if value < 0
        ]
        if self.jitter_ns > JITTER_MAX_NS:
            found.append(("jitter", "netem's jitter ends at 2.147 s"))
        if self.rate_bps % 8:
            found.append(("rate", "netem counts bytes: a rate is a multiple of 8 bit/s"))
        if not 1 <= self.limit_packets < 2**31:
            found.append(("limit", "a queue holds at least 1 packet and less than 2,147,483,648"))
        return tuple(found)

    def _combinations(self) -> tuple[tuple[str, str], ...]:
        found = []
        if self.loss and self.loss_model is not None:
            found.append(("loss_model", "netem has one loss model at a time: either loss or loss_model"))
        if self.spreads and self.rate_bps:
            found.append(("rate", "a rate makes netem keep all packets in order, so the jitter would reorder none"))
        if self.reorder and not self.delay_ns:
            found.append(("reorder", "reordering lets packets overtake those that are delayed: it needs a delay"))
        if self.distribution is not None and not isinstance(self.distribution, Uniform) and self.delay_ns >= 0:
            try:
                self.draw()
            except ValueError as error:
                found.append(("distribution", str(error)))
        elif self.jitter_ns > max(self.delay_ns, 0):
            found.append(("jitter", "a jitter above the delay would need delays below 0, which netem sends at once"))
        return tuple(found)

    @property
    def spreads(self) -> bool:
        """Do packets differ in their delay?"""
        return self.jitter_ns > 0 or (self.distribution is not None and not isinstance(self.distribution, Uniform))

    @property
    def least_ns(self) -> int:
        """How long a packet takes that is in luck."""
        return 0 if self.reorder else max(0, self.delay_ns - self.jitter_ns)

    def without_loss(self) -> Impairment:
        """The same, but everything arrives, once and as it was sent."""
        return replace(self, loss=0.0, loss_model=None, duplicate=0.0, corrupt=0.0)

    def draw(self) -> DelayDraw:
        """How the delay of each packet is drawn."""
        if not self.spreads:
            return DelayDraw(self.delay_ns)
        return (self.distribution or Uniform()).draw(self.delay_ns, self.jitter_ns)

    def loss_share(self) -> float:
        """The share of packets that are lost in the long run."""
        return self.loss if self.loss_model is None else self.loss_model.loss_share()

    def settings(self) -> NetemSettings:
        """The same in the kernel's numbers."""
        draw = self.draw()
        return NetemSettings(
            latency_ns=draw.latency_ns,
            jitter_ns=draw.jitter_ns,
            table=draw.table,
            limit=self.limit_packets,
            loss=scaled(self.loss),
            gemodel=None if self.loss_model is None else _gemodel(self.loss_model),
            duplicate=scaled(self.duplicate),
            gap=1 if self.reorder else 0,
            reorder=scaled(self.reorder),
            corrupt=scaled(self.corrupt),
            rate_bytes_per_s=self.rate_bps // 8,
        )


def scaled(share: float) -> int:
    """A share as netem writes it."""
    return round(share * EVERY)


def _gemodel(model: GilbertElliott) -> tuple[int, int, int, int]:
    """netem's h is the share that gets through in the bad state."""
    return (
        scaled(model.good_to_bad),
        scaled(model.bad_to_good),
        scaled(1 - model.loss_bad),
        scaled(model.loss_good),
    )


def refusals(
    impairment: Impairment,
    engine: Literal["virtual", "live"],
    features: KernelFeatures | None = None,
    *,
    one_channel: bool = False,
) -> tuple[tuple[str, str], ...]:
    """Why this impairment must not be set here, although netem could: (key, reason). Empty: it may."""
    features = features or KernelFeatures(randomness_from_seed=engine == "virtual")
    found = []
    if not features.netem:
        found.append(("", "this kernel has no netem (CONFIG_NET_SCH_NETEM)"))
    elif engine == "virtual" and not features.netem_seed:  # real time is not repeatable anyway
        found.append(("", "this kernel's netem takes no seed (it needs Linux 6.6 or later)"))
    if engine == "virtual" and impairment.corrupt and not features.randomness_from_seed:
        found.append(("corrupt", "netem's seed does not cover which bit is corrupted: the run could not be repeated"))
    if one_channel:
        if impairment.spreads:
            key = "jitter" if impairment.jitter_ns else "distribution"
            found.append((key, "a one_channel has one order for all; delays that differ would break it"))
        if impairment.reorder:
            found.append(("reorder", "a one_channel has one order for all; reordering would break it"))
    return tuple(found)
