"""Defects of other people's programs, planted or published: a scenario finds each, and without it all is well."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.guests import needs_kernel, tutti

pytestmark = needs_kernel

PYSYNCOBJ = Path("/usr/lib/python3/dist-packages/pysyncobj/syncobj.py")
ETCD = Path("/usr/bin/etcd")
JGROUPS = Path("/usr/share/java/jgroups.jar")


def _judged(where: Path, scenario: str, *settings: str) -> str:
    """What is said of a run, which has a report."""
    words = [word for one in settings for word in ("--set", one)]
    done = tutti("run", scenario, *words, "--out", str(where / "run"))
    assert (where / "run/report.html").exists(), done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("mistake", "found"),
    [
        ("minority", "NOT OK   TD-1      fail"),
        ("order", "NOT OK   ST-3      fail"),
    ],
)
def test_a_mistake_planted_in_a_library_is_found(mistake: str, found: str, tmp_path: Path) -> None:
    """Without one, `peers/pysyncobj` passes: test_scenarios.py."""
    if not PYSYNCOBJ.exists():
        pytest.skip("python3-pysyncobj is not installed")
    assert found in _judged(tmp_path, "peers/pysyncobj", f'program.build=[["sh", "mutate.sh", "{mistake}"]]')


@pytest.mark.parametrize(("keep", "found"), [("no", "fail (as it should)"), ("yes", "pass: all live logs are equal")])
def test_a_vote_that_a_crash_forgets_makes_two_leaders(keep: str, found: str, tmp_path: Path) -> None:
    if not PYSYNCOBJ.exists():
        pytest.skip("python3-pysyncobj is not installed")
    assert f"TD-1      {found}" in _judged(tmp_path, "peers/pysyncobj-vote", f"program.environment.KEEP={keep}")


@pytest.mark.parametrize(
    ("compacts", "lazy", "found"),
    [("1", "3", "fail (as it should): n3 never delivered 1:1"), ("0", "3", "pass"), ("1", "0", "pass")],
)
def test_a_deletion_that_was_compacted_is_dropped_from_a_watch(
    compacts: str, lazy: str, found: str, tmp_path: Path
) -> None:
    if not ETCD.exists():
        pytest.skip("etcd-server is not installed")
    adapter = (f'program.adapter.environment.{key}="{value}"' for key, value in (("COMPACT", compacts), ("LAZY", lazy)))
    assert f"IE        {found}" in _judged(tmp_path, "peers/etcd-dropped-delete", *adapter)


@pytest.mark.parametrize(("dies", "found"), [("n1", "fail (as it should): n"), ("n3", "pass")])
def test_what_a_coordinator_had_not_ordered_is_overtaken(dies: str, found: str, tmp_path: Path) -> None:
    """n1 coordinates; when another member dies, nothing is sent again."""
    if not JGROUPS.exists():
        pytest.skip("libjgroups-java is not installed")
    crash = f'fault=[{{kind="crash", at="0s", node="{dies}"}}]'
    assert f"SO        {found}" in _judged(tmp_path, "peers/jgroups-overtakes", crash)
