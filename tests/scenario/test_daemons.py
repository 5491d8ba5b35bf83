"""What a scenario may say of programs of this machine, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.scenario import dump, identity, load, loads
from harness.scenario.problems import ScenarioError
from nodes.program.options import ProgramOptions

WHOLE = """
name = "whole"
protocol = "program"
[program]
command = ["sh", "-c", "read x", "{me}"]
name = "shell"
user = "daemon"
files = { "/etc/it.conf" = "it.conf.in", "tool" = "tool" }
words = { what = "it" }
directories = ["/var/lib/it"]
needs = ["/usr/bin/env"]
packages = ["dash"]
build = [["sh", "-c", "cp tool other"]]
ready_port = 7
ready_within = "2s"
notes = [['(\\d+) of (\\w+)', 'view seq=\\1 text=\\2']]
environment = { ME = "{me}" }
[program.adapter]
command = ["./tool"]
[[program.also]]
command = ["cat"]
may_end = true
[[program.node]]
node = ["n2"]
command = ["sleep", "9"]
files = { "tool" = "it.conf.in" }
[topology]
kind = "one_channel"
nodes = 2
channel = { rate = "10mbit", delay = "200us" }
[workload]
kind = "bursts"
rounds = 1
"""


def _written(directory: Path, text: str = WHOLE) -> Path:
    directory.mkdir(exist_ok=True)
    (directory / "it.conf.in").write_text("me {me}\n")
    (directory / "tool").write_text("#!/bin/sh\n")
    path = directory / "scenario.toml"
    path.write_text(text)
    return path


def test_all_that_can_be_said_reads_back(tmp_path: Path) -> None:
    scenario = load(_written(tmp_path))
    options = scenario.options
    assert isinstance(options, ProgramOptions)
    assert [one.called for one in options.daemons()] == ["shell", "cat", "adapter"]
    assert options.files == (("/etc/it.conf", str(tmp_path / "it.conf.in")), ("tool", str(tmp_path / "tool")))
    assert loads(dump(scenario)) == scenario


def test_a_misspelt_word_in_a_file_is_named(tmp_path: Path) -> None:
    path = _written(tmp_path)
    (tmp_path / "it.conf.in").write_text("{membrs} {what} {other}\n")
    with pytest.raises(ScenarioError) as error:
        load(path)
    assert "{membrs} stands for nothing; did you mean {members}?" in str(error.value)


def test_a_run_is_what_its_files_are_not_where_they_lie(tmp_path: Path) -> None:
    one, other = (load(_written(tmp_path / name)) for name in ("one", "other"))
    assert identity(one) == identity(other)
    assert any(line.startswith("processor ") for line in one.options.used)
    for path in ("/usr/bin/sleep ", "/usr/bin/env "):
        assert any(line.startswith(path) and "coreutils " in line for line in one.options.used)
    assert "user daemon 1:1" in one.options.used
    (tmp_path / "other/tool").write_text("#!/bin/sh\nexit 1\n")
    assert identity(load(tmp_path / "other/scenario.toml")) != identity(one)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'command = ["sh", "-c", "read x", "{me}"]',
            "command = []",
            "command is a list: the program and its arguments",
        ),
        ('name = "shell"', 'name = "a/b"', "name is letters, digits and . _ + -, not 'a/b'"),
        ('"daemon"', '"Daemon x"', "user is the name of a user, not 'Daemon x'"),
        ('name = "shell"', 'name = "cat"', "two programs of a node have one name (cat, cat, adapter)"),
        ('"/etc/it.conf" =', '"../it.conf" =', "files has '../it.conf': a whole path, or a path below"),
        ('= "it.conf.in", ', '= "no.conf", ', "there is no file"),
        ('files = { "/etc', 'files = { it = 1, "/etc', "files is a table of texts"),
        ('["/var/lib/it"]', '["lib"]', "directories are whole paths"),
        ('["/usr/bin/env"]', '["env"]', "needs are whole paths"),
        ('["dash"]', '["-y"]', "packages has '-y', which is no name of a package of Debian"),
        ("what = ", "me = ", "words has 'me': a word that is not me, node, address, members, addresses"),
        ("what = ", '"a b" = ', "words has 'a b': a word that is not"),
        ('{ ME = "{me}" }', '{ "M=E" = "1" }', "environment has 'M=E', which is no variable"),
        ('{ ME = "{me}" }', '{ TUTTI_ME = "1" }', "environment has TUTTI_ME: what begins with TUTTI_ is told by tutti"),
        ('{ ME = "{me}" }', '{ ME = "{nodes} ${HOME} {print}" }', "{nodes} stands for nothing; did you mean {node}?"),
        ('"read x", "{me}"]', '"read x", "{adress}"]', "{adress} stands for nothing; did you mean {address}?"),
        ('command = ["sleep", "9"]', "command = []", "command is a list: the program and its arguments"),
        ("ready_port = 7", "ready_port = 70000", "ready_port is 1 to 65535"),
        ("ready_port = 7", 'ready_port = 7\nready = "x"', "ready is a line, a port or a file: one of them"),
        ("ready_port = 7", 'ready = "("', "ready has '(', which is no regular expression"),
        ("(\\w+)'", "(\\w+'", "which is no regular expression"),
        ("'view seq", "'vue seq", "there is no note 'vue' for a program"),
        ("text=\\2", "text=\\3", "notes has 'view seq=\\\\1 text=\\\\3': invalid group reference 3"),
        ('node = ["n2"]', 'node = ["n3"]', "node names 'n3': this scenario has n1 to n2"),
        ('[program.adapter]\ncommand = ["./tool"]\n', "", "messages need a [program.adapter]"),
        ("ready_port = 7", "ready_port = 7\nspeaks = true", "a program that speaks itself needs no adapter"),
        ("may_end", "may_stop", "has no key 'may_stop'"),
        ('name = "whole"', 'name = "whole"\nengine = "live"', "nodes of program run in virtual time only"),
        (
            "[workload]",
            '[[fault]]\nkind = "slow_reader"\nnode = "n1"\nbuffer = 4096\n[workload]',
            "a program of other people reads as it likes",
        ),
    ],
)
def test_mistakes_are_named(old: str, new: str, said: str, tmp_path: Path) -> None:
    assert WHOLE.count(old) == 1
    with pytest.raises(ScenarioError) as error:
        load(_written(tmp_path, WHOLE.replace(old, new)))
    assert said in str(error.value)
