"""Runs on a Spark cluster: each is a task of one core; an executor boots the private kernel itself, as who it is.

Shipped with the job, as one archive that executors unpack into their work directory: this code, the private kernel and
the packages that a run needs. A worker has Linux, Java and Python 3.11 with pyspark's own files, nothing of tutti.

Every run is a small Spark job of its own, started by a thread here: so each result is written down when it comes, a run
that fails fails alone, and a worker that dies costs what it was doing, which Spark does again elsewhere.
"""

from __future__ import annotations

import os
import re
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from harness.closure import ROOT
from harness.engines.kernel import private_kernel, site_packages
from harness.sweep.task import Record, Task, failed, fulfil

PACKAGES = ("nodes", "topologies", "captures", "harness")
NAME = "tutti"  # of the unpacked archive
NEEDED = ("numpy", "numpy.libs", "pyarrow", "pyroute2", "mininet")  # by a run and its judges; pyspark is the worker's
_UNNEEDED = ("__pycache__", "tests", "include", "src")
_LIBRARIES = ("flight", "s3", "gcs", "azure")  # of pyarrow, which only its own modules for them need
Outcome = tuple[Record, bytes]
Work = Callable[[Task], Outcome]


def archive(target: Path) -> Path:
    """Pack everything that executors need."""

    def wanted(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        parts = Path(member.name).parts
        if any(part in _UNNEEDED for part in parts) or member.name.endswith((".pyx", ".pxd", ".h", ".a")):
            return None
        if parts[1] == "pyarrow" and ".so" in member.name and any(word in parts[-1] for word in _LIBRARIES):
            return None
        member.uid = member.gid = member.mtime = 0
        member.uname = member.gname = ""
        return member

    kernel = private_kernel()
    site = site_packages()
    with tarfile.open(target, "w:gz", compresslevel=1, dereference=True) as packed:
        for package in PACKAGES:
            packed.add(ROOT / package, f"code/{package}", filter=_code)
        for package in NEEDED:
            packed.add(site / package, f"site/{package}", filter=wanted)
        for file in (kernel.image, kernel.image.parent / "info.json"):
            packed.add(file, f"kernel/{file.name}", filter=wanted)
    return target


def _code(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    if (member.isfile() and not member.name.endswith((".py", ".toml"))) or "__pycache__" in member.name:
        return None
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member


def settings(packed: Path) -> dict[str, str]:
    """What the session must be told for the archive to be found and the runs to be tasks of one core."""
    code, site, kernel = (f"./{NAME}/{part}" for part in ("code", "site", "kernel"))
    return {
        "spark.archives": f"{packed}#{NAME}",
        "spark.executorEnv.PYTHONPATH": f"{code}:{site}",
        "spark.executorEnv.TUTTI_KERNEL": kernel,
        "spark.executorEnv.PYTHONDONTWRITEBYTECODE": "1",
        "spark.executorEnv.PYTHONHASHSEED": "0",
        "spark.task.cpus": "1",
        "spark.task.maxFailures": "4",
        "spark.executor.memory": "1g",
    }


def cluster_session(master: str, name: str, packed: Path) -> Any:
    """A session on the cluster; executors use the Python that the system has."""
    from captures.spark_session import spark_session

    os.environ.setdefault("PYSPARK_PYTHON", "/usr/bin/python3.11")
    return spark_session(master, name, settings(packed))


def run_on(session: Any, tasks: Iterable[Task], jobs: int, work: Work = fulfil) -> Iterator[tuple[Task, Record, bytes]]:
    """Carry out all tasks, `jobs` at a time; results in the order in which they come."""
    context = session.sparkContext
    waiting = iter(tasks)
    running: dict[Future[Outcome], Task] = {}
    with ThreadPoolExecutor(jobs, thread_name_prefix="sweep") as threads:
        try:
            while True:
                while len(running) < jobs and (task := next(waiting, None)) is not None:
                    running[threads.submit(_job, context, task, work)] = task
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    task = running.pop(future)
                    yield task, *future.result()
        finally:
            if running:
                context.cancelAllJobs()


def _job(context: Any, task: Task, work: Work) -> Outcome:
    context.setJobDescription(f"run {task.key}")
    try:
        found: list[Outcome] = context.parallelize([task], 1).map(_on_executor(work)).collect()
    except Exception as error:  # Spark gave up on this one
        return failed(f"Spark: {_cause(error)}"), b""
    return found[0]


def _on_executor(work: Work) -> Work:
    def there(task: Task) -> Outcome:
        # Both were given relative to the executor's directory, which goes when the executor goes.
        os.environ["TUTTI_KERNEL"] = str(Path(os.environ["TUTTI_KERNEL"]).resolve())
        tempfile.tempdir = str(Path.cwd())
        return work(task)

    return there


_RAISED = re.compile(r"^(?:\w+\.)*\w*(?:Error|Exception)\b.*", re.MULTILINE)


def _cause(error: Exception) -> str:
    """The line of a long Spark message that a Python traceback ends with, else the first one."""
    text = str(error)
    raised = _RAISED.findall(text.partition("SQLSTATE")[0])
    return raised[-1] if raised else next((line for line in text.splitlines() if line.strip()), type(error).__name__)
