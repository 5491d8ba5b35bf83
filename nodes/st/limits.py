"""What the wire, and a frame of the channel, can say of a cluster: of ST and of TO, which is built on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from nodes.st.round import WORD, words_for
from nodes.wire import HEADER, Pdu
from nodes.wire.st import StData, StRstAck
from nodes.wire.table import Flags, Members, UInt, Vector, greatest

if TYPE_CHECKING:
    from nodes.st.options import StOptions

FRAME = 1500  # bytes of payload
_ETHERNET = 14
MOST_WINDOW = greatest(StRstAck, "words") * WORD  # the bitmap of a round holds what may be unacknowledged


def check(cluster: int, window: int, buffer_share: int) -> None:
    """The options of the data transfer; ValueError says what is wrong."""
    if not 0 <= cluster <= greatest(StData, "cluster"):
        raise ValueError(f"cluster is 0 to {greatest(StData, 'cluster')}")
    if not 0 <= window <= MOST_WINDOW:
        raise ValueError(f"window is 1 to {MOST_WINDOW}, which the bitmap of RST_ACK can hold, or 0 for 3n")
    if not 1 <= buffer_share <= greatest(StData, "buf"):
        raise ValueError(f"buffer_share is 1 to {greatest(StData, 'buf')}")


def misfit(data: type[Pdu], rst_ack: type[Pdu], options: StOptions, nodes: int, rate_bps: int) -> str:
    """The longest PDU of a round must go into one frame: else no round ever ends. And there must be room for the ACK
    PDUs of everybody in a period: else they fill the channel for ever."""
    window = (options.window or 3 * nodes) if options.recovery == "selective" else 0
    size = _size(rst_ack, {"n": nodes, "words": words_for(window)})
    if size > FRAME:
        return (
            f"a RST_ACK of {nodes} nodes would have {size} bytes with this window; a frame of the channel holds {FRAME}"
        )
    bits = 2 * nodes * (_ETHERNET + _size(data, {"n": nodes})) * 8
    if rate_bps and options.period_ns and options.period_ns * rate_bps < bits * 1_000_000_000:
        least = f"2n of them take {bits / rate_bps * 1e6:.1f} us on this channel"
        return f"with a period of {options.period_ns / 1000:g} us ACK PDUs would fill the channel for ever: {least}"
    return ""


def _size(row: type[Pdu], known: Mapping[str, int]) -> int:
    """Bytes of a PDU without payload."""
    size = HEADER.size
    for field in row.TYPE.fields:
        if isinstance(field.kind, Vector):
            size += field.kind.element.width * field.kind.count(known)
        elif isinstance(field.kind, Members):
            size += 4 * words_for(known[field.kind.size])
        elif isinstance(field.kind, UInt | Flags):
            size += field.kind.width
    return size
