"""The one wire table: every PDU of every protocol is described here, once.

A PDU is a frozen dataclass whose annotations *are* its row of the table: kind, meaning, order. From this the
nodes' codec (`encode`, `decode_untrusted`), the Scapy classes, the columnar decoder, the fault matcher and the
Wireshark dissector are derived. A shared table cannot reveal its own mistake, so golden bytes typed by hand
guard it in tests/.

Every PDU begins with one header (big-endian, like everything here):

    0      2          3      4    6       8        12
    +------+----------+------+----+-------+--------+---- ...
    | magic| ver proto| type | src| length| check  | the PDU's own fields, payload last
    +------+----------+------+----+-------+--------+---- ...

`length` counts from the magic to the end of the payload: Ethernet pads short frames. `check` is the CRC-32 of
Ethernet and zip over the PDU without this field.
"""

from nodes.wire.codec import check_of, decode_untrusted, encode
from nodes.wire.table import (
    ETHERTYPE,
    HEADER,
    MAGIC,
    UDP_PORT,
    VERSION,
    Field,
    Pdu,
    PduType,
    Proto,
    RangeError,
    WireError,
    all_pdu_types,
    pdu_type,
)

__all__ = [
    "ETHERTYPE",
    "HEADER",
    "MAGIC",
    "UDP_PORT",
    "VERSION",
    "Field",
    "Pdu",
    "PduType",
    "Proto",
    "RangeError",
    "WireError",
    "all_pdu_types",
    "check_of",
    "decode_untrusted",
    "encode",
    "pdu_type",
]
