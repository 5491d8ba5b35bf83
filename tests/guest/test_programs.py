"""Programs of other people as nodes: what they see, what faults do to them, how their runs end; and real peers."""

from __future__ import annotations

import contextlib
import itertools
import os
import pty
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from harness.engines.outcome import EngineError, MachineLacks
from harness.rundir import RunDir
from harness.scenario import load
from harness.scenario.find import find
from harness.verdict import Result
from nodes.wire.note import NoteKind
from tests import ROOT
from tests.helpers.guests import busy, child_environment, command, digest, for_everybody, needs_kernel, run, tutti

pytestmark = needs_kernel

SCENARIO = """
name = "programs"
protocol = "program"
settle = "100ms"
limit = "30s"
[program]
command = ["python3", "program.py"]
files = {{ "program.py" = "{directory}/program.py" }}
ready_within = "500ms"
{more}
[topology]
kind = "lan"
nodes = 2
"""

SEES = """
import ctypes, os, select, socket, subprocess, time
wall, before = time.time_ns(), time.monotonic_ns()
while time.monotonic_ns() < before + 10_000_000:
    select.poll().poll(0)  # never sleeps, and yet sees time pass
print("waited", flush=True)
print("is", socket.gethostname(), os.environ["TUTTI_ADDRESS"], os.getcwd())
print("knows", socket.gethostbyname("n2"))
print("wall", (wall - 1_700_000_000_000_000_000) // 10**9)
print("priority", os.sched_getscheduler(0))
print("finds", sorted(os.listdir("/run")), sorted(os.listdir("/tmp")), os.path.exists("/etc/left"))
open("/etc/left", "w").write("by a program")
for table in ("self/mountinfo", "self/mounts", "cmdline", "template", "cpuinfo"):
    if os.path.exists("/proc/" + table):
        print(table, open("/proc/" + table).read().split("\\n"))
kernel = ctypes.create_string_buffer(1 << 18)
ctypes.CDLL(None).klogctl(3, kernel, len(kernel))  # what it has said
print(kernel.value)
print("the processes", subprocess.run(["ps", "-ef"], capture_output=True, text=True).stdout.count("program.py"))
group, me = "239.1.2.3", os.environ["TUTTI_ADDRESS"]
heard = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
heard.bind(("", 9))
heard.setsockopt(0, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + socket.inet_aton(me))
time.sleep(0.1)
heard.sendto(("hello of " + me).encode(), (group, 9))
while True:
    data, (sender, _) = heard.recvfrom(99)
    if sender != me:
        print("heard", data.decode(), flush=True)
"""

MEETS = """
import os, socket, threading, time
ME, NODES = os.environ["TUTTI_NODE"], ("n1", "n2", "n3")
FAMILIES = ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::"))
def serve(listening):
    while True:
        socket_, (sender, *_) = listening.accept()
        print("greeted by", socket_.recv(99).decode(), "at", sender, flush=True)
for family, anywhere in FAMILIES:
    listening = socket.socket(family)
    if family == socket.AF_INET6:
        listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    listening.bind((anywhere, 7))
    listening.listen()
    threading.Thread(target=serve, args=(listening,)).start()
time.sleep(0.1)
for node in NODES:
    for family, _ in FAMILIES:
        (_, _, _, _, address), *_ = socket.getaddrinfo(node, 7, family, socket.SOCK_STREAM)
        meeting = socket.socket(family)
        meeting.connect(address)
        meeting.send(ME.encode())
"""


