"""Histories in one line each, for tests of judges. Tokens stand in the order of true time, one millisecond apart:

    1+a>2,3     node 1 sends a message, called a from now on, to 2 and 3 (SUBMITTED, SENT); 1+a sends it to all;
                1+a>2,3#5 with a tag of 5 entries
    1+a>2/3,1,1 with a tag of 3 s-records and the vector time (1, 1)
    1+a=7>2     ... of which the digest is 7
    1&a>2,3     node 1's application submits it and nothing more follows
    2^a 2~a 2=a 2-a    node 2 accepts, pre-acknowledges, confirms, delivers a; several names: 2-abc
    2-a#7       ... delivers, and says that the digest is 7
    2%a,1.5     node 2 delivers a of Δ-causal order, after a wait of 1.5 ms; 2%a,1.5,3 with 3 entries in CB_m[2]
    2/a 2/a,overtaken   node 2 refuses a, because it is late, or for that reason
    2[1,2,3     node 2 installs the view {1,2,3}; 2[1,2,3#4 gives it the number 4
    2!3,late    node 2 raises an alarm about node 3, with a text (_ is a space); 2! about nobody; 2!3@a about a
    1$a         node 1 is told SUCCESS of a; 1$a:2,3 FAIL with the suspects 2 and 3; 1$a#2 after it was repeated twice
    x3 r3       the harness crashes node 3; restarts it (its next incarnation)
    l3          node 3 leaves by itself
    cut3 join3  the harness takes node 3's link down and up again; cut0 join0 the link between two switches
    part1>3     the harness keeps from node 3 what node 1 sends
    n1>DATA/1a  a frame him.DATA of source 1 about a leaves node 1; n2<DATA/1a enters node 2; n1<delta.DATA/2a;
                n1>DATA/1a#7 says that its sender holds what has hash 7; n3<delta.DATA/2c:ab has a and b in CB_c[3];
                n1>DATA/1a:2 is of round 2; n2<ALIVE/1:7 of view 7;
                n2>REPORT/2a:3 names node 3, which did not answer; a QUERY is its first;
                n2>CONFIRM/2a:5 has time stamp 5;
                n1>st.DATA/1#7:2 is PDU 7, sent again in round 2; n2>st.RST_ACK/2:2 asks for what is missing in it
    @7.5        it is now 7.5 ms; 2@7.5 node 2's clock shows 7.5 ms now and runs on from there
    start heal end limit     marks of the harness: end is quiet, limit and livelock are not
    livelock
    fault3 wake3   the harness stops node 3's process, and lets it go on
    hole        the captures have a hole

Names of messages are single letters; a message of node i gets i's next number as its seq.
"""

from __future__ import annotations

import re
from typing import Any

from captures.evidence import Event, Evidence, Frame, Frames, Notes
from nodes.cmd import notes as cmd
from nodes.delta import notes as delta
from nodes.protocols import NAMES, protocol
from nodes.wire.him import HASH_BYTES, HAVE, Reason
from nodes.wire.note import Delivered, NoteKind, Submitted
from nodes.wire.st import PHASE, RETX

BASE_NS = 1_000_000_000
UNIT_NS = 1_000_000

_ABOUT = {"^": NoteKind.ACCEPTED, "~": NoteKind.PREACKED, "=": NoteKind.CONFIRMED, "-": NoteKind.DELIVERED}
_TOKEN = re.compile(r"(?P<node>\d+)(?P<sign>[-+&^~=\[!$@%/])(?P<rest>.*)")
_FRAME = re.compile(
    r"n(?P<node>\d+)(?P<way>[<>])(?P<title>[\w.]+)/(?P<src>\d+)(?P<name>[a-z]?)(?P<hash>#\d+)?(?P<tag>:[a-z\d]+)?"
)
_HARNESS = re.compile(r"(?P<what>x|r|l|cut|join|fault|wake)(?P<node>\d+)")
_PARTITION = re.compile(r"part(?P<pair>\d+>\d+)")
_MARKS = {"start": "start", "heal": "heal", "end": "end quiet", "limit": "end limit", "livelock": "end livelock"}


