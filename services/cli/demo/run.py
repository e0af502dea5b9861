"""Runs `alate demo`: a stack in a folder of its own, the story, the display, the proof."""

import asyncio
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

from services.cli.connection import joined, management, operator
from services.cli.demo.chaos import Chaos
from services.cli.demo.leftovers import objects
from services.cli.demo.play import STORY, Play, endless
from services.cli.demo.proof import Counter, Proof
from services.cli.demo.report import DemoReport, made, summary
from services.cli.demo.screen import Screen, screen
from services.cli.demo.story import Story
from services.cli.output.render import json_text
from services.cli.request.colony import from_file
from services.cli.up.stack import OPERATOR, running
from services.errors import Failed
from services.local.folder import Folder
from services.local.program import NotStarted
from services.local.programs import Wiring
from services.local.supervisor import Supervisor

COLONY = Path(__file__).parents[3] / "deploy" / "colony.yaml"
SETTLING = 60.0
"""Seconds until a Colony that is deleted must be gone, and until everything must be counted zero."""
PATIENCE = 30.0
"""Seconds the bus may be away: it is killed, too."""


async def demo(*, chaos: bool, as_json: bool, keep: Path | None, backend: str) -> bool:
    """Play it and print what came out; whether all of it was as it should be."""
    began = time.monotonic()
    out = screen(lambda: time.monotonic() - began, as_json=as_json)
    out.say("starting nats-server, the sandbox and seven services")
    with _root(keep) as root:
        how = {"ALATE_BACKEND": backend}
        async with running(Folder(root), settings=how, changed=out.process, monitored=True) as (wiring, stack):
            killer = Chaos(lambda name: stack.child(name).kill(), out.clock) if chaos else None
            found = await _perform(wiring, stack, out, killer)
    sys.stdout.write(json_text(found) if as_json else "".join(f"{line}\n" for line in summary(found)))
    return found.ok


@contextmanager
def _root(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        yield keep
        return
    with tempfile.TemporaryDirectory(prefix="alate-demo-") as folder:
        yield Path(folder)


async def _perform(wiring: Wiring, stack: Supervisor, out: Screen, chaos: Chaos | None) -> DemoReport:
    async with AsyncExitStack() as at_end:
        bus = await at_end.enter_async_context(joined(wiring.bus, operator(wiring.key(OPERATOR)), PATIENCE))
        kube = await at_end.enter_async_context(management(str(wiring.management)))
        before = await objects(kube)
        story = Story()
        story.listeners += (out.show, *((chaos.receive,) if chaos else ()))
        play = Play(bus, kube, story)
        await at_end.enter_async_context(out.showing(story, stack, chaos))
        async with asyncio.TaskGroup() as group:
            hearing = group.create_task(play.follow())
            failure = await _story(play, stack, chaos)
            counter = Counter(bus, kube, wiring.management, wiring.ports.monitor, before, frozenset(play.expected))
            out.say("counting what is left")
            proof = await _proof(counter, 0.0 if failure else SETTLING)
            hearing.cancel()
        return made(story, out.clock(), proof, failure, chaos)


async def _story(play: Play, stack: Supervisor, chaos: Chaos | None) -> str:
    """The whole story; what went wrong, if something did."""
    (colony,) = from_file(COLONY, None)
    try:
        await play.colony(colony, STORY)
        if chaos:
            chaos.hurry = True  # the first was too fast for some of the kills
            chaos.cut_off = await play.cut_off(endless(colony), SETTLING)
        await stack.until_ready()
    except (Failed, NotStarted) as failure:
        return str(failure)
    return "" if chaos is None or chaos.done else "not every process was killed"


async def _proof(counter: Counter, within: float) -> Proof | str:
    """What was counted, or why nothing could be."""
    try:
        return await counter.settled(within)
    except Failed as failure:
        return str(failure)
