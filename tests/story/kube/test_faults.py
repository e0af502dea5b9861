"""The main job comes to the same end on a real API server's bad days."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import pytest

from events.errors import NotFound
from events.kube.client import Kube
from events.kube.resources import CLUSTERS, COLONIES, CRDS
from schemas.cluster import Launching
from schemas.entity import State
from schemas.inventory import ClusterSeen
from schemas.teardown import Warned
from tests.kube.managers import definitions, install
from tests.kube.plane import ControlPlane
from tests.story.kube.between import busy, conflicting, every
from tests.story.kube.services import now
from tests.story.kube.told import CLUSTER, TEARDOWN, nothing_left, played, statuses, way

pytestmark = [pytest.mark.kube, pytest.mark.faults, pytest.mark.timeout(900)]
OUTAGE = 60.0
"""Seconds an API server is away."""
MISSED = 20.0
"""Seconds a definition is away."""
SKEW = timedelta(minutes=5)
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

        heard: list[bool | str] = []

        def note(told):
            if isinstance(told.said, ClusterSeen):
                heard.append(told.said.known)
            elif isinstance(told.said, Warned):
                heard.append("warned")

        it.play.story.listeners.append(note)
        done = when(it, "ready", lose)
        inside, _ = await played(it, train)
        await nothing_left(it)
        await done[0]
        assert list(dict.fromkeys(way(it, CLUSTER)))[-4:] == ["provisioned", "ready", "releasing", "released"]
        assert way(it, CLUSTER).count("launching") == 1
        # Its end is not thought of before it is heard again: not hearing it is not its being idle.
        assert True in heard[heard.index(False) : heard.index("warned")]
        assert {pod["status"]["phase"] for pod in inside.of("Pod", "train-")} == {"Succeeded"}


@pytest.mark.parametrize(
    "rule", [pytest.param(every(3, busy), id="429"), pytest.param(conflicting, id="409 on each status")]
)
async def test_refusals_for_a_while_are_waited_out_and_the_status_is_right_afterwards(stage, train, rule):
    async with stage("capi") as it, statuses(it.kube) as shown:

        async def storm() -> None:
            it.weather.rule = rule
            await asyncio.sleep(12)
            it.weather.rule = lambda _: None

        done = when(it, "launching", storm)
        await played(it, train)
        await nothing_left(it)
        await done[0]
        assert len(it.weather.refused) >= ENOUGH
        phases = [each["phase"] for each in shown if each["phase"]]
        assert "Ready" in phases
        assert phases[-1] == "Deleting"


async def replaced(kube: Kube) -> None:
    """The definition of Clusters is deleted, with every Cluster, and made anew after a while."""
    name = f"{CLUSTERS.plural}.{CLUSTERS.group}"
    await kube.delete(CRDS, name)
    await _gone(kube, name)
    await asyncio.sleep(MISSED)
    await install(kube, [one for one in definitions() if one["metadata"]["name"] == name])


async def _gone(kube: Kube, name: str) -> None:
    try:
        while True:
            await kube.get(CRDS, name)
            await asyncio.sleep(0.2)
    except NotFound:
        return


async def test_a_definition_deleted_and_made_anew_in_a_launch_is_waited_for_and_people_are_told(stage, train):
    async with stage("capi") as it, statuses(it.kube) as shown:
        done = when(it, "launching", lambda: replaced(it.kube))
        await played(it, train)
        await nothing_left(it)
        await done[0]
        reached = list(dict.fromkeys(way(it, CLUSTER)))
        assert "stalled" not in reached
        assert [each for each in reached if each != "placing"][-5:] == [
            "launching", "provisioned", "ready", "releasing", "released",
        ]  # fmt: skip
        assert any("does not serve Cluster in" in each["message"] for each in shown)
        assert "Ready" in [each["phase"] for each in shown]


async def test_services_whose_clock_is_behind_by_five_minutes_come_to_the_same_end(stage, train):
    """Every timer of the bus comes too early to them, the idle warning among them."""
    async with stage("capi", -SKEW) as it:
        await played(it, train)
        await nothing_left(it)
        assert way(it, CLUSTER).count("launching") == 1
        assert way(it, TEARDOWN).count("warned") >= 1
        assert sane(it, -SKEW)
        assert await it.services.bus.count("EVENTS", "due.>") <= ENOUGH


async def test_services_whose_clock_is_ahead_by_five_minutes_come_to_the_same_end(stage, train):
    """Every timer of the bus comes five minutes late to them, so that people end the cluster here."""
    async with stage("capi", SKEW) as it:
        meta = train["metadata"]
        del train["spec"]["clusters"][0]["idleAfter"]
        done = when(it, "ready", lambda: it.kube.delete(COLONIES, meta["name"], meta["namespace"]))
        await played(it, train)
        await nothing_left(it)
        await done[0]
        assert way(it, CLUSTER).count("launching") == 1
        assert sane(it, SKEW)


def sane(stage, skew: timedelta) -> bool:
    """Times follow one another, and the first is as far from ours as the services' clock is."""
    states = stage.play.story.states[CLUSTER]
    times = [state.since for state in states]
    launched = next(state for state in states if isinstance(state, Launching))
    lived: datetime = times[-1] - skew
    return times == sorted(times) and launched.billed_since < times[-1] and abs(now() - lived) < timedelta(minutes=3)
