"""A case on the emulated network: carried out there, judged from its captures, and what of it is new read from them.

There are no machines to look into, so a word is what a node noted last, what it took in, and what had struck. For
programs of a user's own and daemons there is no other level; for our protocols it is the same draw and the same judges.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from pathlib import Path

from captures.evidence import Event, Evidence
from harness.engines.engine import engine_of
from harness.engines.outcome import EngineError, EngineOptions, NodeDied
from harness.explore.judging import DIED, Judged, against_of, wanted
from harness.explore.novelty import Novelty
from harness.explore.stage import START_NS
from harness.judges import Outcome, Verdict
from harness.rundir import create
from harness.runs import Run, carry_out
from harness.scenario import ScenarioError, dump, loads
from harness.scenario.explore import Explore
from harness.scenario.model import Expect, Scenario
from harness.shape import shape_of
from harness.verdict import judge_run
from nodes.protocols import protocol
from nodes.wire.note import NoteKind

NOT_CARRIED_OUT = "not carried out"


def get_ready(base: Scenario) -> None:
    """Have a template, with the network of most cases, which all processes that are forked from this one share."""
    engine_of(base.engine).get_ready(EngineOptions(), shape_of(base), many=True)


def asked(case: Scenario, space: Explore) -> Scenario:
    """The case as a run there is asked for it: what it is judged for, and what the space adds."""
    return replace(case, explore=None, expect=tuple(Expect(property=name) for name in wanted(case, space.properties)))


def carried_out(case: Scenario, directory: str) -> Run:
    """A run of it, below a directory."""
    return carry_out(case, create(case.name, case.seed, Path(directory) / "run"), EngineOptions(), lambda now: None)


def judged_there(case: Scenario, space: Explore) -> Judged:
    """Carry out a case, and judge what a run of it is judged for, and what the space adds."""
    novelty = Novelty(protocol(case.protocol))
    there = asked(case, space)
    with tempfile.TemporaryDirectory(prefix="tutti-explore-") as directory:
        try:
            loads(dump(there))  # not all that is drawn can befall programs of other people
        except ScenarioError:
            return Judged(novelty, ())
        try:
            run = carried_out(there, directory)
        except NodeDied as error:
            return Judged(novelty, (Verdict(DIED, Outcome.FAIL, str(error).splitlines()[0]),))
        except EngineError as error:  # nobody can tell
            novelty.words[NOT_CARRIED_OUT, str(error).splitlines()[0]] = 0
            return Judged(novelty, ())
        begin = time.process_time()
        result = judge_run(run)
        _retell(result.evidence, novelty)
    against = against_of([one.verdict for one in result.properties], case, space)
    return Judged(novelty, against, time.process_time() - begin)


def _retell(evidence: Evidence, novelty: Novelty) -> None:
    """What the captures say, in the order of time, as the world in memory tells it."""
    frames, notes = evidence.frames, evidence.notes
    sent = [(frame.time_ns, frame.src, frame.title.partition(".")[2], False) for frame in frames.rows(frames.sent)]
    came = [
        (frame.time_ns, int(frame.at[1:]), frame.title.partition(".")[2], True) for frame in frames.rows(frames.came)
    ]
    begin_ns = next((one.time_ns for one in notes.events(NoteKind.MARK) if one.text == "start"), 0)
    everything = [(one[0], one) for one in (*sent, *came)] + [(one.time_ns, one) for one in notes]
    for time_ns, what in sorted(everything, key=lambda pair: pair[0]):
        at_ns = time_ns - begin_ns + START_NS
        if not isinstance(what, Event):
            _, node, title, is_in = what
            if is_in:
                novelty.took(node, title, at_ns)
            else:
                novelty.tracks[node].append(title)
        elif what.kind is NoteKind.FAULT:
            novelty.struck(what.fault)
        elif what.node:
            novelty.noted(what._replace(time_ns=at_ns))
