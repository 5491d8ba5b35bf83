"""Bad scenarios: every reason, at its line, with the nearest valid spelling; and all of them at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.scenario import ScenarioError, load, loads

GOOD = """\
name = "good"
protocol = "raw"

[topology]
kind = "one_channel"
nodes = 3
channel = { rate = "10mbit" }

[workload]
kind = "bursts"
rounds = 2
"""

LAN = GOOD.replace('kind = "one_channel"', 'kind = "lan"').replace('channel = { rate = "10mbit" }\n', "")


def problems(text: str, **how: object) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        loads(text, "x.toml", **how)  # type: ignore[arg-type]
    return [str(one) for one in caught.value.problems]


def test_the_good_one_is_good() -> None:
    assert loads(GOOD).name == "good"
    assert loads(LAN).topology.kind == "lan"


# (what is changed in GOOD: old text, new text), the line of the message, what it says.
CHANGES = [
    ("nodes = 3", "nods = 3", 4, "[topology] needs 'nodes'"),
    ("nodes = 3", "nods = 3", 6, "[topology] has no key 'nods'; did you mean 'nodes'?"),
    ("nodes = 3", 'nodes = "3"', 6, "nodes must be a whole number, not '3'"),
    ("nodes = 3", "nodes = true", 6, "nodes must be a whole number, not True"),
    ("nodes = 3", "nodes = 0", 6, "a one_channel has 1 to 1000 nodes, not 0"),
    ("nodes = 3", "nodes = 3\nsnooping = 1", 7, "snooping must be true or false, not 1"),
    ("nodes = 3", "nodes = 3\nrouters = 2", 7, "a one_channel has no routers"),
    ('"one_channel"', '"one-channel"', 5, "kind cannot be 'one-channel'; did you mean 'one_channel'?"),
    ('"10mbit"', '"10mb"', 7, "'mb' is no unit of a rate: a rate carries gbit, mbit, kbit, bit"),
    ('"10mbit"', '"0mbit"', 7, "a channel needs a rate above 0"),
    ('{ rate = "10mbit" }', '"10mbit"', 7, "[topology.channel] must be a table"),
    ('channel = { rate = "10mbit" }', "", 4, "a one_channel needs a channel with a rate"),
    ('protocol = "raw"', 'protocol = "row"', 2, "no protocol is called 'row'; did you mean 'raw'?"),
    ('protocol = "raw"', 'protcol = "raw"', 2, "a scenario has no key 'protcol'; did you mean 'protocol'?"),
    ('protocol = "raw"', "", 1, "a scenario needs 'protocol'"),
    ('name = "good"', 'name = "a/b"', 1, "a name is printable text without '/'"),
    ('name = "good"', 'name = "good"\nseed = -1', 2, "a seed is a whole number from 0"),
    ('name = "good"', 'name = "good"\nengine = "vitual"', 2, "engine cannot be 'vitual'; did you mean 'virtual'?"),
    ('name = "good"', 'name = "good"\nlimit = 5', 2, "5 has no unit: a time carries s, ms, us"),
    ('name = "good"', 'name = "good"\nlimit = "1s"', 10, "the workload ends at 200ms, too late to settle"),
    ('"bursts"', '"burst"', 10, "no workload is called 'burst'; did you mean 'bursts'?"),
    ('kind = "bursts"', "", 9, "a workload needs a kind (there is bursts, script, steady)"),
    ("rounds = 2", "rounds = 0", 11, "rounds is at least 1"),
    ("rounds = 2", 'rounds = 2\nrate = "1/s"', 12, "a workload of kind bursts has no key 'rate'"),
    ("rounds = 2", "rounds = 2\npayload = 1401", 12, "a payload of raw has 0 to 1400 bytes"),
    ("rounds = 2", 'rounds = 2\nsenders = "n4"', 12, "there is no node 'n4': this scenario has n1 to n3"),
    ("rounds = 2", "rounds = 2\ndestinations = { count = 4 }", 12, "there are only 3 nodes to choose among"),
    ("rounds = 2", "rounds = 2\ndestinations = { fraction = 1.5 }", 12, "fraction is more than 0 and at most 1"),
    ("rounds = 2", 'rounds = 2\ndestinations = "every"', 12, "destinations cannot be 'every'"),
    ("rounds = 2", "rounds = 2\ndestinations = { frction = 1.0 }", 12, "no key 'frction'; did you mean 'fraction'?"),
]

# What is added to GOOD (which has 11 lines), the line, what it says.
ADDITIONS = [
    ("[topologie]\nx = 1", 12, "a scenario has no key 'topologie'; did you mean 'topology'?"),
    ("[st]\nrules = 'printed'", 12, "this scenario runs raw: [st] would have no effect"),
    ("[raw]\nrules = 'printed'", 13, "[raw] has no key 'rules'"),
    ("[node]\nbuffer_pdus = 0", 13, "buffer_pdus is 1 to 65535"),
    ('[impair]\non = "receivers"', 12, "impair is a list of tables: write [[impair]]"),
    ('[[impair]]\nloss = "2%"', 12, "[[impair]] needs 'on'"),
    ('[[impair]]\non = "receivers"\nloss = "200%"', 14, "loss is a share from 0% to 100%"),
    ('[[impair]]\non = "receivers"\nloss = 0.02', 14, "0.02 has no unit: a share carries %"),
    ('[[impair]]\non = "recievers"', 13, "no link or direction is called 'recievers'; did you mean 'receivers'?"),
    ('[[impair]]\non = ["n1-s1", "n1-s2"]', 13, "called 'n1-s2'; did you mean 'n1-s1'?"),
    ('[[impair]]\non = "n1-s1"\n[[impair]]\non = "senders"', 15, "n1-eth0 is impaired by [[impair]] 1 already"),
    ('[[impair]]\non = "n1>n2"', 13, "only a mesh has impairments from one host to another"),
    ('[[impair]]\non = "routers"', 13, "a one_channel has no cables between routers"),
    (
        '[[impair]]\non = "receivers"\ndelay = "5ms"\njitter = "1ms"',
        15,
        "a one_channel has one order for all; delays that differ would break it",
    ),
    ('[[impair]]\non = "receivers"\nreorder = "5%"', 14, "it needs a delay"),
    ('[[impair]]\non = "receivers"\ncorrelation = "5%"', 14, "has no key 'correlation': a correlation begins"),
    (
        '[[impair]]\non = "receivers"\nloss_model = { good_to_bad = "0%", bad_to_good = "0%" }',
        14,
        "a model that never changes its state is a plain loss",
    ),
    ('[[impair]]\non = "receivers"\ndistribution = "gauss"', 14, "no distribution is called 'gauss'"),
    (
        '[[impair]]\non = "receivers"\ndelay = "1ms"\ndistribution = { late = "50%", after = "9ms" }',
        15,
        "exceeds 9 times its mean so often",
    ),
    ('[[clock]]\nnode = "n9"\noffset = "5ms"', 13, "there is no node 'n9'"),
    ('[[clock]]\nnode = "n1"\n[[clock]]\nnode = ["n1", "n2"]', 15, "the clock of n1 is set twice"),
    ('[[clock]]\nnode = "n1"\ndrift = "600000ppm"', 14, "a drift lies between"),
    ('[[fault]]\nat = "1s"', 12, "a fault needs a kind (there is clock, crash, delay"),
    ('[[fault]]\nkind = "crush"', 13, "no fault is called 'crush'; did you mean 'crash'?"),
    ('[[fault]]\nkind = "crash"', 12, "a fault of kind crash needs 'node'"),
    ('[[fault]]\nkind = "crash"\nnode = "n4"', 14, "there is no node 'n4'"),
    ('[[fault]]\nkind = "crash"\nnode = ["n1", "n1"]', 14, "node names something twice"),
    ('[[fault]]\nkind = "crash"\nnode = "n1"\nfor = "1s"', 15, "a fault of kind crash has no key 'for'"),
    ('[[fault]]\nat = "600s"\nkind = "crash"\nnode = "n1"', 13, "this ends at 600s, after the limit of 600s"),
    ('[[fault]]\nat = "1s"\nkind = "restart"\nnode = "n1"', 15, "at 1s n1 runs: only a node that has crashed"),
    ('[[fault]]\nat = "1s"\nkind = "resume"\nnode = "n1"', 15, "at 1s n1 is not paused"),
    (
        '[[fault]]\nat = "2s"\nkind = "pause"\nnode = "n1"\n[[fault]]\nat = "1s"\nkind = "crash"\nnode = "n1"',
        15,
        "at 2s n1 does not run: it crashed at 1s",
    ),
    (
        '[[fault]]\nkind = "leave"\nnode = "n1"\n[[fault]]\nat = "1s"\nkind = "crash"\nnode = "n1"',
        18,
        "at 1s n1 does not run: it left at 0us",
    ),
    (
        '[[fault]]\nkind = "pause"\nnode = "n1"\n[[fault]]\nat = "1s"\nkind = "leave"\nnode = "n1"',
        18,
        "at 1s n1 is paused, and cannot do as it is asked",
    ),
    (
        '[[fault]]\nkind = "pause"\nnode = "n1"\nfor = "1s"\n[[fault]]\nat = "1s"\nkind = "resume"\nnode = "n1"',
        19,
        "at 1s n1 is not paused",
    ),
    ('[[fault]]\nat = "1s"\nkind = "heal"', 13, "at 1s there is no partition to heal, and no link is down"),
    ('[[fault]]\nkind = "link"\nlink = "n1-s1"\nstate = "up"', 14, "at 0us n1-s1 is up already"),
    ('[[fault]]\nkind = "link"\nlink = "s1-n1"', 14, "no link is called 's1-n1' (there is n1-s1, n2-s1, n3-s1)"),
    ('[[fault]]\nkind = "partition"\ngroups = [["n1"]]\nfrom = "n1"', 14, "a partition has either groups"),
    ('[[fault]]\nkind = "partition"\nfor = "1s"', 12, "a partition has either groups, or a shape, or from and to"),
    ('[[fault]]\nkind = "partition"\nshape = "one"\ngroups = [["n1"]]', 15, "a partition has either groups"),
    ('[[fault]]\nkind = "partition"\nshape = "majority_ring"', 14, "of shape majority_ring needs 4 nodes or more"),
    ('[[fault]]\nkind = "partition"\nshape = "one"\nfirst = "n9"', 15, "there is no node 'n9'"),
    ('[[fault]]\nkind = "partition"\nfrom = "n1"\nto = "n2"\nfirst = "n2"', 16, "first is the node from which a shape"),
    ('[[fault]]\nkind = "partition"\nshape = "bridge"\nway = "in"', 15, "way is that of a shape with two sides"),
    ('[[fault]]\nkind = "crash"\nnode = "n1"\nwhen = {}', 15, "a moment is that of a pdu or that of a note"),
    ('[[fault]]\nkind = "crash"\nnode = "n1"\nwhen = { pdu = { type = "DTA" } }', 15, "raw has no PDU 'DTA'"),
    ('[[fault]]\nkind = "crash"\nnode = "n1"\nwhen = { pdu = {}, count = 0 }', 15, "count is at least 1"),
    ('[[fault]]\nkind = "crash"\nnode = "n1"\nwhen = { pdu = {}, towards = "n4" }', 15, "there is no node 'n4'"),
    (
        '[[fault]]\nkind = "crash"\nnode = "n1"\nwhen = { pdu = {}, cout = 2 }',
        15,
        "has no key 'cout'; did you mean 'count'?",
    ),
    (
        '[[fault]]\nkind = "crash"\nnode = "n1"\nwhen = { note = { kind = "VEIW" } }',
        15,
        "no NOTE is 'VEIW'; did you mean",
    ),
    ('[[fault]]\nkind = "crash"\nnode = "n1"\nwhen = { note = { kind = ["VIEW"] } }', 15, "no NOTE is ['VIEW']"),
    ('[[fault]]\nkind = "crash"\nnode = "n1"\nwhen = { note = "VIEW" }', 15, "note is a table"),
    ('[[fault]]\nkind = "crash"\nnode = "n1"\nwhen = { note = { src = 4 } }', 15, "there is no node n4"),
    ('[[fault]]\nkind = "crash"\nnode = "n1"\nwhen = { note = { sq = 4 } }', 15, "no PDU of note has a field 'sq'"),
    (
        '[[fault]]\nkind = "crash"\nnode = "n1"\nwhen = { note = {}, towards = "n2" }',
        15,
        "a note goes nowhere: towards belongs to a pdu",
    ),
    ('[[fault]]\nkind = "partition"\ngroups = [["n1", "n7"]]', 14, "there is no node 'n7'"),
    ('[[fault]]\nkind = "partition"\nfrom = "n1"\nto = "n8"', 14, "there is no node 'n8'"),
    ('[[fault]]\nkind = "clock"\nnode = "n1"', 12, "a clock fault needs an offset, a step or a drift"),
    ('[[fault]]\nkind = "slow_reader"\nnode = "n1"', 12, "a slow reader needs a read_delay or a buffer"),
    ('[[fault]]\nkind = "slow_reader"\nnode = "n1"\nbuffer = 100', 15, "at least 2304 bytes"),
    ('[[fault]]\nkind = "impair"\non = "receivers"\nloss = "-1%"', 15, "'-1%' is below 0"),
    ('[[fault]]\nkind = "drop"\npdu = "DATA"', 14, "pdu is a table"),
    ('[[fault]]\nkind = "drop"\npdu = { type = "DTA" }', 14, "raw has no PDU 'DTA'; did you mean 'DATA'?"),
    ('[[fault]]\nkind = "drop"\npdu = { src = 4 }', 14, "there is no node n4"),
    ('[[fault]]\nkind = "drop"\npdu = { src = "E3" }', 14, "'E3' is no node: write 3 or \"n3\""),
    ('[[fault]]\nkind = "drop"\npdu = { sq = 3 }', 14, "no PDU of raw has a field 'sq'; did you mean 'seq'?"),
    ('[[fault]]\nkind = "drop"\npdu = { seq = -1 }', 14, "seq is a number from 0 to 4294967295, not -1"),
    ('[[fault]]\nkind = "drop"\npdu = { dest = 1 }', 14, "dest is a vector: write a list"),
    ('[[fault]]\nkind = "drop"\npdu = { payload = 1 }', 14, "payload is matched as text"),
    ('[[fault]]\nkind = "drop"\npdu = { seq = 1.5 }', 14, "seq is a whole number, text, or a list of these"),
    ('[[fault]]\nkind = "drop"\npdu = {}\ncount = 0', 15, 'count is a whole number from 1 up, or "all"'),
    ('[[fault]]\nkind = "drop"\npdu = {}\ntowards = "n5"', 15, "there is no node 'n5'"),
    ('[[fault]]\nkind = "drop"\npdu = {}\nshare = "0%"', 15, "share is more than 0%"),
    ('[[fault]]\nkind = "delay"\npdu = {}', 12, "a fault of kind delay needs 'by'"),
    ('[[expect]]\nverdict = "fail"', 12, "an expectation is about either a property or a metric"),
    ('[[expect]]\nproperty = "NCC"', 13, "no property is called 'NCC'; did you mean 'NC'?"),
    ('[[expect]]\nproperty = "NC"\nverdict = "fails"', 14, "verdict cannot be 'fails'; did you mean 'fail'?"),
    ('[[expect]]\nproperty = "NC"\nat_most = 1', 13, "a property has a verdict, no at_most"),
    ('[[expect]]\nmetric = "deliverd"\nat_most = 1', 13, "no metric is called 'deliverd'; did you mean 'delivered'?"),
    ('[[expect]]\nmetric = "frames"\nat_most = nan', 14, "at_most must be a finite number"),
    ('[[expect]]\nmetric = "frames"', 13, "a metric needs near with a tolerance, at_most or at_least"),
    ('[[expect]]\nmetric = "frames"\nnear = 1', 13, "a metric needs near with a tolerance"),
    ('[[expect]]\nmetric = "frames"\nat_least = 2\nat_most = 1', 14, "at_least is above at_most: nothing can be both"),
]


def test_every_word_of_a_change_is_in_the_good_one() -> None:
    assert all(old in GOOD for old, _, _, _ in CHANGES)
    assert GOOD.count("\n") == 11


@pytest.mark.parametrize(("old", "new", "line", "reason"), CHANGES)
def test_a_wrong_change(old: str, new: str, line: int, reason: str) -> None:
    found = problems(GOOD.replace(old, new))
    assert any(one.startswith(f"x.toml:{line}: ") and reason in one for one in found), found


@pytest.mark.parametrize(("text", "line", "reason"), ADDITIONS)
def test_a_wrong_addition(text: str, line: int, reason: str) -> None:
    found = problems(GOOD + text + "\n")
    assert len(found) == 1 and found[0].startswith(f"x.toml:{line}: ") and reason in found[0], found


def test_all_reasons_at_once_in_the_order_of_lines() -> None:
    text = GOOD.replace("nodes = 3", "nodes = 3\nsnoping = true").replace("rounds = 2", "rounds = 0")
    found = problems(
        text + '[[impair]]\non = "receivers"\nloss = 2\n[[fault]]\nkind = "crash"\n[[expect]]\nproperty = "X"'
    )
    assert [int(one.split(":")[1]) for one in found] == [7, 12, 15, 16, 19]


OUTSIDER = LAN.replace("nodes = 3", "nodes = 3\noutsiders = 1")
FORGE = '\n[[fault]]\nkind = "forge"\nfrom = "n4"\n'


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ('pdu = { type = "DATA" }\nraw = "00"', "an outsider sends one of pdu, heard and raw"),
        ("", "an outsider sends one of pdu, heard and raw"),
        ('raw = "00"\nset = { seq = 1 }', "set changes what was heard"),
        ('raw = "0g"', "'0g' is not hexadecimal: two digits per byte"),
        ('raw = "00"\nsize = -1', "size is 0 to 65000 bytes"),
        ('raw = "00"\ncount = 0', "count is at least 1"),
        ('raw = "00"\nto = "n4"', "there is no node 'n4': this scenario has n1 to n3"),
        ('pdu = { type = "DTA" }', "raw has no PDU 'DTA'; did you mean 'DATA'?"),
        ('pdu = { type = "DATA", sq = 1 }', "sq: DATA has no such field; did you mean 'seq'?"),
        ('pdu = { type = "DATA", seq = "x" }', "seq cannot be 'x'"),
        ('pdu = { type = "DATA", seq = 4294967296 }', "there is no such DATA: "),
        ('pdu = { type = "DATA", ndest = 2, dest = [1] }', "raw.DATA.dest: 1 elements, not 2"),
        ('heard = { type = "DATA" }\nset = { seqq = 1 }', "seqq: DATA has no such field; did you mean 'seq'?"),
        ('heard = { type = "DTA" }', "raw has no PDU 'DTA'; did you mean 'DATA'?"),
    ],
)
def test_a_wrong_forgery(keys: str, reason: str) -> None:
    assert loads(OUTSIDER + FORGE + 'raw = "00"').topology.plan().hosts == ("n1", "n2", "n3", "n4")
    assert any(reason in one for one in problems(OUTSIDER + FORGE + keys)), problems(OUTSIDER + FORGE + keys)


def test_only_an_outsider_forges_and_nothing_else_happens_to_it() -> None:
    forge = FORGE + 'raw = "00"'
    assert "'n4' is no outsider: say outsiders = 1 in [topology]" in problems(LAN + forge)[0]
    assert "'n2' is no outsider: this scenario has n4" in problems(OUTSIDER + forge.replace("n4", "n2"))[0]
    crash = '\n[[fault]]\nkind = "crash"\nat = "1s"\nnode = "n4"'
    assert "there is no node 'n4': this scenario has n1 to n3" in problems(OUTSIDER + crash)[0]
    late = FORGE + 'raw = "00"\ncount = 3\nevery = "400s"'
    assert "this ends at 800s, after the limit of 600s" in problems(OUTSIDER + late)[0]
    assert "outsiders is at least 1" in problems(LAN.replace("nodes = 3", "nodes = 3\noutsiders = 0"))[0]


def test_the_protocol_fits_the_network() -> None:
    assert "runs over IPv6, which a one_channel does not carry" in problems(GOOD.replace("raw", "delta"))[0]
    assert "st needs a single channel: take kind = \"one_channel\", not 'lan'" in problems(LAN.replace("raw", "st"))[0]


def test_corruption_is_allowed_where_it_repeats() -> None:
    """The private kernel's random numbers follow from the run's seed; on another kernel nothing repeats anyway."""
    text = LAN + '[[impair]]\non = "receivers"\ncorrupt = "1%"\n'
    assert loads(text).impair[0].impairment.corrupt == 0.01
    assert loads(text, engine="live").engine == "live"


def test_no_toml() -> None:
    assert problems("name = \n") == ["x.toml:1: this is not TOML: Invalid value"]
    assert problems("a = 1\na = 2\n")[0].startswith("x.toml:2: this is not TOML: Cannot overwrite")
    assert problems("a = 1\n[b")[0].startswith("x.toml:2: this is not TOML:")


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="cannot be read: No such file"):
        load(tmp_path / "none.toml")
    with pytest.raises(ScenarioError, match="cannot be read: Is a directory"):
        load(tmp_path)
    (tmp_path / "binary.toml").write_bytes(b"name = 'x'\n\xff")
    with pytest.raises(ScenarioError, match=r"binary.toml:2: this is not TOML: it is no UTF-8 text"):
        load(tmp_path / "binary.toml")


def test_settings_take_the_place_of_values() -> None:
    base = GOOD + '[[impair]]\non = "receivers"\nloss = "2%"\n'
    how = ["topology.nodes=5", "impair.0.loss=7%", "workload.destinations={ count = 2 }", "description=a b"]
    scenario = loads(base, settings=how, seed=9, engine="live")
    assert (scenario.topology.nodes, scenario.seed, scenario.engine, scenario.description) == (5, 9, "live", "a b")
    assert scenario.impair[0].impairment.loss == 0.07
    assert scenario.workload is not None and scenario.workload.destinations.count == 2  # type: ignore[union-attr]
    assert loads(base, settings=["raw={}"]).protocol == "raw"


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("topology.nodes", "write KEY=VALUE"),
        ("=5", "write KEY=VALUE"),
        ("topology.nods=5", "[topology] has no key 'nods'; did you mean 'nodes'?"),
        ("topology.nodes=many", "nodes must be a whole number, not 'many'"),
        ("impair.1.loss=5%", "impair has the numbers 0 to 0, not '1'"),
        ("name.x=5", "name is no table"),
        ("protocol=rawr", "no protocol is called 'rawr'"),
    ],
)
def test_wrong_settings_are_called_by_what_was_typed(setting: str, reason: str) -> None:
    found = problems(GOOD + '[[impair]]\non = "receivers"\nloss = "2%"\n', settings=[setting])
    assert len(found) == 1 and found[0].startswith(f"--set {setting}: ") and reason in found[0], found


def test_a_wrong_seed_is_called_so() -> None:
    assert problems(GOOD, engine="warp") == ["--engine warp: engine cannot be 'warp' (there is live, virtual)"]


def test_names_in_a_resolved_scenario_are_not_looked_up() -> None:
    text = GOOD + '[[expect]]\nproperty = "NCC"\n'
    assert loads(text, resolved=True).expect[0].property == "NCC"
    assert "did you mean 'NC'?" in problems(text)[0]
