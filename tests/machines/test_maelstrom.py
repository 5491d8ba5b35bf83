"""The PDU that carries messages of nodes of Maelstrom, and what their options may not say."""

from __future__ import annotations

import pytest

from nodes.maelstrom.options import MaelstromOptions
from nodes.program.options import Adapter, Daemon
from nodes.wire.maelstrom import MaelstromMessage
from tests.helpers.typed import golden

PROGRAM = Daemon(command=("node",))


def test_golden_bytes() -> None:
    pdu = MaelstromMessage(src=3, dest=0x0102, number=0x1122334455667788, part=4, parts=5, payload=b"{}")
    golden(pdu, "7475 28 01 0003 001c", "0102 1122334455667788 0004 0005 7b7d")


def test_a_node_of_maelstrom_is_its_own_adapter_and_says_itself_that_it_is_ready() -> None:
    assert MaelstromOptions(main=PROGRAM, workload="echo").talks == "node"
    with pytest.raises(ValueError, match="a node of Maelstrom reads and writes messages itself"):
        MaelstromOptions(main=PROGRAM, workload="echo", adapter=Adapter(command=("x",)))
    with pytest.raises(ValueError, match="it is ready when it answers `init`"):
        MaelstromOptions(main=Daemon(command=("node",), ready="yes"), workload="echo")
    with pytest.raises(ValueError, match="read_every is more than nothing"):
        MaelstromOptions(main=PROGRAM, workload="broadcast", read_every_ns=0)
