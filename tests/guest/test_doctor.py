"""`tutti doctor` looks at the machine, and then carries out the smallest run."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from tests.helpers.guests import child_environment, command


def examined(environment: dict[str, str]) -> tuple[int, dict[str, dict[str, object]]]:
    done = subprocess.run(command("doctor", "--json"), env=environment, capture_output=True, text=True, check=False)
    return done.returncode, {one["what"]: one for one in json.loads(done.stdout)}


def test_all_is_well() -> None:
    status, found = examined(child_environment())
    assert status == 0 and found["a run"]["fine"], found


def test_a_kernel_that_does_not_start_is_found(tmp_path: Path) -> None:
    (tmp_path / "info.json").write_bytes(Path(os.environ["TUTTI_KERNEL"], "info.json").read_bytes())
    (tmp_path / "linux").write_text("#!/bin/sh\necho cannot start here\nexit 3\n")
    (tmp_path / "linux").chmod(0o755)
    status, found = examined({**child_environment(), "TUTTI_KERNEL": str(tmp_path)})
    assert status == 69 and found["private kernel"]["fine"]
    assert not found["a run"]["fine"] and "cannot start here" in str(found["a run"]["detail"])
    status, found = examined({**child_environment(), "TUTTI_KERNEL": "/nonexistent"})
    assert status == 69 and not found["private kernel"]["fine"] and "a run" not in found