@pytest.mark.parametrize(
    ("topology", "addresses"),
    [
        ('kind = "lan"', ("10.0.0.1", "10.0.0.2", "10.0.0.3", "fd00:0:0:1::1", "fd00:0:0:1::2", "fd00:0:0:1::3")),
        (
            'kind = "one_channel"\nchannel = { rate = "10mbit", delay = "200us" }',
            ("10.0.0.1", "10.0.0.2", "10.0.0.3", "fd00::1", "fd00::2", "fd00::3"),
        ),
        (
            'kind = "line"\nrouters = 3',
            ("10.1.0.1", "10.2.0.2", "10.3.0.3", "fd00:0:0:1::1", "fd00:0:0:2::2", "fd00:0:0:3::3"),
        ),
    ],
    ids=["lan", "channel", "routers"],
)
def test_all_nodes_meet_by_name_with_both_families(topology: str, addresses: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(MEETS)
    text = SCENARIO.format(directory=tmp_path, more="").replace('kind = "lan"\nnodes = 2', f"{topology}\nnodes = 3")
    where, _ = run(text, tmp_path / "run")
    wanted = {f"greeted by n{1 + place % 3} at {address}" for place, address in enumerate(addresses)}
    for node in (1, 2, 3):
        assert set((where.logs / f"n{node}-python3.txt").read_text().splitlines()) == wanted


MULTICASTS = """
import os, select, socket, time
NODE, ADDRESS, HOPS = os.environ["TUTTI_NODE"], os.environ["TUTTI_ADDRESS"], 9
four, six = (socket.socket(family, socket.SOCK_DGRAM) for family in (socket.AF_INET, socket.AF_INET6))
four.bind(("239.9.8.7", 9))
four.setsockopt(0, socket.IP_ADD_MEMBERSHIP, socket.inet_aton("239.9.8.7") + socket.inet_aton(ADDRESS))
four.setsockopt(0, socket.IP_MULTICAST_TTL, HOPS)
six.bind(("ff15::9:8:7", 9))
six.setsockopt(41, socket.IPV6_JOIN_GROUP, socket.inet_pton(socket.AF_INET6, "ff15::9:8:7") + bytes(4))
six.setsockopt(41, socket.IPV6_MULTICAST_HOPS, HOPS)
time.sleep(0.1)
for turn in range(6):  # at once: a router that has not heard of this source keeps three of them
    for sending in (four, six):
        sending.sendto(f"{turn} of {NODE}".encode(), sending.getsockname())
while True:
    for heard in select.select([four, six], [], [])[0]:
        data, (sender, *_) = heard.recvfrom(99)
        print(data.decode(), "from", sender, flush=True)
"""


@pytest.mark.parametrize("topology", ['kind = "ring"', 'kind = "tree"\nsnooping = true'], ids=["ring", "tree"])
def test_multicasts_of_both_families_pass_routers(topology: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(MULTICASTS)
    text = SCENARIO.format(directory=tmp_path, more="").replace('kind = "lan"\nnodes = 2', f"{topology}\nnodes = 5")
    where, _ = run(text, tmp_path / "run")
    lan_of = {node: (node - 1) % 4 + 1 for node in range(1, 6)}  # n1 and n5 are on one
    wanted = [
        f"{turn} of n{node} from {address}"
        for turn in range(6)
        for node, lan in lan_of.items()
        for address in (f"10.{lan}.0.{node}", f"fd00:0:0:{lan}::{node}")
    ]
    for node in lan_of:
        assert sorted((where.logs / f"n{node}-python3.txt").read_text().splitlines()) == sorted(wanted)


LINK_LOCALS = """
import os, socket, time
ME = int(os.environ["TUTTI_ME"])
((index, _),) = [one for one in socket.if_nameindex() if one[1] != "lo"]
six = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
six.bind(("::", 9))
six.setsockopt(41, socket.IPV6_JOIN_GROUP, socket.inet_pton(socket.AF_INET6, "ff02::9") + index.to_bytes(4, "little"))
time.sleep(0.1)
for address in ("ff02::9", f"fe80::{3 - ME}"):
    six.sendto(f"{ME} to {address}".encode(), (address, 9, 0, index))
while True:
    data, (sender, *_) = six.recvfrom(99)
    print(data.decode(), "from", sender.partition("%")[0], flush=True)
"""


@pytest.mark.parametrize("topology", ['kind = "lan"', 'kind = "one_channel"\nchannel = { rate = "10mbit" }'])
def test_neighbours_meet_by_link_local_addresses_and_hear_themselves_once(topology: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(LINK_LOCALS)
    text = SCENARIO.format(directory=tmp_path, more="").replace('kind = "lan"', topology)
    where, _ = run(text, tmp_path / "run")
    for me in (1, 2):
        wanted = [f"{node} to ff02::9 from fe80::{node}" for node in (1, 2)]
        wanted.append(f"{3 - me} to fe80::{me} from fe80::{3 - me}")
        assert sorted((where.logs / f"n{me}-python3.txt").read_text().splitlines()) == sorted(wanted)


TICKS = """
import os, time
first = not os.path.exists("/var/started")
open("/var/started", "w").close()
print("first" if first else "again", flush=True)
if os.fork():
    name = "parent"
else:
    os.setsid()
    name = "child"
while True:
    print("tick", name, time.time_ns() // 10**6, flush=True)
    time.sleep(0.1)
"""
TICK_NOTES = "notes = [['^tick (.*)', 'state text=\\1'], ['^(first|again)$', 'state text=\\1']]"


def _run(tmp_path: Path, program: str, more: str = "", rest: str = "", out: str = "run") -> tuple[RunDir, Result]:
    (tmp_path / "program.py").write_text(program)
    return run(SCENARIO.format(directory=tmp_path, more=more) + rest, tmp_path / out)


def test_a_program_sees_a_machine_of_its_own(tmp_path: Path) -> None:
    where, _ = _run(tmp_path, SEES, rest='[[clock]]\nnode = "n1"\noffset = "100s"\n')
    for node in (1, 2):
        said = (where.logs / f"n{node}-python3.txt").read_text()
        assert "waited\n" in said
        assert f"is n{node} 10.0.0.{node} /node\n" in said
        assert "knows 10.0.0.2\n" in said
        wall_s = int(said.partition("wall ")[2].split()[0])  # since virtual time began, which was seconds ago
        assert wall_s in (range(100, 110) if node == 1 else range(10))
        assert "priority 0\n" in said
        assert "finds ['lock'] [] False\n" in said
        assert f"heard hello of 10.0.0.{3 - node}\n" in said
        assert "the processes 1\n" in said
        for word in (where.path, tmp_path, ROOT, os.uname().release):
            assert str(word) not in said
    assert not Path("/etc/left").exists()


def test_faults_hit_all_that_a_node_has_started(tmp_path: Path) -> None:
    faults = """
        [[fault]]
        at = "1s"
        kind = "pause"
        node = "n1"
        for = "1s"
        [[fault]]
        at = "3s"
        kind = "crash"
        node = "n1"
        [[fault]]
        at = "4s"
        kind = "restart"
        node = "n1"
        [[fault]]
        at = "5s"
        kind = "clock"
        node = "n2"
        step = "3600s"
        """
    _, result = _run(tmp_path, TICKS, TICK_NOTES, faults)
    events = list(result.evidence.notes)
    (t0_ns,) = [one.time_ns for one in events if one.kind is NoteKind.MARK and one.text == "start"]
    said = [(one.node, (one.time_ns - t0_ns) / 1e9, one.text) for one in events if one.kind is NoteKind.STATE]
    told = [text.split() for node, _, text in said if node == 1 and " " in text]  # by whom, and its own time
    ticks = {who: [int(ms) - t0_ns // 1_000_000 for one, ms in told if one == who] for who in ("parent", "child")}
    for times in ticks.values():
        assert len(times) > 20
        assert not [at for at in times if 1001 < at < 2000 or 3000 < at < 4000]
    assert [text for node, _, text in said if node == 1 and text in ("first", "again")] == ["first", "again"]
    shown = [int(text.split()[1]) for node, at, text in said if node == 2 and text.startswith("parent") and at > 4.8]
    assert max(late - early for early, late in itertools.pairwise(shown)) > 3_599_000


BACKGROUND = """
import os, signal, socket, time
if os.fork():
    os._exit(0)
os.setsid()
for descriptor in (0, 1, 2):
    os.dup2(os.open("/dev/null", os.O_RDWR), descriptor)
time.sleep(0.02)
listening = socket.create_server(("", 80))
signal.signal(signal.SIGTERM, lambda *_: (open("/var/farewell", "w").close(), os._exit(0)))
signal.pause()
"""


def test_a_program_may_go_into_the_background_and_close_its_output(tmp_path: Path) -> None:
    """One that has is asked to leave like any other, and so it is on its disk when its node comes back."""
    faults = "".join(
        f'[[fault]]\nat = "{at}"\nkind = "{kind}"\nnode = "n1"\n'
        for at, kind in (("10ms", "leave"), ("20ms", "restart"))
    )
    more = """
        may_end = true
        ready_port = 80
        [[program.also]]
        command = ["sh", "-c", "ls /var/farewell; exec >&- 2>&-; sleep 99"]
        """
    where, _ = _run(tmp_path, BACKGROUND, more, faults)
    lives = (where.logs / "n1-sh.txt").read_text().splitlines()
    assert ["No such file" in life for life in lives] == [True, False]


SLEEPS = "import time\ntime.sleep(9)"
SPEAKS = "import time\nprint('soon', flush=True)\ntime.sleep(9)"


@pytest.mark.parametrize(
    ("program", "more", "said"),
    [
        ("print('oh', flush=True)\nraise SystemExit(3)", "", "python3 ended with status 3; its last words:\n    oh"),
        ("import os\nos.kill(os.getpid(), 11)", "", "python3 ended by SIGSEGV, without a word"),
        (SPEAKS.replace("'soon'", "'soon', end='> '"), 'ready = "never"', "its last words:\n    soon> "),
        (SPEAKS, 'ready = "never"', "python3 was not ready within 0.5 s; its last words:\n    soon"),
        (SLEEPS, "ready_port = 80", "python3 was not ready within 0.5 s, without a word"),
        (
            "print('at x', flush=True)",
            "notes = [['at (.)', 'view seq=\\1']]",
            "python3 said 'at x': invalid literal for int()",
        ),
        (BACKGROUND, "ready_port = 80", "python3 ended with status 0, without a word"),
        (BACKGROUND.replace("80", "81"), "may_end = true\nready_port = 80", "python3 was not ready within 0.5 s"),
        (SLEEPS, '[program.adapter]\ncommand = ["echo", "nonsense"]', "adapter said 'nonsense': an adapter"),
        (SLEEPS, 'build = [["sh", "-c", "echo no such thing; exit 1"]]', "no such thing"),
        ("", 'ready_file = "/no"\n[[program.also]]\ncommand = ["./nothing"]', "there is no executable ./nothing"),
    ],
)
def test_what_ends_a_run_before_its_time_says_so(program: str, more: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(EngineError) as error:
        _run(tmp_path, program, more)
    assert said in str(error.value)


SPINS = """
import os, time
time.sleep(0.1)
while os.environ["TUTTI_ME"] == "2":
    pass
time.sleep(99)
"""


def test_a_loop_on_memory_alone_is_told_by_name(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(SPINS)
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(SCENARIO.format(directory=tmp_path, more=""))
    done = tutti("run", str(scenario), "--stall", "10", "--out", str(tmp_path / "run"))
    assert done.returncode == 2
    assert "n2's `python3 program.py` was computing all that time: a loop that asks" in done.stderr


def test_what_this_machine_lacks_is_named_with_what_brings_it(tmp_path: Path) -> None:
    more = 'packages = ["nosuch"]\nneeds = ["/usr/bin/env", "/no/such.jar"]\n'
    more += '[[program.also]]\ncommand = ["nosuchd"]\nuser = "nosuchuser"'
    lacks = "no nosuchd and no /no/such.jar and no user nosuchuser; as root, run:\n    apt-get install -y nosuch"
    with pytest.raises(MachineLacks, match=lacks):
        _run(tmp_path, "", more)


@pytest.mark.parametrize(("answer", "status"), [("y", 0), ("n", 69)])
def test_what_is_missing_is_installed_if_a_person_wants_it(answer: str, status: int, tmp_path: Path) -> None:
    """By an apt-get that puts the file in its place."""
    if os.geteuid() != 0:
        pytest.skip("packages are installed as root")
    (tmp_path / "program.py").write_text("import time\ntime.sleep(99)")
    (tmp_path / "apt-get").write_text(f'#!/bin/sh\necho "$*" >>{tmp_path}/said\ntouch {tmp_path}/it.jar\n')
    (tmp_path / "apt-get").chmod(0o755)
    more = f'packages = ["nosuch"]\nneeds = ["{tmp_path}/it.jar"]'
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(SCENARIO.format(directory=tmp_path, more=more))
    person, terminal = pty.openpty()
    os.write(person, f"{answer}\n".encode())
    environment = child_environment(more={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    words = command("run", str(scenario), "--out", str(tmp_path / "run"))
    done = subprocess.run(words, cwd=tmp_path, env=environment, stdin=terminal, stderr=terminal, check=False)
    said = os.read(person, 65_536).decode()
    os.close(terminal)
    os.close(person)
    assert done.returncode == status, said
    assert f"this machine has no {tmp_path}/it.jar; as root, run:\r\n    apt-get install -y nosuch" in said
    assert (tmp_path / "said").exists() == (answer == "y")


def test_a_program_that_is_told_what_to_submit_says_what_it_does(tmp_path: Path) -> None:
    """The page's ten minutes, by hand: one datagram to each, and what was heard."""
    more = 'ready_port = 7\n[program.adapter]\ncommand = ["python3", "program.py", "adapter"]'
    work = '[workload]\nkind = "bursts"\nrounds = 3\ndestinations = "others"\n'
    work += "".join(f'[[expect]]\nproperty = "{name}"\n' for name in ("SIP", "NA"))
    where, result = _run(tmp_path, ECHO, more, work)
    assert result.status == 0, list(result.properties)
    again, _ = _run(tmp_path, ECHO, more, work, "again")
    assert digest(again.path) == digest(where.path)


ECHO = """
import os, socket, sys
if len(sys.argv) == 1:  # the daemon, whom nobody needs
    listening = socket.create_server((os.environ["TUTTI_ADDRESS"], 7))
    listening.accept()
import select
me, seq = os.environ["TUTTI_ME"], 0
heard = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
heard.bind((os.environ["TUTTI_ADDRESS"], 9))
print("ready", flush=True)
while True:
    if heard in select.select([heard, 0], [], [])[0]:
        origin, number, data = heard.recv(999).decode().split()
        print(f"note delivered about={origin} seq={number} data={data}", flush=True)
        continue
    word, number, to, data = os.read(0, 9999).decode().split()
    seq += 1
    print(f"note sent about={me} seq={seq} peers={to} values={number}", flush=True)
    for node in to.split(","):
        heard.sendto(f"{me} {seq} {data}".encode(), ("n" + node, 9))
"""

PEERS = {
    "peers/corosync-faults": "/usr/sbin/corosync",
    "peers/nats": "/usr/sbin/nats-server",
    "peers/redis": "/usr/bin/redis-server",
    "peers/etcd": "/usr/bin/etcd",
    "peers/zookeeper": "/usr/share/java/zookeeper.jar",
    "peers/jgroups": "/usr/share/java/jgroups.jar",
    "peers/babeld": "/usr/sbin/babeld",
    "peers/gossip-node": "/usr/bin/node",
    "peers/gossip-asyncio": "/usr/bin/python3",
}


def test_one_of_each_kind_goes_through_all_that_can_befall_a_machine() -> None:
    """A daemon in C, servers in Go and on a JVM, programs in JavaScript and Python."""
    for name in ("corosync-faults", "etcd", "zookeeper", "gossip-node", "gossip-asyncio"):
        kinds = {fault.KIND for fault in load(find(f"peers/{name}")).fault}
        assert kinds == {"clock", "partition", "pause", "crash", "restart"}, name
        assert f"peers/{name}" in PEERS


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_repeats_to_the_byte_wherever_for_whomever_and_under_load(name: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("becoming somebody else takes root")
    if not Path(PEERS[name]).exists():
        pytest.skip(f"{PEERS[name]} is not installed")
    shorter = [] if name == "peers/nats" else ["--set", "workload.for=200ms"]  # of a second or two
    digests = []
    with tempfile.TemporaryDirectory() as made:
        away = Path(made)
        code = for_everybody(away)
        for user, place, others in (
            ("root", away / "mine", contextlib.nullcontext()),
            ("nobody", away / "a place of nobody", busy()),
        ):
            place.mkdir()
            shutil.chown(place, user)
            with others:
                words = ("run", name, *shorter, "--out", str(place / "run"))
                done = tutti(*words, cwd=place, code=code, user=user, timeout_s=900)
            assert done.returncode == 0, done.stdout + done.stderr
            digests.append(digest(place / "run"))
    assert digests[0] == digests[1]


def test_the_ten_minutes_of_the_page_from_an_empty_directory(tmp_path: Path) -> None:
    page = (ROOT / "docs/programs.md").read_text()
    files = dict(re.findall(r"^```(?:python|toml) ([\w.]+)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE))
    assert set(files) == {"board.py", "adapter.py", "board.toml"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (words,) = re.findall(r"^```sh\ntutti (.*)\n```$", page, re.MULTILINE)
    done = tutti(*words.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all live logs are equal: 30 messages" in done.stdout


IS = """
import os
print("is", os.getuid(), os.getgid(), os.getgroups(), os.access(".", os.W_OK), os.access("/var/mine", os.W_OK))
try:
    open("/etc/hosts", "a")
except PermissionError:
    print("and no other", flush=True)
os.execvp("sleep", ["sleep", "99"])
"""


def test_a_program_runs_as_who_it_is_said_to(tmp_path: Path) -> None:
    more = """
        user = "nobody"
        directories = ["/var/mine"]
        [[program.also]]
        command = ["python3", "program.py"]
        name = "second"
        user = "daemon"
        """
    faults = """
        [[fault]]
        at = "10ms"
        kind = "crash"
        node = "n1"
        [[fault]]
        at = "20ms"
        kind = "restart"
        node = "n1"
        """
    where, _ = _run(tmp_path, IS, more, faults)
    for node, lives in ((1, 2), (2, 1)):
        for log, said in (("python3", "is 65534 65534 [65534] True True"), ("second", "is 1 1 [1] False False")):
            assert (where.logs / f"n{node}-{log}.txt").read_text() == f"{said}\nand no other\n" * lives


LASTS = """
import signal, sys, time
print("as", *sys.argv[1:], open("here.txt").read().strip(), flush=True)
signal.signal(signal.SIGTERM, lambda *_: (print("farewell", flush=True), sys.exit()))
time.sleep(99)
"""


def test_nodes_differ_and_one_that_is_asked_to_leave_has_a_word(tmp_path: Path) -> None:
    for name in ("all", "second"):
        (tmp_path / f"{name}.txt.in").write_text(f"{name} {{node}} of {{members}} at {{addresses}}, {{place}}")
    more = f"""
        words = {{ place = "home" }}
        ready_file = "here.txt"
        notes = [['^farewell$', 'left text=it says so']]
        [[program.also]]
        command = ["echo", "in {{me}}"]
        may_end = true
        [[program.node]]
        node = ["n2"]
        command = ["python3", "program.py", "another"]
        files = {{ "here.txt" = "{tmp_path}/second.txt.in" }}
        """
    program = SCENARIO.replace('program.py" }}', f'program.py", "here.txt" = "{tmp_path}/all.txt.in" }}}}')
    (tmp_path / "program.py").write_text(LASTS)
    fault = '[[fault]]\nat = "100ms"\nkind = "leave"\nnode = "n2"\n'
    where, result = run(program.format(directory=tmp_path, more=more) + fault, tmp_path / "run")
    said = {node: (where.logs / f"n{node}-python3.txt").read_text() for node in (1, 2)}
    assert said[1] == "as all n1 of n1,n2 at 10.0.0.1,10.0.0.2, home\n"
    assert said[2] == "as another second n2 of n1,n2 at 10.0.0.1,10.0.0.2, home\nfarewell\n"
    assert [(where.logs / f"n{node}-echo.txt").read_text() for node in (1, 2)] == ["in 1\n", "in 2\n"]
    assert [(one.node, one.text) for one in result.evidence.notes if one.kind is NoteKind.LEFT] == [(2, "it says so")]
