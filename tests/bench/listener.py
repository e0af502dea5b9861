"""``python -m tests.bench.listener URL FILTER`` says when each word came on the bus, in a process of its own."""

import sys
from contextlib import aclosing
from time import perf_counter

import uvloop

from events.bus import CaughtUp
from events.jetstream.bus import connect


async def listen(url: str, subjects: str) -> None:
    """A line of `perf_counter` (one clock for the whole machine) for each message that comes, an empty one to begin."""
    bus = await connect(url, name="listener", streams=())
    live = False
    async with aclosing(bus.feed("LEVELS", subjects)) as feed:
        async for stored in feed:
            came, live = perf_counter(), live or isinstance(stored, CaughtUp)
            if live:
                sys.stdout.write("\n" if isinstance(stored, CaughtUp) else f"{came}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    uvloop.run(listen(*sys.argv[1:]))
