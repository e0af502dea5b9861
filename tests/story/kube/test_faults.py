"""The main job comes to the same end on a real API server's bad days."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from events.kinds import COLONIES
from events.kube import Changed, Sight
from schemas.entity import State
from tests.kube.plane import ControlPlane
from tests.story.kube.between import busy, conflicting, every
from tests.story.kube.told import CLUSTER, nothing_left, played, way

pytestmark = [pytest.mark.kube, pytest.mark.faults, pytest.mark.timeout(900)]
OUTAGE = 60.0
"""Seconds an API server is away."""
ENOUGH = 3
"""Refusals after which the weather has been felt."""


def when(stage, event: str, do: Callable[[], Awaitable[None]]) -> list[asyncio.Task[None]]:
    """Do it once, when the cluster first comes to be so."""
    done: list[asyncio.Task[None]] = []

    def hear(heard):
        if not done and isinstance(heard.said, State) and heard.names[:2] == ("cluster", event):
            done.append(asyncio.ensure_future(do()))

    stage.play.story.listeners.append(hear)
    return done


async def away(plane: ControlPlane, *, compact: bool) -> None:
    """The API server dies as in a crash, and comes back; etcd stays, but may forget."""
    server = plane.processes["kube-apiserver"]
    server.kill()
    if compact:
        await asyncio.to_thread(plane.compact)
    await asyncio.sleep(OUTAGE)
    server.start()
    await asyncio.to_thread(server.wait, plane._ready["kube-apiserver"])


@pytest.mark.parametrize("event", ["launching", "releasing"])
async def test_an_api_server_away_for_a_minute_and_a_compacted_etcd_change_nothing_of_the_end(stage, train, event):
    async with stage("capi") as it:
        done = when(it, event, lambda: away(it.plane, compact=True))
        await played(it, train)
        await nothing_left(it)
        await done[0]
        assert list(dict.fromkeys(way(it, CLUSTER)))[-2:] == ["releasing", "released"]


async def test_a_founded_clusters_api_away_for_a_minute_loses_no_work(stage, train):
    async with stage("capi") as it:

        async def lose() -> None:
            (plane,) = it.world.planes.values()
            await away(plane, compact=True)

        done = when(it, "ready", lose)
        inside, _ = await played(it, train)
        await nothing_left(it)
        await done[0]
        assert way(it, CLUSTER).count("launching") == 1
        assert {pod["status"]["phase"] for pod in inside.of("Pod", "train-")} == {"Succeeded"}


@pytest.mark.parametrize(
    "rule", [pytest.param(every(3, busy), id="429"), pytest.param(conflicting, id="409 on each status")]
)
async def test_refusals_for_a_while_are_waited_out_and_the_status_is_right_afterwards(stage, train, rule):
    async with stage("capi") as it:
        phases: list[str] = []

        def note(sight: Sight) -> None:
            if isinstance(sight, Changed):
                phases.append(sight.object.get("status", {}).get("phase", ""))

        async def follow() -> None:
            async for sight in it.kube.watch(COLONIES):
                note(sight)

        async def storm() -> None:
            it.weather.rule = rule
            await asyncio.sleep(12)
            it.weather.rule = lambda _: None

        following = asyncio.ensure_future(follow())
        done = when(it, "launching", storm)
        try:
            await played(it, train)
            await nothing_left(it)
            await done[0]
        finally:
            following.cancel()
        assert len(it.weather.refused) >= ENOUGH
        assert "Ready" in phases
        assert [each for each in phases if each][-1] == "Deleting"
