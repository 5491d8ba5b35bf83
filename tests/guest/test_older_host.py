"""The private kernel runs on Debian 12's own kernel: what Linux 6.1 lacks is refused here, and it does without."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.helpers.guests import child_environment, command

# A filter of system calls for itself and all it starts. Before Linux 6.3, memfd_create knew no MFD_EXEC.
OLDER = """
import ctypes, os, struct, sys
NUMBER, ARGUMENT_2 = 0, 24  # where a filter finds them
MEMFD_CREATE, MFD_EXEC, EINVAL = 319, 0x10, 22
lines = (
    (0x20, 0, 0, NUMBER), (0x15, 0, 3, MEMFD_CREATE),  # another call: the last line
    (0x20, 0, 0, ARGUMENT_2), (0x45, 0, 1, MFD_EXEC),  # without the flag: the last line
    (0x06, 0, 0, 0x00050000 | EINVAL),
    (0x06, 0, 0, 0x7fff0000),
)
code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in lines))
program = ctypes.create_string_buffer(struct.pack("@HP", len(lines), ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
NO_NEW_PRIVILEGES, SECCOMP, FILTER = 38, 22, 2
assert libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0
assert libc.prctl(SECCOMP, FILTER, program, 0, 0) == 0, os.strerror(ctypes.get_errno())
try:
    os.memfd_create("x", MFD_EXEC)
except OSError:
    os.execv(sys.argv[1], sys.argv[1:])
"""


def test_it_needs_no_flag_that_is_newer(tmp_path: Path) -> None:
    run = command("run", "--out", str(tmp_path / "run"), "raw/chosen")
    older = [sys.executable, "-c", OLDER, *run]
    done = subprocess.run(older, env=child_environment(), capture_output=True, text=True, timeout=300, check=False)
    assert "all as expected" in done.stdout and done.returncode == 0, f"{' '.join(run)}\n{done.stdout}{done.stderr}"
