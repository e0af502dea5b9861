"""The client and the sandbox's API are shown to mean the same by every verb."""

from contextlib import aclosing
from datetime import UTC, datetime
from itertools import count

import pytest

from events.errors import Denied, NotFound, TryLater
from events.kube.client import Changed, Kube, Listed
from events.kube.discovery import find
from events.kube.resources import CONFIGMAPS, NODES
from services.sandbox.api.server.app import Api
from services.sandbox.api.server.local import LocalTransport
from services.sandbox.api.store.journal import MemoryJournal

THING = {"metadata": {"name": "c", "namespace": "default"}, "data": {"a": "1"}}


@pytest.fixture
async def sandbox():
    numbers = count(1)
    api = Api(MemoryJournal(), lambda: datetime(2026, 1, 1, tzinfo=UTC), lambda: f"uid-{next(numbers)}")
    await api.start()
    yield Kube(LocalTransport(api, "management"), random=lambda: 0.0)
    await api.close()


async def test_an_object_lives_through_every_verb(sandbox):
    made = await sandbox.create(CONFIGMAPS, THING)
    with pytest.raises(Denied) as caught:
        await sandbox.create(CONFIGMAPS, THING)
    assert caught.value.reason == "AlreadyExists"
    await sandbox.patch(CONFIGMAPS, "c", "default", {"data": {"b": "2"}})
    await sandbox.patch(CONFIGMAPS, "c", "default", [{"op": "remove", "path": "/data/a"}], kind="json")
    assert (await sandbox.get(CONFIGMAPS, "c", "default"))["data"] == {"b": "2"}
    with pytest.raises(Denied) as caught:
        await sandbox.delete(CONFIGMAPS, "c", "default", uid="another")
    assert caught.value.reason == "Conflict"
    await sandbox.delete(CONFIGMAPS, "c", "default", uid=made["metadata"]["uid"])
    with pytest.raises(NotFound):
        await sandbox.get(CONFIGMAPS, "c", "default")


async def test_two_managers_meet_at_the_same_field(sandbox):
    await sandbox.apply(CONFIGMAPS, THING, manager="one")
    other = {**THING, "data": {"a": "2"}}
    with pytest.raises(Denied, match='conflict with "one"') as caught:
        await sandbox.apply(CONFIGMAPS, other, manager="two", force=False)
    assert caught.value.reason == "Conflict"
    assert (await sandbox.apply(CONFIGMAPS, other, manager="two"))["data"] == {"a": "2"}


async def test_a_watch_sees_what_is_there_and_what_happens(sandbox):
    async with aclosing(sandbox.watch(CONFIGMAPS, "default")) as sights:
        assert isinstance(await anext(sights), Listed)
        await sandbox.create(CONFIGMAPS, THING)
        await sandbox.delete(CONFIGMAPS, "c", "default")
        seen = [await anext(sights) for _ in range(2)]
    assert [(type(s), s.gone) for s in seen] == [(Changed, False), (Changed, True)]


async def test_kinds_are_discovered(sandbox):
    assert await find(sandbox, "v1", "Node") == NODES
    with pytest.raises(NotFound, match="is its CRD installed"):
        await find(sandbox, "nobody.io/v1", "Widget")


async def test_a_way_that_was_closed_is_a_matter_of_time(sandbox):
    await sandbox.close()
    with pytest.raises(TryLater, match="the way to /clusters/management was closed"):
        await sandbox.list(CONFIGMAPS)
