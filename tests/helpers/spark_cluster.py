"""A Spark standalone cluster on this machine: a master and workers as processes, in directories of their own, not root.

What an ordinary user cannot read (this checkout, the Python environment of root) a worker cannot either: so what a
sweep needs there must have come with the job. Spark's own files are linked into a directory that everybody can read.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

NOBODY = 65534
BEGIN_S = 60.0


@dataclass
class SparkCluster:
    """Its processes and directories."""

    base: Path
    home: Path
    url: str = ""
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, name: str, words: Sequence[str], ready: str) -> tuple[subprocess.Popen[bytes], str]:
        """A process of Spark, once its log says that it is ready."""
        own = self.base / name
        own.mkdir()
        if os.geteuid() == 0:
            os.chown(own, NOBODY, NOBODY)
        log = self.base / f"{name}.log"
        command = [
            "java",
            "-Xmx512m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-cp",
            f"{self.home}/jars/*",
            f"org.apache.spark.deploy.{words[0]}",
            *words[1:],
        ]
        environment = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(own),
            "SPARK_HOME": str(self.home),
            "SPARK_LOCAL_DIRS": str(own / "local"),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "TMPDIR": str(own),
            "PYSPARK_PYTHON": "/usr/bin/python3.11",
            "LC_ALL": "C.UTF-8",
            "SPARK_SCALA_VERSION": "2.13",
        }
        as_whom = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        with log.open("wb") as stream:
            process = subprocess.Popen(
                command,
                env=environment,
                cwd=own,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                **as_whom,  # type: ignore[call-overload]
            )
        self.processes.append(process)
        begin = time.monotonic()
        while time.monotonic() - begin < BEGIN_S:
            found = re.search(ready, log.read_text(errors="replace"))
            if found:
                return process, found[found.lastindex or 0]
            if process.poll() is not None:
                break
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.05)
        raise AssertionError(f"Spark's {words[0]} did not start:\n{log.read_text()[-3000:]}")

    def start_worker(self) -> None:
        """One more, of one core."""
        number = len(self.workers) + 1
        name = f"worker-{number}"
        words = [
            "worker.Worker",
            "--cores",
            "1",
            "--memory",
            "1500m",
            "--host",
            "127.0.0.1",
            "--webui-port",
            "0",
            "--work-dir",
            str(self.base / name / "work"),
            self.url,
        ]
        process, _ = self.start(name, words, "Successfully registered with master")
        self.workers.append(process)

    def stop(self) -> None:
        """End all of it; executors end when their worker has."""
        for process in reversed(self.processes):
            process.kill()
            process.wait()


@contextmanager
def spark_cluster(base: Path, workers: int = 2) -> Iterator[SparkCluster]:
    """A cluster below `base`, a directory that everybody can enter."""
    home = base / "spark"
    source = Path(pyspark.__file__).parent
    try:
        shutil.copytree(source, home, copy_function=os.link, ignore=shutil.ignore_patterns("__pycache__", "examples"))
    except OSError:  # another file system
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(source, home, ignore=shutil.ignore_patterns("__pycache__", "examples"))
    base.chmod(0o755)
    cluster = SparkCluster(base, home)
    try:
        words = ["master.Master", "--host", "127.0.0.1", "--port", str(free_port()), "--webui-port", "0"]
        _, cluster.url = cluster.start("master", words, r"Starting Spark master at (spark://\S+)")
        for _ in range(workers):
            cluster.start_worker()
        yield cluster
    finally:
        cluster.stop()
        sys.stdout.flush()


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
