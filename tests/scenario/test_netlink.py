"""What is said to the kernel in bytes of our own, and what it answers."""

from __future__ import annotations

import fcntl
import os

import pytest

from nodes.waiting import readable
from topologies.netlink import set_neighbours


def test_a_neighbour_that_the_kernel_does_not_take_is_an_error() -> None:
    many = [(1_999_999_999, f"fd00::{number:x}", "02:6e:00:00:00:01") for number in range(1, 2500)]
    with pytest.raises(OSError, match="does not take a neighbour"):
        set_neighbours(many)  # there is no such interface; and without rights there is no such request


def test_waiting_knows_descriptors_beyond_those_of_select() -> None:
    read, write = os.pipe()
    high = fcntl.fcntl(read, fcntl.F_DUPFD, 1024 if os.sysconf("SC_OPEN_MAX") > 1024 else read)
    try:
        assert readable([high], 1) == []
        os.write(write, b"x")
        assert readable([read, high], None) == [read, high]
        os.read(read, 1)
        os.close(write)
        assert readable([high], None) == [high]  # its end can be read
    finally:
        os.close(high)
        os.close(read)
