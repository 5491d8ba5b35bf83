"""Tasks on a Spark cluster: each has one core; an executor boots the private kernel itself, as who it is.

Shipped with the job, as one archive that executors unpack into their work directory: this code, the private kernel and
the packages that a task needs. A worker has Linux, Java and Python 3.11 with pyspark's own files, nothing of tutti.

Every task is a small Spark job of its own, started by a thread here: so each result is written down when it comes, a
task that fails fails alone, and a worker that dies costs what it was doing, which Spark does again elsewhere.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tarfile
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, TypeVar

from harness.closure import ROOT
from harness.engines.kernel import private_kernel, site_packages

PACKAGES = ("nodes", "topologies", "captures", "harness")
NAME = "tutti"  # of the unpacked archive
_OF_RUNS = ("numpy", "numpy.libs", "pyarrow", "pyroute2", "mininet")  # and judges; pyspark is the worker's
NEEDED = (*_OF_RUNS, "hypothesis", "_hypothesis_globals.py", "sortedcontainers")  # and by who draws cases
_UNNEEDED = ("__pycache__", "tests", "include", "src")
_LIBRARIES = ("flight", "s3", "gcs", "azure")  # of pyarrow, which only its own modules for them need
T = TypeVar("T")
R = TypeVar("R")


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


@contextlib.contextmanager
def cluster_session(master: str, name: str) -> Iterator[Any]:
    """A session on the cluster, with all that its executors need; they use the Python that the system has. A master
    that is called local is this machine, where all of it lies already."""
    from captures.spark_session import spark_session

    if master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        session = spark_session(master, name)
        try:
            yield session
        finally:
            session.stop()
        return
    with tempfile.TemporaryDirectory(prefix="tutti-cluster-") as directory:
        packed = archive(Path(directory) / "tutti.tar.gz")
        os.environ.setdefault("PYSPARK_PYTHON", "/usr/bin/python3.11")
        session = spark_session(master, name, settings(packed))
        try:
            yield session
        finally:
            session.stop()


def room(session: Any) -> int:
    """How many tasks to have under way: more than there are cores, since executors come and go and none should wait."""
    return 2 * int(session.sparkContext.defaultParallelism)


def run_on(
    session: Any, tasks: Iterable[T], jobs: int, work: Callable[[T], R], failed: Callable[[str], R]
) -> Generator[tuple[T, R], None, None]:
    """Carry out all tasks, `jobs` at a time; results in the order in which they come, and what `failed` makes of the
    reason for those that Spark gave up."""
    context = session.sparkContext
    waiting = iter(tasks)
    running: dict[Future[R], T] = {}
    with ThreadPoolExecutor(jobs, thread_name_prefix="task") as threads:
        try:
            while True:
                while len(running) < jobs and (task := next(waiting, None)) is not None:
                    running[threads.submit(_job, context, task, work, failed)] = task
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    yield running.pop(future), future.result()
        finally:
            if running:
                context.cancelAllJobs()


def _job(context: Any, task: T, work: Callable[[T], R], failed: Callable[[str], R]) -> R:
    context.setJobDescription(str(task))
    try:
        found: list[R] = context.parallelize([task], 1).map(_on_executor(work)).collect()
    except Exception as error:  # Spark gave up on this one
        return failed(f"Spark: {_cause(error)}")
    return found[0]


def _on_executor(work: Callable[[T], R]) -> Callable[[T], R]:
    def there(task: T) -> R:
        kernel = os.environ.get("TUTTI_KERNEL", "")
        if kernel.startswith("."):  # relative to the executor's directory, which goes when the executor goes
            os.environ["TUTTI_KERNEL"] = str(Path(kernel).resolve())
            tempfile.tempdir = str(Path.cwd())
        return work(task)

    return there


_RAISED = re.compile(r"^(?:\w+\.)*\w*(?:Error|Exception)\b.*", re.MULTILINE)


def _cause(error: Exception) -> str:
    """The line of a long Spark message that a Python traceback ends with, else the first one."""
    text = str(error)
    raised = _RAISED.findall(text.partition("SQLSTATE")[0])
    return raised[-1] if raised else next((line for line in text.splitlines() if line.strip()), type(error).__name__)
