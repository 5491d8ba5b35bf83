"""Where a sweep keeps what it has: a directory, or any Hadoop file system. What is there is not run again.

records/<key>.json   one run each, written whole or not at all
runs/<key>/          its run directory, where the sweep keeps them (on Hadoop: runs/<key>.tar.gz)
tables/ figures/ index.html sweep.json
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
import tarfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from harness.closure import ROOT, closure
from harness.sweep.task import Record
from nodes.protocols import NAMES

# Where the code of a run is entered: by the sweep's worker, in the guest, on this kernel; protocols are found by name.
ENTRIES = (
    "harness.sweep.task",
    "harness.agent.boot",
    "harness.agent.__main__",
    "harness.engines.isolated",
    *(f"nodes.{name}" for name in NAMES),
)


class Store(Protocol):
    """A place for files with relative names."""

    def read(self, name: str) -> bytes | None:
        """What is there."""

    def write(self, name: str, data: bytes) -> None:
        """Put it there, whole or not at all."""

    def names(self, directory: str) -> list[str]:
        """Which files are in a directory."""

    def unpack(self, name: str, packed: bytes) -> None:
        """A directory from a tar file."""

    def __str__(self) -> str:
        """As a person would call it."""


class Directory:
    """On this machine."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)

    def read(self, name: str) -> bytes | None:
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, name: str, data: bytes) -> None:
        target = self.path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f".{target.name}.partial")
        partial.write_bytes(data)
        partial.replace(target)

    def names(self, directory: str) -> list[str]:
        place = self.path / directory
        return sorted(path.name for path in place.iterdir()) if place.is_dir() else []

    def unpack(self, name: str, packed: bytes) -> None:
        target = self.path / name
        target.mkdir(parents=True, exist_ok=True)
        with tarfile.open(fileobj=io.BytesIO(packed), mode="r:gz") as archive:
            for member in archive:
                content = archive.extractfile(member) if member.isfile() else None
                place = (target / member.name).resolve()
                if content is not None and place.is_relative_to(target.resolve()):
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_bytes(content.read())

    def __str__(self) -> str:
        return os.path.relpath(self.path)


class Hadoop:
    """On a file system that Spark's Java knows: hdfs://, s3a://, file://."""

    def __init__(self, session: Any, url: str) -> None:
        self._url = url.rstrip("/")
        self._jvm = session.sparkContext._jvm
        path = self._jvm.org.apache.hadoop.fs.Path(self._url)
        self._files = path.getFileSystem(session.sparkContext._jsc.hadoopConfiguration())
        self._files.mkdirs(path)

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"{self._url}/{name}")

    def read(self, name: str) -> bytes | None:
        path = self._path(name)
        if not self._files.exists(path):
            return None
        stream = self._files.open(path)
        try:
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    def write(self, name: str, data: bytes) -> None:
        target = self._path(name)
        partial = self._path(f"{name}.partial")
        stream = self._files.create(partial, True)
        stream.write(bytearray(data))
        stream.close()
        self._files.delete(target, False)
        if not self._files.rename(partial, target):
            raise OSError(f"{self._url}/{name} cannot be written")

    def names(self, directory: str) -> list[str]:
        path = self._path(directory)
        if not self._files.exists(path):
            return []
        return sorted(str(one.getPath().getName()) for one in self._files.listStatus(path))

    def unpack(self, name: str, packed: bytes) -> None:
        self.write(f"{name}.tar.gz", packed)

    def __str__(self) -> str:
        return self._url


def finished(store: Store, keys: Iterable[str]) -> dict[str, Record]:
    """The records of those runs that are there."""
    there = set(store.names("records"))
    found: dict[str, Record] = {}
    for key in keys:
        if f"{key}.json" in there:
            data = store.read(f"records/{key}.json")
            if data is not None:
                found[key] = json.loads(data)
    return found


def keep(store: Store, key: str, record: Record) -> None:
    """Put a record there, unless the run failed: what fails for a reason of the machine is tried again next time."""
    if record["outcome"] != "failed":
        store.write(f"records/{key}.json", encoded(record))


def encoded(value: Any) -> bytes:
    """Equal values, equal bytes."""
    return (json.dumps(value, sort_keys=True, ensure_ascii=False) + "\n").encode()


@cache
def code_hash() -> str:
    """Of all code that a record depends on: whatever it imports, here and in the guest."""
    digest = hashlib.sha256(f"{sys.version_info[:2]}".encode())
    for path in [ROOT / "requirements.lock", *sorted(closure(ENTRIES).values())]:
        if path.is_file():
            digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
