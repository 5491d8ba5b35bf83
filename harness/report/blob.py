"""Columns of numbers in a page: typed arrays, one after another, compressed, as text."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[Any]
# numpy's name -> the browser's.
_ARRAYS = {
    "float64": "Float64Array",
    "float32": "Float32Array",
    "uint32": "Uint32Array",
    "int32": "Int32Array",
    "uint16": "Uint16Array",
    "uint8": "Uint8Array",
}


def pack(columns: Mapping[str, Column], about: Any) -> str:
    """Base64 of gzip of: length of the directory (u32), the directory (JSON), the columns, each 8-aligned.

    The directory is {"columns": {name: [array type, place, elements]}, "about": ...}.
    """
    body = bytearray()
    places = {}
    for name, column in columns.items():
        body += bytes(-len(body) % 8)
        places[name] = [_ARRAYS[column.dtype.name], len(body), len(column)]
        body += np.ascontiguousarray(column).astype(column.dtype.newbyteorder("<")).tobytes()
    directory = json.dumps({"columns": places, "about": about}, separators=(",", ":"), ensure_ascii=False).encode()
    directory += b" " * (-(len(directory) + 4) % 8)
    whole = len(directory).to_bytes(4, "little") + directory + bytes(body)
    return base64.b64encode(gzip.compress(whole, 6, mtime=0)).decode()
