"""The Vagrantfile is one that Vagrant takes, with the public box and with one of our own."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import ROOT


@pytest.mark.skipif(shutil.which("vagrant") is None, reason="vagrant is missing: apt-get install vagrant")
@pytest.mark.parametrize("own", [{}, {"TUTTI_BOX": "tutti"}], ids=["public", "own"])
def test_vagrant_takes_it(tmp_path: Path, own: dict[str, str]) -> None:
    shutil.copy(ROOT / "Vagrantfile", tmp_path)
    # The providers (VirtualBox, libvirt) are not asked for: they would have to be installed, and running.
    command = ["vagrant", "validate", "--ignore-provider"]
    surroundings = {key: value for key, value in os.environ.items() if key != "TUTTI_BOX"}
    surroundings |= {"VAGRANT_HOME": str(tmp_path / "home"), "VAGRANT_CWD": str(tmp_path)} | own
    done = subprocess.run(command, env=surroundings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
