"""What is kept at hand is what the server has, and where that cannot be seen the server is asked."""

import asyncio

import msgspec
import pytest

from events.errors import TryLater
from events.kube.client import Changed, Listed, Lost
from events.kube.resources import CONFIGMAPS, NAMESPACES
from schemas.wish import Limits, Need, Wish
from services.clouds.capi import Capi
from services.clouds.cluster_object import ObjectCache
from services.clouds.k0rdent import K0rdent

LABEL = "alate.dev/cloud"
WISH = Wish(
    tenant="default", colony="train", cluster="gpu", uid="u1", generation=1, need=Need(pools=()), limits=Limits()
)


def template(name, namespace="default"):
    return {"metadata": {"name": name, "namespace": namespace, "labels": {LABEL: name}}}


class FakeKube:
    """Shows what it is told to, and counts the lists."""

    def __init__(self):
        self.sights, self.lists = asyncio.Queue(), 0

    async def watch(self, _, *, labels):
        while True:
            yield await self.sights.get()

    async def list(self, _, namespace, *, labels):
        self.lists += 1
        return Listed((template("asked", namespace),), "1")


@pytest.fixture
async def kept():
    """What is kept, and how to show it something."""
    kube = FakeKube()
    kept = ObjectCache(kube, CONFIGMAPS, LABEL)
    task = asyncio.create_task(kept.run())

    async def show(*sights):
        for sight in sights:
            kube.sights.put_nowait(sight)
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    yield kept, kube, show
    task.cancel()


async def names(kept, namespace="default", **how):
    return [each["metadata"]["name"] for each in await kept.of(namespace, **how)]


async def test_the_server_is_asked_until_a_watch_has_listed_and_never_again(kept):
    kept, kube, show = kept
    assert await names(kept) == ["asked"]
    await show(Listed((template("a"), template("b", "other")), "1"))
    assert await names(kept) == ["a"]
    assert await names(kept, "other") == ["b"]
    assert await names(kept, "empty") == []
    assert kube.lists == 1


async def test_every_change_counts_from_when_it_is_seen(kept):
    kept, _, show = kept
    await show(Listed((template("a"),), "1"), Changed(template("b")), Changed(template("a"), gone=True))
    assert await names(kept) == ["b"]


async def test_while_nothing_is_heard_the_server_is_asked_each_time(kept):
    kept, kube, show = kept
    await show(Listed((), "1"), Lost("away"), Changed(template("late")))
    assert await names(kept) == ["asked"]
    assert await names(kept) == ["asked"]
    assert kube.lists == 2
    await show(Listed((), "2"))
    assert await names(kept) == []


async def test_whoever_asks_anew_is_answered_by_the_server(kept):
    kept, _, show = kept
    await show(Listed((), "1"))
    assert await names(kept, fresh=True) == ["asked"]


async def test_a_server_that_does_not_answer_is_a_fault_of_the_one_who_asks(kept):
    kept, kube, _ = kept

    async def away(*_, **__):
        raise TryLater("away")

    kube.list = away
    with pytest.raises(TryLater):
        await kept.of("default")


@pytest.fixture
async def watched(server):
    """Both back ends with all that they keep; gives what was asked since, and waits for what is seen."""
    backends = (Capi(server), K0rdent(server))
    tasks = [asyncio.create_task(each.run()) for backend in backends for each in backend.caches]
    for _ in range(100):
        await asyncio.sleep(0)
    server.transport.asked.clear()
    yield backends
    for task in tasks:
        task.cancel()


async def test_who_founds_again_and_again_asks_for_no_list(server, watched):
    for backend in watched * 2:
        assert "aws" in await backend.reach(WISH)
    assert server.transport.asked == ["GET v1beta2", "GET v1beta1"]  # whether each is installed, once


async def test_a_template_that_is_not_seen_yet_is_found_all_the_same(server, watched):
    capi, _ = watched
    tenant = msgspec.structs.replace(WISH, tenant="late")
    await server.create(NAMESPACES, {"metadata": {"name": "late"}})
    await server.create(CONFIGMAPS, template("aws", "late") | {"data": {"cluster.yaml": ""}})
    assert await capi.reach(tenant) == {"aws": False}


async def test_what_nobody_keeps_is_asked_for_each_time(server):
    for _ in range(2):
        assert "aws" in await Capi(server).reach(WISH)
    assert server.transport.asked == ["GET v1beta2"] + ["GET configmaps", "GET clusterclasses"] * 2
