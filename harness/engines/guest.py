"""How a guest is started: the private kernel is a User-Mode Linux, an ordinary process of an ordinary user.

What determines a run reaches the guest in files below its run directory; the kernel's command line carries paths
only, and (patched) stays out of the guest's random numbers. The guest sees this machine's files read-only; a second
mount gives it the run directory, and the kernel itself refuses to make any other mount writable.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from harness.engines.kernel import PrivateKernel, site_packages
from harness.engines.outcome import EngineError, EngineOptions
from harness.engines.watch import Attended, own_cpu, started
from harness.exchange import Exchange

AGENT = "harness.agent.run"
EPOCH_NS = 1_700_000_000_000_000_000  # virtual time begins here, always
_CODE = Path(__file__).resolve().parents[2]


@contextmanager
def boot(
    kernel: PrivateKernel,
    files: Exchange,
    options: EngineOptions,
    virtual_time: bool = True,
    agent: str = AGENT,
) -> Iterator[Attended]:
    """Boot a guest for one run, which halts when the module `agent` has carried it out.

    Without virtual time the guest is a plain Linux with netem, root and a clock of its own.
    """
    words = {"TUTTI_RUN": str(files.run.path)}
    command = guest_command(kernel, options, agent, words, scratch=files.directory, virtual_time=virtual_time)
    environment = guest_environment(files.run.path, virtual_time=virtual_time)
    with (
        own_cpu() as cpus,
        started(command, environment, files, files.kernel_log, options.stall_s, files.directory, cpus) as guest,
    ):
        yield guest


def guest_command(
    kernel: PrivateKernel,
    options: EngineOptions,
    agent: str,
    words: Mapping[str, str],
    *,
    scratch: Path,
    virtual_time: bool = True,
) -> list[str]:
    """The words that start the kernel, in which the module `agent` carries out what it is for."""
    said = {"TUTTI_CODE": str(_CODE), "TUTTI_SITE": str(site_packages()), "TUTTI_AGENT": agent, **words}
    command = [
        str(kernel.image),
        f"mem={options.memory_mb}M",
        "root=/dev/root",
        "rootfstype=hostfs",
        "rootflags=/",
        "ro",
        f"uml_dir={scratch}/",
        "con=null",
        "con0=fd:2",
        "norandmaps",
        "quiet",
        "panic=-1",
        "dummy.numdummies=0",
        "ifb.numifbs=0",
        *(["seccomp=on"] if kernel.identity.seccomp else []),
        *(["time-travel=inf-cpu", f"time-travel-start={EPOCH_NS}"] if virtual_time else []),
        "init=/usr/bin/python3.11",
        *(f"{key}={value}" for key, value in said.items()),
        "--",
        "-I",
        "-S",
        str(_CODE / "harness/agent/boot.py"),
    ]
    for word in command:
        if '"' in word or len(" ".join(command)) > 2000:
            raise EngineError(f"this path cannot be handed to a kernel (a quote in it, or too long): {word}")
    return [command[0], *(f'"{word}"' if " " in word else word for word in command[1:])]


def guest_environment(writable: Path, *, virtual_time: bool = True) -> dict[str, str]:
    """What the patched kernel reads. In virtual time nothing random comes from this machine: what is drawn before a run
    begins is the same for all runs, and each run brings its own seed."""
    seed = {"TUTTI_SEED": "0"} if virtual_time else {}
    return {"PATH": os.environ.get("PATH", ""), "TUTTI_WRITABLE": str(writable), **seed}
