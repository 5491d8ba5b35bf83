"""The places where the printed procedure fails, each beside its repair (paper 003; D-HI-4, 5, 6, 8, 19).

A machine takes one of each pair when it is made. Nothing else depends on `rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from nodes.him.options import HimOptions
from nodes.wire.him import Reason

# D-HI-4: how often is a REPORT sent?


def printed_report_times(options: HimOptions) -> int:
    """§3.3 step 5: once. Nobody acknowledges it, and the originator takes silence for success."""
    return 1


def repaired_report_times(options: HimOptions) -> int:
    """Until a later round or the END is seen, rtry times at most."""
    return options.rtry


# D-HI-5: what starts a test after a repeated multicast?


def printed_query_starts_test(round_: int, lastround: int) -> bool:
    """Only the arrival of DATA does: who misses the repetition does not test, and his tester finds him content."""
    return False


def repaired_query_starts_test(round_: int, lastround: int) -> bool:
    """A question of a later round does too (5b)."""
    return round_ > lastround


def printed_retests(maxfail: int, lastround: int) -> int:
    """A test that ended badly is not repeated by itself."""
    return 0


def repaired_retests(maxfail: int, lastround: int) -> int:
    """It is, as often as there are rounds left (5a)."""
    return maxfail - lastround


def printed_pending(bad: Iterable[int]) -> frozenset[int]:
    """The next test asks whom adj names."""
    return frozenset()


def repaired_pending(bad: Iterable[int]) -> frozenset[int]:
    """The next test asks those too that failed this one, whomever adj names then."""
    return frozenset(bad)


# D-HI-19: what does the originator make of a REPORT that names itself?


def printed_accused(node: int, reason: Reason, reporter: int, me: int) -> int | None:
    """A request for repetition like any other, although only a question or an answer was lost."""
    return node


def repaired_accused(node: int, reason: Reason, reporter: int, me: int) -> int | None:
    """It holds what it sent: nobody is accused, unless the reporter holds something else."""
    if node != me:
        return node
    return reporter if reason is Reason.MISMATCH else None


# D-HI-6: who is asked before a node is disjoined?


def printed_to_probe(suspects: Iterable[int]) -> tuple[int, ...]:
    """§3.3 step 7: nobody. A tester with one broken path has its healthy neighbour removed."""
    return ()


def repaired_to_probe(suspects: Iterable[int]) -> tuple[int, ...]:
    """The suspects themselves, by the originator."""
    return tuple(sorted(suspects))


# D-HI-8: which earlier failures of a node still count, and what follows from one?


def printed_failure_counts(same_message: bool, reason: Reason, age_ns: int, window_ns: int) -> bool:
    """Those of this message: chosen at random, a dead node hardly ever fails maxfail times within one."""
    return same_message


def repaired_failure_counts(same_message: bool, reason: Reason, age_ns: int, window_ns: int) -> bool:
    """Those of earlier messages too, unless there was evidence for the node or it answered that it has not got it."""
    return same_message or (reason is not Reason.NOTHAVE and age_ns <= window_ns)


def printed_heeds_failure(adj: str, reason: Reason, already: int) -> bool:
    """One clean round, and the failure is forgotten."""
    return False


def repaired_heeds_failure(adj: str, reason: Reason, already: int) -> bool:
    """Where the next round may ask others, a person hears of the first failure at once."""
    return adj != "ring" and reason is Reason.NOANSWER and already == 0


def printed_doubted_after_success(counts: Mapping[int, int], maxfail: int) -> tuple[int, ...]:
    """Who may be disjoined although this message succeeded: nobody."""
    return ()


def repaired_doubted_after_success(counts: Mapping[int, int], maxfail: int) -> tuple[int, ...]:
    """Who failed often enough, over all messages together."""
    return tuple(sorted(node for node, count in counts.items() if count >= max(maxfail, 1)))


# Whom to ask when T_dec brought no report? (ours)


def believes_silence(members: tuple[int, ...], evidence: set[int]) -> tuple[int, ...]:
    """§3.3: nobody, silence is success."""
    return ()


def believes_evidence(members: tuple[int, ...], evidence: set[int]) -> tuple[int, ...]:
    """Whoever gave no evidence that he holds it: then no loss whatever makes a false success."""
    return tuple(member for member in members if member not in evidence)


def believes_neighbours(members: tuple[int, ...], evidence: set[int]) -> tuple[int, ...]:
    """Up to three members all are neighbours of the originator, who hears them anyway; more would be an implosion."""
    return believes_evidence(members, evidence) if len(members) <= 3 else ()


_UNPROVEN = {"silence": believes_silence, "evidence": believes_neighbours, "tree": believes_evidence}


@dataclass(frozen=True, slots=True)
class Rules:
    """One of each pair."""

    report_times: Callable[[HimOptions], int]
    query_starts_test: Callable[[int, int], bool]
    retests: Callable[[int, int], int]
    pending: Callable[[Iterable[int]], frozenset[int]]
    accused: Callable[[int, Reason, int, int], int | None]
    to_probe: Callable[[Iterable[int]], tuple[int, ...]]
    failure_counts: Callable[[bool, Reason, int, int], bool]
    heeds_failure: Callable[[str, Reason, int], bool]
    doubted_after_success: Callable[[Mapping[int, int], int], tuple[int, ...]]
    rejoins: bool  # who finds himself disjoined asks to be taken in again: ours
    evidence_refutes: bool  # who says himself that he holds it is no suspect: ours
    evidence_decides: bool  # SUCCESS without waiting for silence: ours, the paper has nothing of the kind
    unproven: Callable[[tuple[int, ...], set[int]], tuple[int, ...]]
    tree: bool
    awaits_end: bool  # D-HI-20: who holds a message is not content before the originator has said how it ended


def rules_of(options: HimOptions) -> Rules:
    printed = options.rules == "printed"
    test = printed or options.printed_test
    count = printed or options.printed_count
    return Rules(
        report_times=printed_report_times if printed or options.printed_report else repaired_report_times,
        query_starts_test=printed_query_starts_test if test else repaired_query_starts_test,
        retests=printed_retests if test else repaired_retests,
        pending=printed_pending if test else repaired_pending,
        accused=printed_accused if printed else repaired_accused,
        to_probe=printed_to_probe if printed or options.printed_disjoin else repaired_to_probe,
        failure_counts=printed_failure_counts if count else repaired_failure_counts,
        heeds_failure=printed_heeds_failure if count else repaired_heeds_failure,
        doubted_after_success=printed_doubted_after_success if count else repaired_doubted_after_success,
        rejoins=not printed,
        evidence_refutes=not printed,
        evidence_decides=not printed and options.confirmation != "silence",
        unproven=believes_silence if printed else _UNPROVEN[options.confirmation],
        tree=not printed and options.confirmation == "tree",
        awaits_end=not (printed or options.printed_end),
    )
