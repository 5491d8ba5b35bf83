"""The command line: exit statuses, what goes to stdout and what to stderr, and that only our own is removed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli import COMMANDS, main, parser
from harness.commands import clean
from harness.commands import list as list_
from harness.engines.outcome import EngineError, MachineLacks
from harness.rundir import RunDirError
from harness.scenario import loads
from harness.status import LACKS, PASS, UNKNOWN, USAGE
from tests import ROOT

GOOD = 'name = "x"\nprotocol = "raw"\ntopology = { kind = "lan", nodes = 3 }\n'
BAD = GOOD + '[[impair]]\non = "recievers"\nloss = 1\n'


@pytest.fixture
def good(tmp_path: Path) -> str:
    path = tmp_path / "x.toml"
    path.write_text(GOOD)
    return str(path)


@pytest.fixture
def bad(tmp_path: Path) -> str:
    path = tmp_path / "bad.toml"
    path.write_text(BAD)
    return str(path)


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["rn"],
        ["run"],
        ["run", "x", "--seed", "many"],
        ["validate"],
        ["list", "nothing"],
        ["clean", "x"],
        ["list", "--x"],
    ],
)
def test_bad_usage_ends_with_64_and_the_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    out, err = capsys.readouterr()
    assert ended.value.code == USAGE == 64
    assert out == "" and err.startswith("usage: tutti")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parser().parse_args([command, "--help"])
    assert ended.value.code == 0
    assert f"tutti {command}" in capsys.readouterr().out.split("examples:")[1]


def test_every_file_of_commands_is_one() -> None:
    files = {path.stem for path in Path(clean.__file__).parent.glob("*.py")}
    assert files - {"__init__", "options"} == COMMANDS.keys()


def test_validate_says_valid(good: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", good]) == PASS
    assert capsys.readouterr() == (f"{good}: valid: raw on a lan of 3 nodes\n", "")


def test_validate_tells_all_that_is_wrong_with_lines(good: str, bad: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", bad, good]) == USAGE
    out, err = capsys.readouterr()
    assert out == f"{good}: valid: raw on a lan of 3 nodes\n"
    assert err == f'{bad}:6: 1 has no unit: a share carries %, e.g. "2%"\n'
    bad_too = BAD.replace("loss = 1\n", 'loss = "1%"\n')
    Path(bad).write_text(bad_too)
    assert main(["validate", bad]) == USAGE
    expected = f"{bad}:5: no link or direction is called 'recievers'; did you mean 'receivers'?\n"
    assert capsys.readouterr() == ("", expected)


def test_validate_warns_of_options_that_break_a_promise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    near_far = ["validate", "him/near-far"]
    for more, warned in (
        ([], False),
        (["--set", "him.confirm=evidence"], True),
        (["--set", "him.confirm=silence", "--set", "him.adj=random"], True),
        (["--set", "him.confirm=silence", "--set", "him.adj=ring"], False),
    ):
        assert main([*near_far, *more]) == PASS
        out, err = capsys.readouterr()
        assert out.startswith("him/near-far: valid: him") and ("HI-1 may fail" in err) == warned, more
    assert main(["validate", "--json", *near_far[1:], "--set", "him.confirm=evidence"]) == PASS
    assert len(json.loads(capsys.readouterr().out)[0]["warnings"]) == 1
    assert main(["validate", "him/near-far-evidence"]) == PASS  # it says itself that HI-1 fails
    assert capsys.readouterr().err == ""


def test_validate_as_json(good: str, bad: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--json", bad, good]) == USAGE
    first, second = json.loads(capsys.readouterr().out)
    assert (first["valid"], first["problems"][0]["line"]) == (False, 6)
    assert second["valid"] and len(second["identity"]) == 64


def test_validate_prints_what_is_resolved(good: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--resolved", "--seed", "9", "--set", "topology.nodes=5", good]) == PASS
    scenario = loads(capsys.readouterr().out)
    assert (scenario.seed, scenario.topology.nodes) == (9, 5)


def test_a_name_that_is_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "raw/quite"]) == USAGE
    assert capsys.readouterr().err == (
        "raw/quite: there is no such file, and no scenario of that name; did you mean 'raw/quiet'?\n"
    )
    assert main(["validate", "raw/quiet"]) == PASS


@pytest.mark.parametrize(
    "what", ["scenarios", "protocols", "topologies", "faults", "properties", "metrics", "pdus", "keys"]
)
def test_lists_have_names_and_meanings(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", what, "--json"]) == PASS
    rows = json.loads(capsys.readouterr().out)
    assert rows and all(row["name"] for row in rows)
    assert main(["list", what]) == PASS
    out = capsys.readouterr().out
    assert all(row["name"] in out for row in rows)
    assert max(map(len, out.splitlines())) <= 120


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (MachineLacks("no netem: apt install it"), LACKS, "no netem: apt install it"),
        (EngineError("the guest died"), UNKNOWN, "the guest died"),
        (RunDirError("x is not empty"), USAGE, "x is not empty"),
        (PermissionError(13, "Permission denied", "/runs"), LACKS, "[Errno 13] Permission denied: '/runs'"),
        (OSError(28, "No space left on device"), LACKS, "[Errno 28] No space left on device"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_how_commands_end(
    error: BaseException, status: int, words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def call(arguments: object) -> int:
        raise error

    monkeypatch.setattr(list_, "call", call)
    assert main(["list"]) == status
    assert capsys.readouterr() == ("", words + "\n")


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = [sys.executable, "-c", "import sys; from harness.cli import main; sys.exit(main(['list', 'pdus']))"]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False, cwd=ROOT)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


def test_python_m_harness() -> None:
    command = [sys.executable, "-m", "harness", "validate", "/nowhere.toml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr == "/nowhere.toml: cannot be read: No such file or directory\n"


def make_run(path: Path) -> Path:
    (path / "captures").mkdir(parents=True)
    (path / "captures" / "n1.pcap").write_bytes(b"x" * 1000)
    (path / "scenario.toml").write_text(GOOD)
    (path / "manifest.json").write_text('{"format": 1, "identity": "0", "engine": "virtual"}')
    return path


def test_clean_removes_finished_runs_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TUTTI_KERNEL", raising=False)  # caches of this machine are none of this test's
    runs = tmp_path / "runs"
    ours = [make_run(runs / "x-s1"), make_run(runs / "x-s2")]
    elsewhere = make_run(tmp_path / "kept")
    (runs / "link").symlink_to(elsewhere)
    (runs / "notes.txt").write_text("mine")
    (make_run(runs / "foreign") / "manifest.json").write_text('{"name": "an app"}')
    (make_run(runs / "broken") / "manifest.json").write_text("{")
    (make_run(runs / "bare") / "scenario.toml").unlink()
    arguments = ["clean", "--runs", str(runs)]
    before = sorted(runs.rglob("*"))
    assert main([*arguments, "--dry-run"]) == PASS
    assert sorted(runs.rglob("*")) == before
    assert "in 2 directories would be removed" in capsys.readouterr().out
    assert main([*arguments, "--json"]) == PASS
    result = json.loads(capsys.readouterr().out)
    assert result["removed"] == [str(path) for path in ours] and result["bytes"] > 2000
    assert {path.name for path in runs.iterdir()} == {"link", "notes.txt", "foreign", "broken", "bare"}
    assert (elsewhere / "captures" / "n1.pcap").exists()
    assert main(arguments) == PASS
    out, err = capsys.readouterr()
    assert "in 0 directories removed" in out and err.count("left alone") == 5


def test_clean_without_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TUTTI_KERNEL", raising=False)
    assert main(["clean", "--runs", str(tmp_path / "none")]) == PASS


def test_only_superseded_caches_are_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cache(name: str, complete: bool = True) -> Path:
        path = tmp_path / name
        path.mkdir()
        if complete:
            (path / "complete").touch()
        return path

    kernel, python = cache("kernel-0123456789abcdef"), cache("python-0123456789abcdef")
    old = [cache("kernel-aaaaaaaaaaaaaaaa"), cache("python-bbbbbbbbbbbbbbbb")]
    cache("kernel-cccccccccccccccc", complete=False)
    cache("photos")
    (tmp_path / "kernel-dddddddddddddddd").symlink_to(kernel)
    monkeypatch.setattr(sys, "prefix", str(python))
    monkeypatch.setenv("TUTTI_KERNEL", str(kernel))
    assert list(clean.stale_caches()) == old
    monkeypatch.delenv("TUTTI_KERNEL")
    assert list(clean.stale_caches()) == []


def test_tests_end_as_pytest_does(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "test_it.py").write_text("def test_good(): pass\ndef test_bad(): assert 0\n")
    test = str(tmp_path / "test_it.py")
    assert main(["test", test, "-k", "good", "-p", "no:cacheprovider"]) == PASS
    assert main(["test", "-p", "no:cacheprovider", test]) == 1
    assert main(["test", "-k", "none", "-p", "no:cacheprovider", test]) == USAGE
