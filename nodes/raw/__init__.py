"""raw: best-effort broadcast without guarantees. What arrives is delivered, at once, as often as it arrives."""

from nodes.machine import ProtocolSpec
from nodes.raw.machine import Raw, RawOptions

PROTOCOL = ProtocolSpec(name="raw", transport="any", options=RawOptions, make=Raw, properties=("NC",))
