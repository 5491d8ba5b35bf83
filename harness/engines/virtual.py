"""The private kernel: a User-Mode Linux that runs as an ordinary process of an ordinary user, in virtual time.

What determines a run reaches the guest in files below its run directory; the kernel's command line carries paths
only, and (patched) stays out of the guest's random numbers. The guest sees this machine's files read-only; a second
mount gives it the run directory, and the kernel itself refuses to make any other mount writable.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.engines.outcome import EngineError, EngineOptions, Progress
from harness.engines.watch import carry, own_cpu

EPOCH_NS = 1_700_000_000_000_000_000  # virtual time begins here, always


@dataclass(frozen=True, slots=True)
class Kernel:
    """A private kernel that provisioning has built."""

    image: Path
    version: str  # e.g. "7.2.12"
    recipe: str  # hash of everything it was built from
    seccomp: bool  # the faster way to run guest programs, where the kernel has it


def boot(
    kernel: Kernel,
    run_dir: Path,
    site: Path,
    seed: int,
    options: EngineOptions,
    progress: Progress,
    virtual_time: bool = True,
    arguments: Mapping[str, str] | None = None,
) -> None:
    """Boot a guest, let its agent carry out the run in `run_dir`, return when it has halted.

    Without virtual time the guest is a plain Linux with netem, root and a clock of its own.
    """
    code = Path(__file__).resolve().parents[2]
    logs = run_dir / "logs"
    scratch = run_dir / ".guest"
    scratch.mkdir()
    command = [
        str(kernel.image),
        f"mem={options.memory_mb}M",
        "root=/dev/root",
        "rootfstype=hostfs",
        "rootflags=/",
        "ro",
        f"uml_dir={scratch}/",
        "con=null",
        "con0=null",
        "ubd0=",
        "norandmaps",
        "quiet",
        "panic=-1",
        "dummy.numdummies=0",
        "ifb.numifbs=0",
        *(["seccomp=on"] if kernel.seccomp else []),
        *(["time-travel=inf-cpu", f"time-travel-start={EPOCH_NS}"] if virtual_time else []),
        "init=/usr/bin/python3.11",
        *(
            f"{key}={value}"
            for key, value in {
                "TUTTI_RUN": run_dir,
                "TUTTI_CODE": code,
                "TUTTI_SITE": site,
                **(arguments or {}),
            }.items()
        ),
        "--",
        "-I",
        "-S",
        str(code / "harness/agent/boot.py"),
    ]
    for word in command:
        if '"' in word or len(" ".join(command)) > 2000:
            raise EngineError(f"this path cannot be handed to a kernel (a quote in it, or too long): {word}")
    command = [f'"{word}"' if " " in word else word for word in command]
    command[0] = str(kernel.image)
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": str(scratch), "TUTTI_WRITABLE": str(run_dir)}
    if virtual_time:
        environment["TUTTI_SEED"] = str(seed)
    try:
        with own_cpu() as cpus:
            carry(command, environment, logs / "kernel.txt", options.stall_s, progress, scratch, cpus)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
