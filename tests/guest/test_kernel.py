"""What the private kernel's patches do for clocks and for programs of other people."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest

from harness.engines.guest import EPOCH_NS, boot
from harness.engines.kernel import private_kernel
from harness.engines.outcome import EngineOptions
from harness.engines.template import new_template
from harness.exchange import exchange
from harness.rundir import RunDir

AGENT = "tests.helpers.guest_programs"
READ_NS = 256  # what reading a clock takes in virtual time
SYSTEM_CALL_NS = 1000  # what a system call of a program takes
TIMES = 1000  # that each is done


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    if not private_kernel().forks:
        pytest.skip("this private kernel has not the patches of the newest")
    told = []
    for way in ("booted", "forked"):
        run = tmp_path_factory.mktemp(way)
        (run / "logs").mkdir()
        with contextlib.ExitStack() as stack:
            files = stack.enter_context(exchange(RunDir(run)))
            if way == "booted":
                guest = stack.enter_context(boot(private_kernel(), files, EngineOptions(), agent=AGENT))
            else:
                template = new_template(private_kernel(), EngineOptions(), AGENT)
                stack.enter_context(contextlib.closing(template))
                guest = stack.enter_context(template.start(files, EngineOptions()))
            guest.wait(lambda now: None)
        told.append(json.loads((run / "said.json").read_text()))
    assert [_virtual(one) for one in told] == 2 * [_virtual(told[0])], "a fork sees other times than a booted guest"
    found: dict[str, Any] = told[0]
    return found


def _virtual(said: dict[str, Any]) -> dict[str, Any]:
    """Without what comes from the host."""
    hosts = {name: {**said[name], "counter": None} for name in ("ours", "behind")}
    return {**said, **hosts}


def test_only_programs_read_virtual_time_in_the_time_stamp_counter(said: dict[str, Any]) -> None:
    assert 0 <= said["program"]["counter"] < 100_000
    assert abs(said["ours"]["counter"]) > 1_000_000_000


def test_only_system_calls_of_programs_take_time(said: dict[str, Any]) -> None:
    more_ns = said["program"]["polls_ns"] - said["ours"]["polls_ns"]
    assert TIMES * SYSTEM_CALL_NS - 1024 <= more_ns < (TIMES + 10) * SYSTEM_CALL_NS


def test_reading_the_clock_takes_the_same_with_and_without_a_call(said: dict[str, Any]) -> None:
    assert said["ours"]["reads_ns"] == said["program"]["reads_ns"] == (TIMES + 1) * READ_NS
    assert said["behind"]["reads_ns"] == (TIMES + 1) * READ_NS  # in a time namespace each read is a call, ...
    assert said["ahead"]["reads_ns"] >= TIMES * (READ_NS + SYSTEM_CALL_NS)  # ... which a program pays for


def test_a_process_may_have_more_pages_than_the_host_maps(said: dict[str, Any]) -> None:
    """The host lets a process have 65,530 mappings by default; one with more hung."""
    assert said["scattered"]["kept"] == 70_000


def test_nobody_oversleeps_because_another_reads_the_clock(said: dict[str, Any]) -> None:
    assert 0 <= said["waited"]["late_ns"] < 10_000


def test_a_time_namespace_has_a_clock_of_its_own(said: dict[str, Any]) -> None:
    assert said["ours"]["ahead_ns"] == pytest.approx(EPOCH_NS, abs=READ_NS)
    for name, ahead_ns, gained_ns in (("ahead", 10_000_000_000, 500_000), ("behind", -1_500_000_000, 0)):
        assert said[name]["ahead_ns"] - EPOCH_NS == pytest.approx(ahead_ns, abs=5_000)
        gained = said[name]["ahead_after_5_s_ns"] - said[name]["ahead_ns"]
        assert gained == pytest.approx(gained_ns, abs=1_000)
