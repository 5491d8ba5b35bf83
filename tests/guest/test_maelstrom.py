"""Nodes that were written for Maelstrom: what they are told, what they may say, long messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.engines.outcome import EngineError
from harness.rundir import RunDir
from harness.verdict import Result
from nodes.wire.note import NoteKind
from tests.helpers.guests import digest, needs_kernel, run

pytestmark = needs_kernel

SCENARIO = """
name = "maelstrom"
protocol = "maelstrom"
settle = "200ms"
limit = "30s"
[maelstrom]
command = ["python3", "node.py"]
files = {{ "node.py" = "{directory}/node.py" }}
workload = "echo"
ready_within = "1s"
[topology]
{topology}
[workload]
kind = "bursts"
rounds = 3
"""
LAN = 'kind = "lan"\nnodes = 3'
CHANNEL = 'kind = "one_channel"\nnodes = 3\nchannel = { rate = "10mbit", delay = "200us" }'

# Each asks its neighbour what to answer, in many words.
ASKS = """
import json, sys
asked = {}
for line in sys.stdin:
    message = json.loads(line)
    source, body = message["src"], message["body"]
    if body["type"] == "init":
        me, nodes = body["node_id"], body["node_ids"]
        print("I am", me, "of", *nodes, file=sys.stderr, flush=True)
        to, answer = source, {"type": "init_ok", "in_reply_to": body["msg_id"]}
    elif body["type"] == "echo":
        asked[body["msg_id"]] = body["echo"]
        to = nodes[nodes.index(me) - 1]
        answer = {"type": "what?", "msg_id": body["msg_id"], "client": source, "pad": ["x" * 5000, body["echo"]]}
    elif body["type"] == "what?":
        to, answer = source, {**body, "type": "that!"}
    elif body["type"] == "that!":
        to, answer = body["client"], {"type": "echo_ok", "in_reply_to": body["msg_id"], "echo": body["pad"][1]}
    print(json.dumps({"src": me, "dest": to, "body": answer}), flush=True)
"""


def _run(tmp_path: Path, program: str, topology: str = LAN, out: str = "run") -> tuple[RunDir, Result]:
    (tmp_path / "node.py").write_text(program)
    return run(SCENARIO.format(directory=tmp_path, topology=topology), tmp_path / out)


@pytest.mark.parametrize("topology", [LAN, CHANNEL], ids=["lan", "channel"])
def test_long_messages_come_whole_over_the_network(topology: str, tmp_path: Path) -> None:
    where, result = _run(tmp_path, ASKS, topology)
    assert result.status == 0, list(result.properties)
    assert len(result.evidence.notes.events(NoteKind.DELIVERED)) == 9
    assert (where.logs / "n2-python3.txt").read_text() == "I am n2 of n1 n2 n3\n"
    traffic = [one for one in result.evidence.traffic if one.type == "maelstrom.MESSAGE" and one.direction == "out"]
    assert sum(one.frames for one in traffic) == 9 * 2 * 5  # question and answer, in five parts each
    again, _ = _run(tmp_path, ASKS, topology, "again")
    assert digest(again.path) == digest(where.path)


ANSWERS = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    body = message["body"]
    {}
    print(json.dumps({{"src": message["dest"], "dest": message["src"], "body": answer}}), flush=True)
"""
OK = 'answer = {"type": body["type"] + "_ok", "in_reply_to": body["msg_id"]}'


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("print('hello', flush=True)", "python3 said 'hello': "),
        ("print('{}', flush=True)", "no message as Maelstrom has them (KeyError: 'dest')"),
        (f"{OK}; answer['in_reply_to'] += 1", "it answers nothing that its client has asked, or twice"),
        (f"{OK}; answer['type'] = 'oh'", "the answer to init is init_ok, or an error"),
        ("print('x' * 100_000, flush=True)", f"python3 said '{'x' * 300}' ...: "),
        ("print('x' * 9_000_000, flush=True)", "python3 said a line without end: 'xx"),
        ("print('[' * 10_000, flush=True)", "no message as Maelstrom has them (RecursionError"),
        ("raise SystemExit(4)", "python3 ended with status 4"),
        ("continue", "python3 was not ready within 1 s"),
    ],
)
def test_what_no_node_of_maelstrom_says_ends_the_run(said: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(EngineError) as error:
        _run(tmp_path, ANSWERS.format(said))
    assert reason in str(error.value)


@pytest.mark.parametrize("read", ["[1.5]", '["a"]', "[true]", "7"])
def test_what_is_read_of_a_broadcast_are_whole_numbers(read: str, tmp_path: Path) -> None:
    said = f"""{OK}
    if body["type"] == "read":
        answer["messages"] = json.loads({read!r})
"""
    (tmp_path / "node.py").write_text(ANSWERS.format(said))
    text = SCENARIO.format(directory=tmp_path, topology=LAN).replace('"echo"', '"broadcast"')
    with pytest.raises(EngineError, match="no message as Maelstrom has them"):
        run(text, tmp_path / "run")


def test_errors_and_strangers_are_alarms_and_another_echo_is_a_violation(tmp_path: Path) -> None:
    said = f"""{OK}
    if body["type"] == "echo":
        if message["dest"] == "n1":
            answer["type"], answer["code"], answer["text"] = "error", 11, "not now"
        answer["echo"] = "other"
        print(json.dumps({{"src": message["dest"], "dest": "lin-kv", "body": {{}}}}), flush=True)
"""
    _, result = _run(tmp_path, ANSWERS.format(said))
    assert result.status == 1
    alarms = {(one.node, one.text) for one in result.evidence.notes.events(NoteKind.ALARM)}
    assert (1, "echo: error 11 not now") in alarms
    assert {(node, "there is no lin-kv, to whom a message was sent") for node in (1, 2, 3)} <= alarms
