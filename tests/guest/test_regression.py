"""docs/regression.md: scenarios as tests, from an empty directory, as somebody else's repository has them."""

from __future__ import annotations

import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from tests import ROOT
from tests.helpers.guests import tutti


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, compiled, and its captures stored."""
    directory = tmp_path_factory.mktemp("suite")
    for path in (ROOT / "docs" / "regression").iterdir():
        shutil.copy(path, directory)
    source = ROOT / "docs" / "own-node" / "sequencer.c"
    subprocess.run(["cc", "-O2", "-o", str(directory / "sequencer"), str(source)], check=True)
    done = tutti("pytest", ".", "--tutti-renew", "-p", "no:cacheprovider", cwd=directory)
    assert done.returncode == 0, done.stdout
    return directory


def test_a_suite_passes_on_all_cores_and_leaves_its_captures_alone(suite: Path) -> None:
    assert sorted(path.name for path in (suite / "golden").iterdir()) == [
        "crash-s1",
        "sequenced-s1",
        "sequenced-s2",
        "sequenced-s3",
    ]
    done = tutti("pytest", ".", "--tutti-golden", "-n", "2", "--junitxml", "x.xml", "-p", "no:cacheprovider", cwd=suite)
    assert done.returncode == 0, done.stdout
    cases = list(ElementTree.parse(suite / "x.xml").iter("testcase"))  # noqa: S314 (written just now)
    names = [f"{case.get('classname')}::{case.get('name')}" for case in cases]
    assert "crash.toml.seed 1::TD-4" in names and "sequenced.toml.seed 3::golden" in names
    assert len(names) == len(set(names)) == 26
    assert not (suite / "runs").exists()


def test_a_failure_says_what_where_and_how_to_see_it_again(suite: Path, tmp_path: Path) -> None:
    text = (suite / "crash.toml").read_text().replace('"150ms"', '"120ms"')
    shutil.copytree(suite / "golden", tmp_path / "golden")
    (tmp_path / "crash.toml").write_text(text + 'verdict = "fail"\n')
    done = tutti("pytest", "crash.toml", "--tutti-golden", "-p", "no:cacheprovider", cwd=tmp_path)
    assert done.returncode == 1
    assert "2 failed, 7 passed" in done.stdout
    assert "TD-4: pass, expected fail: " in done.stdout
    assert "the runs part in harness.pcap at frame 2" in done.stdout and "text = b'crash'" in done.stdout
    run = tmp_path / "runs" / "crash-s1"
    assert f"report: {run / 'report.html'}" in done.stdout and (run / "report.html").is_file()
    assert f"again:  tutti run {tmp_path / 'crash.toml'} --seed 1" in done.stdout
    again = tutti("pytest", "crash.toml", "-k", "TD-1", "-p", "no:cacheprovider", cwd=tmp_path)
    assert again.returncode == 0 and not run.exists()  # what an earlier run of tests left gave way


def test_what_can_not_be_a_test_is_told(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.other]\n")
    assert tutti("pytest", ".", "-p", "no:cacheprovider", cwd=tmp_path).returncode == 64
    (tmp_path / "bad.toml").write_text('protocol = "st"\nname = "bad"\ntopologie = 3\n')
    done = tutti("pytest", ".", "-p", "no:cacheprovider", cwd=tmp_path)
    assert done.returncode == 64 and "bad.toml:3:" in done.stdout and "did you mean" in done.stdout
