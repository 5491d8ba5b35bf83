"""The papers' formulas by name, as functions of the scenario of a point, to draw beside what was measured.

"printed" is what the paper says, "corrected" what its model gives, "simulated" a table of ours where no formula exists
(references/: programs that know nothing of the machines that are measured).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from harness.scenario import Scenario
from harness.scenario.faults.crash import Crash
from harness.scenario.faults.leave import Leave
from harness.scenario.model import Bursts, Destinations, Generated, Steady
from harness.sweep.references import cmd_tags, delta_tags, him_ring
from harness.sweep.statistics import Z
from nodes.cmd import evaluation as cmd
from nodes.him import evaluation as him
from nodes.st import evaluation as st
from nodes.st.evaluation import Load
from nodes.tcp.options import TcpOptions

Style = Literal["printed", "corrected", "simulated"]


@dataclass(frozen=True, slots=True)
class Formula:
    """One curve to draw. `of` is None where the formula says nothing about a scenario."""

    name: str
    style: Style
    label: str
    metric: str  # beside which it is drawn
    of: Callable[[Scenario], float | None]
    error: Callable[[Scenario], float | None] | None = None  # of a sample: half the width of its interval


FORMULAS: dict[str, Formula] = {}


def formula(
    name: str, style: Style, label: str, metric: str, error: Callable[[Scenario], float | None] | None = None
) -> Callable[[Callable[[Scenario], float | None]], Callable[[Scenario], float | None]]:
    """Enter a function into the table."""

    def enter(of: Callable[[Scenario], float | None]) -> Callable[[Scenario], float | None]:
        if name in FORMULAS:
            raise ValueError(f"there is a formula {name} already")
        FORMULAS[name] = Formula(name, style, label, metric, of, error)
        return of

    return enter


# What a scenario says about the quantities of the papers.


def destinations(scenario: Scenario) -> float:
    """d, the mean number of destinations."""
    n = scenario.topology.nodes
    to = scenario.workload.destinations if isinstance(scenario.workload, Generated) else Destinations()
    if to.count is not None:
        return to.count
    if to.nodes is not None:
        return len(to.nodes)
    return (to.fraction or 1.0) * n


def loss(scenario: Scenario) -> float:
    """f, the chance that a receiver misses a frame."""
    kept: float = 1.0
    for impair in scenario.impair:
        if impair.on == ("receivers",):
            kept *= 1 - impair.impairment.loss
    return 1 - kept


def delay_s(scenario: Scenario) -> float:
    """The mean delay of a frame."""
    return sum(impair.impairment.delay_ns for impair in scenario.impair if len(impair.on) == 1) / 1e9


def down(scenario: Scenario) -> list[str]:
    """The nodes that crash or leave."""
    return [name for fault in scenario.fault if isinstance(fault, Crash | Leave) for name in fault.node]


def st_load(scenario: Scenario) -> Load | None:
    """n, d, f and L of paper 000: every entity submits one PDU, so L = n times the size of a burst."""
    if not isinstance(scenario.workload, Bursts):
        return None
    n = scenario.topology.nodes
    return Load(n, destinations(scenario), loss(scenario), n * scenario.workload.size)


def _per_pdu(name: str, style: Style, label: str, metric: str, of_burst: Callable[[Load], float]) -> None:
    @formula(name, style, label, metric)
    def _(scenario: Scenario) -> float | None:
        load = st_load(scenario)
        return None if load is None else of_burst(load) / load.length


def resent_until_there(load: Load) -> float:
    """Each PDU goes out until all its destinations have it, and its sender its own copy (D-ST-22).

    The k-th repetition takes place if somebody has missed all k copies before it.
    """
    receivers = load.d + 1 - load.share
    return float(load.length * sum(1 - (1 - load.f**k) ** receivers for k in range(1, 60)))


_per_pdu("000-sorted-printed", "printed", "U/L (3)", "sorted_per_data", st.sorted_printed)
_per_pdu("000-sorted-once", "corrected", "U/L, share once", "sorted_per_data", st.sorted_once)
_per_pdu("000-selective-printed", "printed", "R/L (5)", "retransmitted_per_data", st.resent_printed)
_per_pdu("000-selective-channel", "corrected", "1-F", "retransmitted_per_data", st.channel_selective)
_per_pdu("000-selective-repeated", "corrected", "until all have it", "retransmitted_per_data", resent_until_there)
_per_pdu("000-go-back-printed", "printed", "U/L (3)", "go_back_per_data", st.sorted_printed)
_per_pdu("000-go-back-channel", "corrected", "at or behind the first loss", "go_back_per_data", st.channel_go_back)


def _of_fig_4(scenario: Scenario) -> tuple[delta_tags.Curves, delta_tags.Curves] | None:
    """What the reference simulation of Fig. 4 gave for a scenario, and its standard errors."""
    if not isinstance(scenario.workload, Steady) or scenario.topology.nodes != delta_tags.PROCESSES:
        return None
    load = round(scenario.workload.rate_per_s * delay_s(scenario), 6)
    skew = round(scenario.options.epsilon_ns / scenario.options.delta_ns, 6)
    ahead = {name for clock in scenario.clock if clock.offset_ns == scenario.options.epsilon_ns for name in clock.node}
    if skew and len(ahead) != delta_tags.PROCESSES // 2:
        return None
    return delta_tags.table().get((skew, load, scenario.options.max_cb))


def _fig_4(name: str, metric: str, value: Callable[[delta_tags.Curves], float]) -> None:
    def error(scenario: Scenario) -> float | None:
        found = _of_fig_4(scenario)
        return None if found is None else Z * value(found[1])

    @formula(name, "simulated", "reference simulation", metric, error)
    def _(scenario: Scenario) -> float | None:
        found = _of_fig_4(scenario)
        return None if found is None else value(found[0])


_fig_4("002-rate-max", "cb_full_share", lambda curves: curves.full)
_fig_4("002-rate-wait", "unnecessary_wait_share", lambda curves: curves.waits)
_fig_4("002-rate-wait-time", "unnecessary_wait_per_delta", lambda curves: curves.wait_per_delta)
_fig_4("002-tag-entries", "cb_entries", lambda curves: curves.entries)


def _of_n(name: str, style: Style, label: str, metric: str, of: Callable[[int], float]) -> None:
    formula(name, style, label, metric)(lambda scenario: of(scenario.topology.nodes))


def _loss_free(name: str, style: Style, label: str, of: Callable[[int], float]) -> None:
    @formula(name, style, label, "frames_per_message")
    def _(scenario: Scenario) -> float | None:
        return None if loss(scenario) else of(scenario.topology.nodes)


_loss_free("003-packets", "printed", "2n+1", him.packets)
_loss_free("003-packets-end", "corrected", "2n+1 and the END", lambda n: him.packets(n) + 1)
_loss_free("003-tcp", "printed", "TCP handshakes 3(n-1)", him.tcp_handshakes)


def _over_tcp(scenario: Scenario) -> bool:
    return isinstance(scenario.options, TcpOptions)


def _either(
    name: str, style: Style, label: str, metric: str, packets: Callable[[int], float], stream: Callable[[int], float]
) -> None:
    @formula(name, style, label, metric)
    def _(scenario: Scenario) -> float | None:
        n = scenario.topology.nodes
        return (stream if _over_tcp(scenario) else packets)(n) if not loss(scenario) else None


_either("003-either-printed", "printed", "2n+1, 3(n-1)", "packets_per_message", him.packets, him.tcp_handshakes)
_either("003-either", "corrected", "2n+2, 8(n-1)", "packets_per_message", lambda n: him.packets(n) + 1, him.tcp_closed)


@formula("003-either-time", "corrected", "1.5 round trips, 2", "completion_p50_ms")
def _either_time(scenario: Scenario) -> float | None:
    """§3.4.1: half a round trip for the DATA and one for the test; of TCP one and one."""
    return (4 if _over_tcp(scenario) else 3) * delay_s(scenario) * 1e3


_of_n("003-missed-printed", "printed", "(1-1/n)^n", "missed_share", him.paper_bound)
_of_n("003-sends-printed", "printed", "1/P(n)", "sends_to_report", lambda n: 1 / him.paper_bound(n))


@formula("003-missed", "corrected", "among the others", "missed_share")
def _missed(scenario: Scenario) -> float | None:
    return _miss(scenario)


def _miss(scenario: Scenario) -> float:
    if scenario.options.adj == "ring":
        return 0.0
    return him.miss_among_others(scenario.topology.nodes, scenario.options.neighbours)


@formula("003-sends", "corrected", "1/(1-miss)", "sends_to_report")
def _sends(scenario: Scenario) -> float | None:
    """Every multicast is a trial; the paper takes the chance of a miss for that of a report (D-HI-1)."""
    return him.expected_sends(_miss(scenario))


def _in_the_ring(scenario: Scenario) -> tuple[him_ring.Cost, him_ring.Cost] | None:
    """What the reference simulation of the ring gave for a scenario, and its standard errors."""
    chosen = scenario.options
    if (chosen.adj, chosen.maxfail, chosen.q, chosen.rtry) != ("ring", *him_ring.TRIES) or down(scenario):
        return None
    return him_ring.table().get((chosen.rules, scenario.topology.nodes, round(loss(scenario), 6)))


def _simulated(name: str, metric: str, value: Callable[[him_ring.Cost], float]) -> None:
    def error(scenario: Scenario) -> float | None:
        found = _in_the_ring(scenario)
        return None if found is None else Z * value(found[1])

    @formula(name, "simulated", "reference simulation", metric, error)
    def _(scenario: Scenario) -> float | None:
        found = _in_the_ring(scenario)
        return None if found is None else value(found[0])


_simulated("003-under-loss", "frames_per_message", lambda cost: cost.packets)
_simulated("003-rounds-under-loss", "rounds_per_message", lambda cost: cost.rounds)


@formula("003-false-success", "corrected", "exact, by rounds", "false_success_share")
def _false(scenario: Scenario) -> float | None:
    """Of the printed rules. It matters who is down: the originator's neighbour is always found, without any REPORT.

    A mean over all n-1 receivers (0.092, 0.372, 0.572 at 1, 5, 10 % for n = 10) is 1/(n-1) below what one node shows.
    """
    chosen, n = scenario.options, scenario.topology.nodes
    dead = set(down(scenario))
    if (chosen.rules, chosen.adj, chosen.neighbours) != ("printed", "ring", 1) or not dead:
        return None
    named = scenario.workload.senders if isinstance(scenario.workload, Generated) else None
    senders = [name for name in named or scenario.nodes if name not in dead]
    shares = []
    for sender in map(scenario.nodes.index, senders):
        behind = {(scenario.nodes.index(name) - sender) % n for name in dead}
        shares.append(him.false_success(n, loss(scenario), behind, chosen.maxfail, chosen.q))
    return sum(shares) / len(shares) if shares else None


def _ring_with_one_down(scenario: Scenario) -> tuple[float, float] | None:
    """Of the reference simulation: the share, and its standard error."""
    chosen, dead = scenario.options, down(scenario)
    senders = scenario.workload.senders if isinstance(scenario.workload, Generated) else None
    if (chosen.rules, chosen.maxfail, chosen.q, chosen.rtry) != ("repaired", *him_ring.TRIES):
        return None
    if len(dead) != 1 or senders is None or len(senders) != 1:
        return None
    behind = (scenario.nodes.index(dead[0]) - scenario.nodes.index(senders[0])) % scenario.topology.nodes
    return him_ring.table_down().get((scenario.topology.nodes, behind, round(loss(scenario), 6)))


def _error_of_one_down(scenario: Scenario) -> float | None:
    found = _ring_with_one_down(scenario)
    return None if found is None else Z * found[1]


@formula("003-false-success-repaired", "simulated", "reference simulation", "false_success_share", _error_of_one_down)
def _false_repaired(scenario: Scenario) -> float | None:
    found = _ring_with_one_down(scenario)
    return None if found is None else found[0]


@formula("003-first-round-clean", "corrected", "(1-f)^(3n-1)", "first_round_share")
def _clean(scenario: Scenario) -> float | None:
    return him.first_round_clean(scenario.topology.nodes, loss(scenario))


_of_n("004-bound", "printed", "N(N-1), the bound", "settled_entries", cmd.bound)
_of_n("004-matrix-bytes", "printed", "an N x N matrix", "settled_tag_bytes", cmd.matrix_bytes)


def _of_tags(scenario: Scenario) -> tuple[float, float] | None:
    """The records of a message in the reference simulation, and their standard error."""
    load, scheme = scenario.workload, getattr(scenario.options, "scheme", "matrix")
    delays = [(one.impairment.delay_ns, one.impairment.jitter_ns) for one in scenario.impair if one.on == ("senders",)]
    if not isinstance(load, Steady) or load.arrivals != "poisson" or scheme == "matrix":
        return None
    if load.destinations.among != "others" or delays != [cmd_tags.DELAY_AND_JITTER_NS]:
        return None
    n = scenario.topology.nodes
    found = cmd_tags.table().get(cmd_tags.Load(n, load.destinations.count or n - 1, load.rate_per_s, load.for_ns / 1e9))
    if found is None:
        return None
    means, errors = found
    return (means.unpruned, errors.unpruned) if scheme == "unpruned" else (means.pruned, errors.pruned)


def _error_of_tags(scenario: Scenario) -> float | None:
    found = _of_tags(scenario)
    return None if found is None else Z * found[1]


def _error_of_tag_bytes(scenario: Scenario) -> float | None:
    found, n = _of_tags(scenario), scenario.topology.nodes
    return None if found is None else cmd.tag_bytes(n, Z * found[1]) - cmd.tag_bytes(n, 0)


@formula("004-records", "simulated", "reference simulation", "settled_entries", _error_of_tags)
def _records(scenario: Scenario) -> float | None:
    found = _of_tags(scenario)
    return None if found is None else found[0]


@formula("004-record-bytes", "simulated", "reference simulation", "settled_tag_bytes", _error_of_tag_bytes)
def _record_bytes(scenario: Scenario) -> float | None:
    found = _of_tags(scenario)
    return None if found is None else cmd.tag_bytes(scenario.topology.nodes, found[0]) - cmd.HEAD_BYTES
