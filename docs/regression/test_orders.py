"""What a TOML file cannot say: scenarios made in Python, and questions to the tables of evidence."""

import pytest

from nodes.wire.note import NoteKind

SCENARIO = {
    "name": "made",
    "protocol": "st",
    "topology": {"kind": "one_channel", "channel": {"rate": "10mbit", "delay": "200us"}},
    "workload": {"kind": "bursts", "rounds": 2},
}


@pytest.mark.parametrize("nodes", [2, 4])
def test_every_message_reaches_everybody(tutti_run, nodes):
    result = tutti_run(SCENARIO, settings=[f"topology.nodes={nodes}"])
    notes = result.evidence.notes
    assert result.outcome == "pass"
    assert len(notes.of_kind(NoteKind.DELIVERED)) == nodes * len(notes.of_kind(NoteKind.SENT))
