"""The private kernel: a User-Mode Linux that runs as an ordinary process of an ordinary user, in virtual time.

What determines a run reaches the guest in files below its run directory; the kernel's command line carries paths
only, and (patched) stays out of the guest's random numbers. The guest sees this machine's files read-only; a second
mount gives it the run directory, and the kernel itself refuses to make any other mount writable.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from harness.engines.kernel import PrivateKernel, private_kernel, site_packages
from harness.engines.outcome import EngineError, EngineOptions
from harness.engines.watch import Attended, own_cpu, started
from harness.exchange import Exchange
from harness.manifest import Kernel
from topologies.seeds import seed_for

EPOCH_NS = 1_700_000_000_000_000_000  # virtual time begins here, always


class Virtual:
    """The engine of every run that does not ask for another."""

    def __init__(self) -> None:
        self._private = private_kernel()

    @property
    def kernel(self) -> Kernel:
        return self._private.identity

    def start(self, files: Exchange, seed: int, options: EngineOptions) -> AbstractContextManager[Attended]:
        """Boot a guest for this run alone."""
        return boot(self._private, files, seed_for(seed, "guest"), options)


@contextmanager
def boot(
    kernel: PrivateKernel,
    files: Exchange,
    seed: int,
    options: EngineOptions,
    virtual_time: bool = True,
    main: str = "harness.agent",
) -> Iterator[Attended]:
    """Boot a guest in which `main` carries out the run that `files` hands over, and which halts then.

    Without virtual time the guest is a plain Linux with netem, root and a clock of its own.
    """
    code = Path(__file__).resolve().parents[2]
    scratch = files.directory
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
        *(["seccomp=on"] if kernel.identity.seccomp else []),
        *(["time-travel=inf-cpu", f"time-travel-start={EPOCH_NS}"] if virtual_time else []),
        "init=/usr/bin/python3.11",
        *(
            f"{key}={value}"
            for key, value in {
                "TUTTI_RUN": files.run.path,
                "TUTTI_LOG": files.agent_log.relative_to(files.run.path),
                "TUTTI_CODE": code,
                "TUTTI_SITE": site_packages(),
                "TUTTI_MAIN": main,
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
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": str(scratch), "TUTTI_WRITABLE": str(files.run.path)}
    if virtual_time:
        environment["TUTTI_SEED"] = str(seed)
    with (
        own_cpu() as cpus,
        started(command, environment, files, files.kernel_log, options.stall_s, scratch, cpus) as guest,
    ):
        yield guest
