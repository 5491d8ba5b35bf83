"""Where a sweep keeps what it has: a directory here, or what Arrow reaches by a URL (hdfs:, s3:, gs:, file:).

records/<key>.json   one run each, written whole or not at all
runs/<key>/          its run directory, where the sweep keeps them (elsewhere than here: runs/<key>.tar.gz)
tables/ figures/ index.html sweep.json
"""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path, PurePosixPath

from pyarrow.fs import FileSelector, FileSystem, LocalFileSystem


class Store:
    """Files with relative names."""

    def __init__(self, where: str | Path) -> None:
        """Make the directory, if it is not there. An hdfs: URL needs Hadoop's own libhdfs on this machine."""
        url = str(where)
        self._files, base = FileSystem.from_uri(url if "://" in url else Path(where).absolute().as_uri())
        self._base = PurePosixPath(base)
        self._files.create_dir(base, recursive=True)
        self.here = Path(base) if isinstance(self._files, LocalFileSystem) else None  # its path, if it has one
        self._url = url

    def _path(self, name: str) -> str:
        return str(self._base / name)

    def read(self, name: str) -> bytes | None:
        """What is there."""
        try:
            with self._files.open_input_stream(self._path(name), compression=None) as stream:
                return stream.read()
        except FileNotFoundError:
            return None

    def write(self, name: str, data: bytes) -> None:
        """Put it there, whole or not at all."""
        target = self._base / name
        partial = str(target.with_name(f".{target.name}.partial"))
        self._files.create_dir(str(target.parent), recursive=True)
        with self._files.open_output_stream(partial, compression=None) as stream:
            stream.write(data)
        self._files.move(partial, str(target))

    def names(self, directory: str) -> list[str]:
        """Which files are in a directory."""
        found = self._files.get_file_info(FileSelector(self._path(directory), allow_not_found=True))
        return sorted(one.base_name for one in found)

    def unpack(self, name: str, packed: bytes) -> None:
        """A directory from a tar file; elsewhere than here the tar file itself."""
        if self.here is None:
            self.write(f"{name}.tar.gz", packed)
            return
        target = self.here / name
        target.mkdir(parents=True, exist_ok=True)
        with tarfile.open(fileobj=io.BytesIO(packed), mode="r:gz") as archive:
            for member in archive:
                content = archive.extractfile(member) if member.isfile() else None
                place = (target / member.name).resolve()
                if content is not None and place.is_relative_to(target.resolve()):
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_bytes(content.read())

    def __str__(self) -> str:
        """As a person would call it."""
        return self._url if self.here is None else os.path.relpath(self.here)
