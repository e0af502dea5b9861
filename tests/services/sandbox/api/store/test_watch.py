"""Everyone who watches sees every change once, and in order."""

import asyncio
import random
from typing import Any

import pytest

from services.sandbox.api.store import watch as watching

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
WIDGETS = "/apis/demo.io/v1/namespaces/default/widgets"


def seen(events):
    return [(event["type"], event["object"]["metadata"]["name"]) for event in events]


def version(event):
    return int(event["object"]["metadata"]["resourceVersion"])


async def create(client, *names, **meta):
    return [await client.create(CONFIGMAPS, {"metadata": {"name": name, **meta}}) for name in names]


class Quiet:
    """A hub and its store, which never changes, and a view that shows bookmarks."""

    head = 1

    @property
    def store(self):
        return self

    def bookmark(self, head, _):
        return b"%d" % head

    def forget(self, watch):
        """One is closed."""


@pytest.mark.looptime
async def test_a_watch_ends_at_a_time_that_the_clock_cannot_show():
    hub: Any = Quiet()
    opened = watching.OpenWatch(hub, hub, 1 + 1e-11)
    batches = [batch async for batch in opened.batches()]
    assert sum(map(len, batches)) <= 1


async def test_a_watch_without_a_version_begins_with_what_is_there(client):
    await create(client, "a", "b")
    assert seen(await client.events(CONFIGMAPS, 2)) == [("ADDED", "a"), ("ADDED", "b")]


async def test_a_watch_goes_on_from_a_list_without_a_gap(client):
    await create(client, "a")
    listed = (await client.get(CONFIGMAPS)).version
    await create(client, "b")
    await client.patch(f"{CONFIGMAPS}/a", {"data": {"k": "v"}})
    await client.delete(f"{CONFIGMAPS}/a")
    events = await client.events(CONFIGMAPS, 3, resourceVersion=listed)
    assert seen(events) == [("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "a")]
    assert [version(e) for e in events] == sorted(version(e) for e in events)


async def test_every_change_is_seen_once_and_in_order_under_concurrent_writers(distant):
    client = distant.client
    since = (await client.get(CONFIGMAPS)).version
    dice = random.Random(7)  # noqa: S311 - a test's dice

    async def writer(number):
        name = f"{CONFIGMAPS}/w{number}"
        await client.create(CONFIGMAPS, {"metadata": {"name": f"w{number}"}})
        for turn in range(20):
            await client.patch(name, {"data": {"turn": str(turn)}})
            if dice.random() < 0.2:
                await asyncio.sleep(0)
        await client.delete(name)

    watches = [asyncio.create_task(client.events(CONFIGMAPS, 10 * 22, resourceVersion=since)) for _ in range(3)]
    await asyncio.gather(*(writer(n) for n in range(10)))
    first, *others = await asyncio.gather(*watches)
    assert all(other == first for other in others)
    versions = [version(event) for event in first]
    assert versions == sorted(set(versions))
    for number in range(10):
        mine = [event for event in first if event["object"]["metadata"]["name"] == f"w{number}"]
        assert [event["type"] for event in mine] == ["ADDED", *["MODIFIED"] * 20, "DELETED"]


async def test_resuming_anywhere_gives_the_rest(client):
    since = (await client.get(CONFIGMAPS)).version
    await create(client, *"abcdefgh")
    whole = await client.events(CONFIGMAPS, 8, resourceVersion=since)
    for place, event in enumerate(whole[:-1], start=1):
        assert await client.events(CONFIGMAPS, 8 - place, resourceVersion=str(version(event))) == whole[place:]


async def test_a_version_out_of_the_window_is_expired(worlds):
    async with worlds(window=4) as world:
        await create(world.client, *"abcdefgh")
        (event,) = await world.client.events(CONFIGMAPS, 1, resourceVersion="3")
        assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
        assert len(await world.client.events(CONFIGMAPS, 4, resourceVersion="6")) == 4


async def test_a_version_that_was_never_given_is_expired(client):
    (event,) = await client.events(CONFIGMAPS, 1, resourceVersion="999999")
    assert event["object"]["code"] == 410


async def test_an_object_that_stops_being_selected_is_deleted_for_who_watches(client):
    (made,) = await create(client, "a", labels={"on": "1"})
    watch = asyncio.create_task(client.events(CONFIGMAPS, 3, labelSelector="on=1"))
    await asyncio.sleep(0)
    await client.patch(f"{CONFIGMAPS}/a", {"metadata": {"labels": {"on": None}}})
    back = await client.patch(f"{CONFIGMAPS}/a", {"metadata": {"labels": {"on": "1"}}})
    events = await watch
    assert seen(events) == [("ADDED", "a"), ("DELETED", "a"), ("ADDED", "a")]
    assert events[1]["object"]["metadata"]["labels"] == {"on": "1"}
    assert int(made.version) < version(events[1]) < int(back.version)


async def test_one_object_is_watched_by_its_name(client):
    await create(client, "a", "b")
    by_field = await client.events(CONFIGMAPS, 1, fieldSelector="metadata.name=b")
    assert by_field == await client.events(f"{CONFIGMAPS}/b", 1)
    assert seen(by_field) == [("ADDED", "b")]


async def test_initial_events_end_with_their_mark(client):
    await create(client, "a")
    asked = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    added, mark = await client.events(CONFIGMAPS, 2, **asked)
    assert (added["type"], mark["type"]) == ("ADDED", "BOOKMARK")
    assert mark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert version(mark) == version(added)


async def test_initial_events_need_their_match(client):
    refused = (await client.events(CONFIGMAPS, 1, sendInitialEvents="true"))[0]
    assert (refused["code"], refused["reason"]) == (422, "Invalid")


@pytest.mark.looptime
async def test_a_watch_ends_after_its_time(client):
    loop = asyncio.get_running_loop()
    began = loop.time()
    assert [event async for event in client.watch(CONFIGMAPS, timeoutSeconds="30")] == []
    assert 30 <= loop.time() - began < 31


@pytest.mark.looptime
async def test_bookmarks_come_every_minute_to_who_asked(client):
    asked = {"timeoutSeconds": "150", "allowWatchBookmarks": "true"}
    events = [event async for event in client.watch(CONFIGMAPS, **asked)]
    listed = int((await client.get(CONFIGMAPS)).version)
    assert [(event["type"], version(event)) for event in events] == [("BOOKMARK", listed)] * 2


async def test_a_reader_who_is_too_slow_loses_the_watch(client, monkeypatch):
    monkeypatch.setattr(watching, "LIMIT", 5)
    events = client.watch(CONFIGMAPS, resourceVersion=(await client.get(CONFIGMAPS)).version)
    first = asyncio.create_task(anext(events))
    await asyncio.sleep(0)
    await create(client, "a")
    assert (await first)["type"] == "ADDED"
    await create(client, *"bcdefghij")
    assert [event async for event in events] == []


async def test_bad_numbers_and_selectors_are_refused(client):
    for query in (
        {"resourceVersion": "x"},
        {"timeoutSeconds": "-1"},
        {"fieldSelector": "spec.nope=1"},
        {"labelSelector": "a b"},
    ):
        assert (await client.events(CONFIGMAPS, 1, **query))[0]["code"] == 400