class _Writer:
    def __init__(self, nodes: tuple[int, ...], unit_ns: int) -> None:
        self.nodes = nodes
        self.unit_ns = unit_ns
        self.now = BASE_NS
        self.events: list[Event] = []
        self.frames: list[Frame] = []
        self.holes: list[str] = []
        self.names: dict[str, tuple[int, int]] = {}
        self.stamps: dict[str, int] = {}
        self.seq = dict.fromkeys(nodes, 0)
        self.submissions = dict.fromkeys(nodes, 0)
        self.incarnation = dict.fromkeys((0, *nodes), 1)
        self.numbers = dict.fromkeys((0, *nodes), 0)
        self.offset = dict.fromkeys((0, *nodes), 0)

    def note(
        self,
        node: int,
        kind: NoteKind,
        about: tuple[int, int] = (0, 0),
        peers: tuple[int, ...] = (),
        values: tuple[int, ...] = (),
        text: str = "",
    ) -> None:
        self.numbers[node] += 1
        self.events.append(
            Event(
                self.now,
                node,
                kind,
                about[0],
                about[1],
                peers,
                values,
                text,
                self.incarnation[node],
                self.numbers[node],
                self.now + self.offset[node],
                f"n{node}.pcap" if node else "harness.pcap",
                self.numbers[node],
            )
        )

    def token(self, token: str) -> None:
        if token in _MARKS:
            self.note(0, NoteKind.MARK, text=_MARKS[token])
        elif token == "hole":  # noqa: S105
            self.holes.append("n1.pcap: frames are missing")
        elif token.startswith("@"):
            self.now = BASE_NS + round(float(token[1:]) * self.unit_ns)
            return
        elif match := _HARNESS.fullmatch(token):
            self.harness(match["what"], int(match["node"]))
        elif match := _PARTITION.fullmatch(token):
            pair = ">".join(f"n{node}" for node in match["pair"].split(">"))
            self.note(0, NoteKind.FAULT, text=f"partition {pair}")
        elif match := _FRAME.fullmatch(token):
            at, way = f"n{match['node']}", "out" if match["way"] == ">" else "in"
            frame = len(self.frames) + 1
            title = match["title"] if "." in match["title"] else f"him.{match['title']}"
            about = self.names.get(match["name"], (0, 0))
            self.frames.append(
                Frame(
                    self.now,
                    at,
                    way,
                    int(match["src"]),
                    title,
                    100,
                    f"{at}.pcap",
                    frame,
                    *about,
                    fields=self.said(match),
                )
            )
        elif match := _TOKEN.fullmatch(token):
            if self.at_node(int(match["node"]), match["sign"], match["rest"]):
                return
        else:
            raise ValueError(f"no such token: {token!r}")
        self.now += self.unit_ns

    def said(self, match: re.Match[str]) -> dict[str, Any]:
        """What the PDU of a frame says: the hash of what its sender holds, whom it suspects, or the time stamps for its
        receiver."""
        if match["title"].startswith("st."):
            again = RETX if match["title"] == "st.DATA" else PHASE
            return {"flags": again, "epoch": int(match["tag"][1:]), "tseq": int((match["hash"] or "#0")[1:])}
        if match["hash"]:
            held = int(match["hash"][1:])
            return {"hash": held.to_bytes(HASH_BYTES), "flags": HAVE if held else 0, "attempt": 1}
        if match["title"] == "REPORT":
            suspects = [(int(node), Reason.NOANSWER) for node in (match["tag"] or ":")[1:]]
            return {"suspects": suspects, "tsval": self.now // 1000}
        if match["title"] == "CONFIRM":
            return {"tsval": int(match["tag"][1:]) if match["tag"] else self.now // 1000}
        if match["title"] == "delta.DATA":
            cb = [(self.names[one][0], self.stamps[one]) for one in (match["tag"] or ":")[1:]]
            return {"counts": [len(cb) * (node == int(match["node"])) for node in self.nodes], "cb": cb}
        if match["title"] == "ALIVE":
            return {"view": int((match["tag"] or ":0")[1:])}
        return {"round": int(match["tag"][1:])} if match["tag"] else {}

    def harness(self, what: str, node: int) -> None:
        if what == "l":
            self.note(node, NoteKind.LEFT, text="stopped by the others")
        elif what == "r":
            self.note(0, NoteKind.FAULT, peers=(node,), text="restart")
            self.incarnation[node] += 1
            self.numbers[node] = self.seq[node] = self.submissions[node] = 0
            self.note(node, NoteKind.READY)
        elif what in ("cut", "join"):
            link = f"n{node}-s1" if node else "s1-s2"
            self.note(0, NoteKind.FAULT, text=f"link {'down' if what == 'cut' else 'up'} {link}")
        else:
            self.note(0, NoteKind.FAULT, peers=(node,), text={"x": "crash", "fault": "pause", "wake": "resume"}[what])

    def at_node(self, node: int, sign: str, rest: str) -> bool:
        """Write what a node did; True if that took no time."""
        values: tuple[int, ...]
        if sign == "@":
            self.offset[node] = BASE_NS + round(float(rest) * self.unit_ns) - self.now
            return True
        if sign in "+&":
            self.send(node, rest, sent=sign == "+")
        elif sign in _ABOUT:
            names, _, value = rest.partition("#")
            for name in names:
                values = Delivered(int(value)) if value else ()
                self.note(node, _ABOUT[sign], self.names.get(name, (9, ord(name))), values=values)
                self.now += self.unit_ns
            self.now -= self.unit_ns
        elif sign == "%":
            name, wait, *entries = rest.split(",")
            mine = int(entries[0]) if entries else 0
            values = delta.Delivered(0, self.stamps[name], round(float(wait) * self.unit_ns), 0, mine, entries=0)
            self.note(node, NoteKind.DELIVERED, self.names[name], values=values)
        elif sign == "/":
            name, _, why = rest.partition(",")
            self.note(
                node, NoteKind.REFUSED, self.names[name], values=delta.Dropped(self.stamps[name], 1), text=why or "late"
            )
        elif sign == "[":
            members, _, number = rest.partition("#")
            self.note(node, NoteKind.VIEW, (0, int(number or 0)), peers=_nodes(members))
        elif sign == "!":
            rest, _, name = rest.partition("@")
            peers, _, text = rest.rpartition(",") if "," in rest else (rest, "", "")
            about, text = self.names.get(name, (0, 0)), text.replace("_", " ")
            self.note(node, NoteKind.ALARM, about, peers=_nodes(peers), text=text)
        else:
            rest, _, rounds = rest.partition("#")
            name, _, suspects = rest.partition(":")
            text, values = "FAIL" if suspects else "SUCCESS", (int(rounds),) if rounds else ()
            self.note(node, NoteKind.RESULT, self.names[name], peers=_nodes(suspects), values=values, text=text)
        return False

    def send(self, node: int, rest: str, sent: bool) -> None:
        rest, _, entries = rest.partition("#")
        rest, _, records = rest.partition("/")
        rest, _, to = rest.partition(">")
        name, _, digest = rest.partition("=")
        peers = _nodes(to) if to else self.nodes
        self.submissions[node] += 1
        said = Submitted(int(digest)) if digest else ()
        self.note(node, NoteKind.SUBMITTED, (node, self.submissions[node]), peers=peers, values=said)
        if sent:
            self.seq[node] += 1
            above = (self.incarnation[node] - 1) << 32
            self.names[name] = (node, above | self.seq[node])
            self.stamps[name] = self.now + self.offset[node]
            number = self.submissions[node]
            if records:
                size, *vector = _nodes(records)
                values: tuple[int, ...] = (*cmd.Sent(number, size), *vector)
            else:
                values = delta.Sent(number, self.stamps[name], int(entries or 0))
            self.note(node, NoteKind.SENT, self.names[name], peers=peers, values=values)


def _nodes(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(",") if part)


def history(line: str, nodes: int = 3, options: Any = None, unit_ns: int = UNIT_NS) -> Evidence:
    """The history that a line describes, among nodes 1..nodes, of a protocol with these options.

    Another `unit_ns` takes the place of all milliseconds in it.
    """
    writer = _Writer(tuple(range(1, nodes + 1)), unit_ns)
    for token in line.split():
        writer.token(token)
    return Evidence(
        writer.nodes,
        Notes(writer.events),
        tuple(writer.holes),
        Frames(writer.frames),
        protocol=next((name for name in NAMES if isinstance(options, protocol(name).options)), ""),
        options=options,
    )
