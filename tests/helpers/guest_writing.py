"""In a guest: a process that has some memory, and when it has been forked reads and writes as many pages of it as a run
asks for."""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import resource

from harness.agent.guest import fork_here
from harness.exchange import Answer, Exchange
from harness.manifest import Findings

PAGES = 70_000  # read and written, that is more than a template can note
_PAGE_BYTES = 4096


def carry_out(files: Exchange, state: object) -> None:
    area = mmap.mmap(-1, PAGES * _PAGE_BYTES, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for number in range(PAGES):
        area[number * _PAGE_BYTES] = number % 251
    asked, ask = os.pipe()
    told, tell = os.pipe()
    if (child := os.fork()) == 0:
        pages = int(os.read(asked, 32))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        read = sum(area[number * _PAGE_BYTES] for number in range(pages))
        for number in range(pages):
            area[number * _PAGE_BYTES + 1] = number % 241
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
        os.write(tell, json.dumps({"faults": faults, "read": read, "holds": _digest(area)}).encode())
        os._exit(0)
    fork_here()
    os.write(ask, (files.run.path / "pages").read_bytes())
    said = json.loads(os.read(told, 4096))
    os.waitpid(child, 0)
    (files.run.path / "said.json").write_text(json.dumps({**said, "left": _digest(area)}))
    files.give(Answer(Findings()))


def _digest(area: mmap.mmap) -> str:
    return hashlib.sha256(area).hexdigest()
