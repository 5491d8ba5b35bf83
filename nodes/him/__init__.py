"""him: high integrity multicast over IPv6 (paper 003): one message, one packet, and an alarm when it is not safe."""

from dataclasses import replace

from nodes.facet import Milestone, ProtocolSpec
from nodes.him.core import MAX_PAYLOAD
from nodes.him.machine import Him
from nodes.him.notes import Delivered, Result
from nodes.him.options import HimOptions
from nodes.him.pdus import PDUS
from nodes.him.sender import NUMBERING
from nodes.him.timing import patience_ns
from nodes.machine import Setting
from nodes.wire.him import PROPOSERS


def key_of(node: int, given: bytes, options: HimOptions) -> bytes:
    """The key that was given to the node, else the one that stands in the scenario for all to see."""
    if options.auth == "none":
        return given
    key = given or options.key.encode()
    return b"not " + key if node == options.outsider else key


def make(setting: Setting, options: HimOptions) -> Him:
    """A node with the group's key, if there is one."""
    return Him(replace(setting, key=key_of(setting.me, setting.key, options)), options)


def silence_ns(options: HimOptions) -> int:
    """An originator that waits for T_dec sends nothing, and neither does, longer still, a holder that waits for END."""
    return patience_ns(options) * 5 // 4


def doubts(options: HimOptions) -> dict[str, str]:
    """Where neighbours are drawn, nothing but the tree hears of everybody (docs/papers.md, D-HI-21)."""
    if options.adj == "ring" or options.confirmation == "tree":
        return {}
    share = {"random": "12 %", "near_far": "16 %"}[options.adj]
    return {
        "HI-1": f'him.confirm = "{options.confirmation}" with him.adj = "{options.adj}": with ten nodes, one neighbour '
        f"each and 5 % loss {share} of the messages are false SUCCESSes, though all nodes are up (D-HI-21); "
        '"tree" has none'
    }


PROTOCOL = ProtocolSpec(
    name="him",
    transport="udp",
    options=HimOptions,
    make=make,
    doubts=doubts,
    lives=NUMBERING.lives,
    most_nodes=PROPOSERS - 1,
    properties=("HI-1", "HI-2", "HI-3", "HI-4", "HI-5", "HI-6", "HI-7", "HI-8", "HI-9", "NA"),
    notes=(Delivered, Result),
    pdus=PDUS,
    counted=True,
    max_payload=MAX_PAYLOAD,
    silence_ns=silence_ns,
    phase=Him.phase,
    states=Him.states,
    milestones=(
        Milestone("an originator died before its decision", ("SENT", "crash"), ("RESULT",)),
        Milestone("a tester died between its question and its report", ("QUERY", "crash"), ("REPORT",)),
        Milestone("a holder gave the alarm about a dead originator", ("ALARM orphaned",)),
        Milestone("a SUCCESS was doubted afterwards", ("RESULT SUCCESS", "ALARM late report")),
        Milestone("who was taken out of the group came back", ("LEFT", "VIEW")),
    ),
    key_file=lambda options: options.key_file if options.auth == "hmac" else "",
    beats=lambda options: options.alive_ns > 0,
)
