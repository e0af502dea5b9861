"""The main job is played, seen from inside the founded cluster, and proven to have left nothing."""

import asyncio
import time
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import structlog

from events.errors import TryLater
from events.kube.client import Changed, Kube, Object, Sight
from events.kube.resources import COLONIES, CONFIGMAPS, JOBS, NODES, PODS
from schemas.inventory import ClusterSeen
from schemas.subjects import Key
from services.cli.demo.story import event_of, spans
from tests.story.kube.count import counted
from tests.story.kube.services import LOOK

CLUSTER, TEARDOWN, JOB = (Key(*names.split("/")) for names in (
    "cluster/default/train-gpu", "teardown/default/train-gpu", "addon/default/train-gpu.job",
))  # fmt: skip
WITHIN = 300.0


log = structlog.get_logger()


@dataclass
class Inside:
    """What the founded cluster's own API said while it was there."""

    stage: Any
    last: dict[str, Object] = field(default_factory=dict)
    """Each object as it was last seen, by kind and name."""

    async def look(self) -> None:
        """See what is there now."""
        for kube in [self.stage.world.kube(place) for place in self.stage.world.planes]:
            with suppress(TryLater):  # it may be away for a while, and gone for good while we look
                for resource in (NODES, PODS, CONFIGMAPS, JOBS):
                    listed = (await kube.list(resource)).items
                    self.last |= {f"{resource.kind}/{each['metadata']['name']}": each for each in listed}

    def of(self, kind: str, start: str = "") -> list[Object]:
        return [each for key, each in self.last.items() if key.startswith(f"{kind}/{start}")]


async def played(stage, colony):
    """The story to its end; what was seen inside meanwhile, and what was said of accelerators in use."""
    used, inside = [], Inside(stage)

    def note(heard):
        if isinstance(heard.content, ClusterSeen):
            used.append((heard.content.allocated, heard.content.finished))

    stage.play.story.listeners.append(note)
    began = time.monotonic()
    playing = asyncio.ensure_future(stage.play.colony(colony, WITHIN))
    try:
        while not playing.done():
            stage.services.check()
            await inside.look()
            await asyncio.sleep(LOOK)
        await playing
    finally:
        playing.cancel()
        _tell(stage, time.monotonic() - began)
    return inside, used


def _tell(stage, seconds):
    """Figures, for whoever reads the log."""
    spent = {"/".join(key): spans(states, event_of) for key, states in stage.play.story.states.items()}
    log.info("story.told", seconds=round(seconds, 1), **spent)


@asynccontextmanager
async def statuses(kube: Kube):
    """Every status that the Colonies show meanwhile."""
    shown = []

    def note(sight: Sight) -> None:
        if isinstance(sight, Changed):
            shown.append({"phase": "", "message": ""} | sight.object.get("status", {}))

    async def follow() -> None:
        async for sight in kube.watch(COLONIES):
            note(sight)

    following = asyncio.ensure_future(follow())
    try:
        yield shown
    finally:
        following.cancel()


async def nothing_left(stage):
    """Raises TimeoutError unless everything comes to zero; then asserts what cannot."""
    last = {}

    async def look():
        last["count"] = await counted(stage.services.bus, stage.kube, stage.before, frozenset(stage.play.expected))
        return last["count"].clean

    try:
        await stage.services.until(look, 60)
    except TimeoutError as late:
        raise AssertionError(last["count"]) from late
    assert stage.world.planes == {}
    assert stage.world.processes == []
    assert stage.world.ever


def way(stage, key):
    return [event_of(state) for state in stage.play.story.states[key]]
