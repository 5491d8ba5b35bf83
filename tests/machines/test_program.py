"""A program in any language as a node, in memory: the contract line by line, and what is refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from harness.scenario import ScenarioError, dump, identity, load, loads
from nodes.machine import Log, Received, Send, Setting, Submit, Wake
from nodes.own.options import OwnOptions
from nodes.own.program import Program, ProgramError
from nodes.wire.note import NoteKind, digest_of
from nodes.wire.own import OwnPdu
from nodes.wire.raw import RawData
from tests import ROOT
from tests.helpers.typed import golden

DOCS = ROOT / "docs"
SETTING = Setting(me=2, members=(1, 2, 3), seed=9, incarnation=4, slot_ns=500)

# Writes down what it is told, and answers what stands in a file, whose answers are separated by dots.
PARROT = """#!/bin/sh
echo "$TUTTI_ME $TUTTI_MEMBERS $TUTTI_SEED $TUTTI_INCARNATION $TUTTI_SLOT_NS $*" >"$0.told"
exec 3<"$0.answers"
while read -r line; do
    echo "$line" >>"$0.told"
    while read -r answer <&3; do
        echo "$answer"
        if [ "$answer" = . ]; then break; fi
    done
done
echo end >>"$0.told"
"""

SCENARIO = """
name = "own"
protocol = "own"
[own]
program = "{}"
[topology]
kind = "lan"
nodes = 2
[workload]
kind = "bursts"
rounds = 1
"""


def program(directory: Path, text: str, name: str = "program") -> Path:
    path = directory / name
    path.write_text(text)
    path.chmod(0o755)
    return path


def parrot(directory: Path, *answers: str) -> tuple[Program, Path]:
    path = program(directory, PARROT)
    Path(f"{path}.answers").write_text("".join(f"{line}\n" for answer in answers for line in (answer, ".") if line))
    return Program(SETTING, OwnOptions(program=str(path), arguments=("a", "b c"))), Path(f"{path}.told")


def test_golden_bytes() -> None:
    pdu = OwnPdu(src=3, kind=9, origin=0x0102, seq=0x1122334455667788, payload=b"hi")
    golden(pdu, "7475 27 01 0003 0019", "09 0102 1122334455667788 6869")


def test_every_input_and_every_answer(tmp_path: Path) -> None:
    machine, told = parrot(
        tmp_path,
        "busy\nwake 70",
        "note sent about=2 seq=1 peers=1,3 values=5\nsend all 1 2 1 68656a\nsend 1,3 255 0 18446744073709551615 -",
        "note delivered about=1 seq=9\nnote delivered about=1 seq=8 data=6869 values=4\nidle",
        "note alarm peers=3 text=no answer  from 3, text=it is\nnote measured values=-4,5 text=wait\nwake never",
        "",
    )
    assert machine.deadline == 0, "it is woken at once"
    assert machine.step(Wake(), 10) == [] and not machine.settled()
    woken: list[int | None] = [machine.deadline]
    assert machine.step(Submit(5, (1, 3), b"hej"), 20) == [
        Log(NoteKind.SENT, 2, 1, peers=(1, 3), values=(5,)),
        Send(OwnPdu(src=2, kind=1, origin=2, seq=1, payload=b"hej")),
        Send(OwnPdu(src=2, kind=255, origin=0, seq=2**64 - 1, payload=b""), (1, 3)),
    ]
    received = Received(OwnPdu(src=3, kind=7, origin=1, seq=9, payload=b"\0\xff"))
    assert machine.step(received, 30) == [
        Log(NoteKind.DELIVERED, 1, 9),
        Log(NoteKind.DELIVERED, 1, 8, values=(digest_of(b"hi"), 4)),
    ]
    assert machine.settled()
    assert machine.step(Received(RawData(src=1, seq=1, ndest=0, dest=(), payload=b"")), 35) == []
    woken.append(machine.deadline)  # what was asked for stays until its time has come
    assert machine.step(Wake(), 70) == [
        Log(NoteKind.ALARM, peers=(3,), text="no answer  from 3, text=it is"),
        Log(NoteKind.MEASURED, values=(-4, 5), text="wait"),
    ]
    assert [*woken, machine.deadline] == [70, 70, None]
    assert machine.step(Submit(6, (), b""), 80) == []
    assert machine.counters() == {"refused_foreign": 1}
    assert told.read_text().splitlines() == [
        "2 1,2,3 9 4 500 a b c",
        "wake 10",
        "submit 20 5 1,3 68656a",
        "received 30 3 7 1 9 00ff",
        "wake 70",
        "submit 80 6 - -",
        "end",
    ]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("hello", "an answer begins with send, note, wake, busy or idle, or is a dot"),
        ("send all 1 2 3", "an answer begins with"),
        ("send all 1 2 3 4", "non-hexadecimal"),
        ("send all 256 0 0 -", "256 has not room in 8 bits"),
        ("send n1 1 0 0 -", "invalid literal"),
        (f"send all 1 0 0 {'00' * 1401}", "a PDU carries at most 1400 bytes"),
        ("wake soon", "invalid literal"),
        ("wake -1", "-1 has not room"),
        ("note dilivered about=1 seq=1", "there is no note 'dilivered' for a program (there is sent, accepted"),
        ("note end", "there is no note 'end' for a program"),
        ("note delivered about=1 seq=1 values=4", "values of delivered stand behind what was delivered"),
        ("note sent about=1 seq=1 data=00", "only a note delivered has data"),
        ("note sent about=1 sec=1", "a note has about, seq, data, peers, values and text, not 'sec'"),
    ],
)
def test_a_wrong_answer_is_quoted(answer: str, reason: str, tmp_path: Path) -> None:
    machine, _ = parrot(tmp_path, answer)
    with pytest.raises(ProgramError) as caught:
        machine.step(Wake(), 1)
    assert repr(answer) in str(caught.value) and reason in str(caught.value)
    machine.counters()


@pytest.mark.parametrize(("text", "how"), [("exit 3", "with status 3"), ("kill -9 $$", "by SIGKILL")])
def test_a_program_that_ends_is_missed(text: str, how: str, tmp_path: Path) -> None:
    machine = Program(SETTING, OwnOptions(program=str(program(tmp_path, f"#!/bin/sh\nread -r line\n{text}\n"))))
    with pytest.raises(ProgramError, match=f"the program ended {how}, while its node was still running"):
        machine.step(Wake(), 1)
    with pytest.raises(ProgramError, match=how):  # the pipe is broken now
        machine.step(Wake(), 2)
    machine.counters()


def test_a_program_that_will_not_end_is_ended(tmp_path: Path) -> None:
    text = "#!/bin/sh\nread -r line\necho .\nexec tail -f /dev/null\n"
    machine = Program(SETTING, OwnOptions(program=str(program(tmp_path, text))))
    machine.step(Wake(), 1)
    machine.counters()
    assert machine._process.returncode == -9


# The scenario.


def refused(path: Path) -> str:
    with pytest.raises(ScenarioError) as caught:
        load(path)
    (problem,) = caught.value.problems
    assert problem.place == f"{path}:5", "the line of the program"
    return problem.reason


def test_a_program_that_cannot_be_started_is_refused_with_what_mends_it(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(SCENARIO.format("./node"))
    assert refused(path).startswith(f"there is no file {tmp_path}/node: compile it, or correct the path")
    (tmp_path / "node").write_text("")
    assert refused(path) == f"{tmp_path}/node is not executable: chmod +x node"
    path.write_text(SCENARIO.format("."))
    assert refused(path) == f"{tmp_path} is no file"
    path.write_text(SCENARIO.format("node").replace("[topology]", "[topology]\nnodse = 3"))
    with pytest.raises(ScenarioError) as caught:
        load(path)
    assert len(caught.value.problems) == 2, "all that is wrong is told at once"
    path.write_text(SCENARIO.replace('program = "{}"\n', ""))
    with pytest.raises(ScenarioError, match="needs 'program'"):
        load(path)


def test_the_program_is_what_it_is_not_where_it_lies(tmp_path: Path) -> None:
    path, other = tmp_path / "own.toml", tmp_path / "elsewhere"
    path.write_text(SCENARIO.format("./node"))
    program(tmp_path, "#!/bin/sh\n", "node")
    one = load(path)
    assert one.options.program == str(tmp_path / "node")
    assert loads(dump(one)) == one
    other.mkdir()
    shutil.copy(tmp_path / "node", other)
    assert identity(load(Path(shutil.copy(path, other)))) == identity(one)
    program(tmp_path, "#!/bin/sh\n\n", "node")
    assert identity(load(path)) != identity(one)
    path.write_text(dump(one))
    assert "is another program than the one of this run" in load_problem(path)


def load_problem(path: Path) -> str:
    with pytest.raises(ScenarioError) as caught:
        load(path)
    return str(caught.value)
