"""A CPU for each run: nobody shares one while there are others, and a run that finds none goes without."""

from __future__ import annotations

import contextlib
import os

from harness.engines.watch import own_cpu

NAME = f"tutti-test-{os.getpid()}"  # the runs of other tests are not ours


def test_no_cpu_is_given_twice() -> None:
    there = os.sched_getaffinity(0)
    with contextlib.ExitStack() as stack:
        given = [tuple(stack.enter_context(own_cpu(NAME))) for _ in range(len(there) + 1)]
    assert given[-1] == ()
    own = [cpu for one in given for cpu in one]
    assert len(set(own)) == len(own) and set(own) <= there


def test_a_cpu_is_free_again_whatever_happens() -> None:
    with contextlib.suppress(OSError), own_cpu(NAME) as first:
        raise OSError
    with own_cpu(NAME) as again:
        assert again == first
