"""What can be chosen about tcp: nothing but patience. All else is the kernel's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

Duration = Annotated[int, "duration"]  # nanoseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpOptions:
    """Who has not acknowledged by then counts as unreached."""

    give_up_ns: Duration = 30_000_000_000  # four SYNs of Linux are out by then
