"""What the wire, and a frame of the channel, can say of a cluster: of ST and of TO, which is built on it."""

from __future__ import annotations

from nodes.st.round import WORD, words_for
from nodes.wire import HEADER, Pdu
from nodes.wire.st import StData, StRstAck
from nodes.wire.table import Flags, UInt, Vector, greatest

FRAME = 1500  # bytes of payload
MOST_WINDOW = greatest(StRstAck, "words") * WORD  # the bitmap of a round holds what may be unacknowledged


def check(cluster: int, window: int, buffer_share: int) -> None:
    """The options of the data transfer; ValueError says what is wrong."""
    if not 0 <= cluster <= greatest(StData, "cluster"):
        raise ValueError(f"cluster is 0 to {greatest(StData, 'cluster')}")
    if not 0 <= window <= MOST_WINDOW:
        raise ValueError(f"window is 1 to {MOST_WINDOW}, which the bitmap of RST_ACK can hold, or 0 for 3n")
    if not 1 <= buffer_share <= greatest(StData, "buf"):
        raise ValueError(f"buffer_share is 1 to {greatest(StData, 'buf')}")


def misfit(rst_ack: type[Pdu], nodes: int, bitmap_of: int) -> str:
    """The longest PDU of a round must go into one frame: else no round ever ends. "" if it does."""
    known = {"n": nodes, "words": words_for(bitmap_of)}
    size = HEADER.size
    for field in rst_ack.TYPE.fields:
        if isinstance(field.kind, Vector):
            size += field.kind.element.width * field.kind.count(known)
        elif isinstance(field.kind, UInt | Flags):
            size += field.kind.width
    if size <= FRAME:
        return ""
    return f"a RST_ACK of {nodes} nodes would have {size} bytes with this window; a frame of the channel holds {FRAME}"
