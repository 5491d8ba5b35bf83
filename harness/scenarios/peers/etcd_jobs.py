"""An adapter for etcd, as a queue of jobs: a message that is submitted is put as a job, and taken away once it is done.
That is when it is delivered, at every member. The node COMPACT compacts what is done. The node LAZY watches in the
first half of every second only, and goes on from the revision where it stopped."""

import asyncio
import os
import time

from etcd_adapter import (  # type: ignore[import-not-found]
    FAILURES,
    ME,
    ask,
    events,
    packed,
    say,
    submissions,
    unpacked,
)

DONE_S, TURN_S = 0.6, 0.5
LAZY = os.environ["LAZY"] == ME


async def work() -> None:
    """Do what is submitted."""
    async for seq, data in submissions():
        key = packed(f"m/{ME}/{seq}/{data}")
        await ask("/v3/kv/put", {"key": key, "value": packed("to do")})
        await asyncio.sleep(DONE_S)
        await ask("/v3/kv/deleterange", {"key": key})
        say(f"note confirmed about={ME} seq={seq}")


async def deliver(seen: list[str]) -> None:
    """What is done; the last element of `seen` is the revision up to which this node knows all."""
    async for event in events(int(seen[-1])):
        if event.get("type") == "DELETE":
            _, origin, seq, data = unpacked(event["kv"]["key"]).split("/")
            say(f"note delivered about={origin} seq={seq} data={data}")
            if os.environ["COMPACT"] == ME:
                await ask("/v3/kv/compaction", {"revision": event["kv"]["mod_revision"], "physical": True})
        seen.append(event["kv"]["mod_revision"])


async def watch() -> None:
    """All the time, or in turns."""
    seen = ["0"]
    while True:
        left_s = TURN_S - time.time() % (2 * TURN_S) if LAZY else None
        try:
            await asyncio.wait_for(deliver(seen), left_s if left_s is None else max(left_s, 0))
        except TimeoutError:
            await asyncio.sleep(2 * TURN_S - time.time() % (2 * TURN_S))
        except FAILURES as error:
            say(f"note alarm text={type(error).__name__} {error}")
            await asyncio.sleep(TURN_S)


async def main() -> None:
    """Until tutti ends it."""
    say("ready")
    await asyncio.gather(work(), watch())


asyncio.run(main())
