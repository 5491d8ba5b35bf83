"""manifest.json: what is written is read back, and what is no manifest is refused with the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from captures.recorded import Recorded
from harness import VERSION
from harness.cli import main
from harness.exchange import Answer, exchange
from harness.manifest import Findings, Kernel, Manifest, is_manifest, read_manifest, write_manifest
from harness.rundir import RunDir, RunDirError
from topologies.impairments import Impairment, Seeded

FOUND = Findings(
    release="7.2.12-tutti",
    t0_ns=1,
    ended_ns=2,
    quiet=True,
    impairments={
        "n1": Seeded(Impairment(loss=0.5, delay_ns=7).settings(), None),
        "channel": Seeded(Impairment().settings(), 3),
    },
    counters={"n1": {"malformed": 0}},
    interfaces={"n1": {"lo": {"rx_packets": 1}}},
    interface_names={"n1": {"1": "lo"}},
    captures={"n1": Recorded(written=5, received=6, dropped=1)},
)
MANIFEST = Manifest(identity="0", engine="virtual", kernel=Kernel("7.2.12", "a recipe", True), findings=FOUND)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    where = RunDir(tmp_path)
    assert read_manifest(where) is None
    write_manifest(where, MANIFEST)
    assert read_manifest(where) == MANIFEST and is_manifest(where.manifest)
    assert MANIFEST.tutti == VERSION


def test_the_kernel_of_a_run_is_its_version_recipe_and_way(tmp_path: Path) -> None:
    """What the guest calls its kernel does not take the place of what it was built from."""
    write_manifest(RunDir(tmp_path), MANIFEST)
    found = read_manifest(RunDir(tmp_path))
    assert found is not None and found.kernel == Kernel("7.2.12", "a recipe", True)
    assert found.findings.release == "7.2.12-tutti"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('"format": 3', '"format": 1', "it has format 1, and this tutti reads format 3"),
        ('"written": 5', '"written": "5"', 'findings.captures.n1.written is "5", which is no int'),
        ('"written": 5', '"typo": 5', "findings.captures.n1 does not have the keys written, received"),
        ('"quiet": true', '"quiet": 1', "findings.quiet is 1, which is no bool"),
        ('"engine": "virtual"', '"engine": null', "engine is null, which is no str"),
        ("{", "", "no JSON"),
    ],
)
def test_what_is_no_manifest_is_refused(tmp_path: Path, old: str, new: str, reason: str) -> None:
    where = RunDir(tmp_path)
    write_manifest(where, MANIFEST)
    text = where.manifest.read_text()
    assert old in text
    where.manifest.write_text(text.replace(old, new, 1))
    with pytest.raises(RunDirError, match="no manifest") as refused:
        read_manifest(where)
    assert reason in str(refused.value)


def test_an_answer_is_there_when_it_is_whole_and_gone_with_the_run(tmp_path: Path) -> None:
    with exchange(RunDir(tmp_path)) as files:
        assert not files.is_answered()
        files.give(Answer(FOUND, "a node died"))
        assert files.is_answered() and files.take() == Answer(FOUND, "a node died")
    assert list(tmp_path.iterdir()) == []


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0 and capsys.readouterr().out == f"tutti {VERSION}\n"
