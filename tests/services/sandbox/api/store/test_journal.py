"""Every journal against one suite: in memory, on the bus in memory, on the real nats-server."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from events.bus import Bus, Message
from events.jetstream.bus import connect
from events.jetstream.server import NatsServer
from events.memory.bus import MemoryBus
from services.sandbox.api.store.journal import KUBE, BusJournal, MemoryJournal

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture(params=["memory", "bus", "jetstream"])
async def journals(request, tmp_path):
    """Makes journals that share what they keep, as one process after another would."""
    async with AsyncExitStack() as stack:
        incarnations = iter("abcdef")
        if request.param == "memory":
            only = MemoryJournal()
            yield lambda: only
            return
        if request.param == "bus":
            bus: Bus = MemoryBus((KUBE,))
        else:
            server = await stack.enter_async_context(NatsServer(tmp_path / "nats"))
            bus = await connect(server.url, name="sandbox", streams=(KUBE,))
        stack.push_async_callback(bus.close)
        yield lambda: BusJournal(bus, next(incarnations))


async def test_revisions_only_go_up(journals):
    journal = journals()
    first = [await journal.append("kube.a.b", b"1"), await journal.append("kube.a.c", b"1")]
    assert first == sorted(first)
    assert await journal.append("kube.a.b", b"2") > first[-1]


async def test_the_last_entry_of_each_subject_is_loaded_in_order(journals):
    journal = journals()
    await journal.append("kube.a.b", b"1")
    second = await journal.append("kube.a.c", b"2")
    third = await journal.append("kube.a.b", b"3")
    assert await journals().load() == [("kube.a.c", second, b"2"), ("kube.a.b", third, b"3")]


async def test_what_is_gone_is_not_loaded(journals):
    journal = journals()
    await journal.append("kube.a.b", b"1")
    assert await journal.append("kube.a.b", b"") > 1
    assert await journal.load() == []


async def test_its_head_is_also_of_what_is_gone(journals):
    journal = journals()
    assert await journal.head() == 0
    await journal.append("kube.a.b", b"1")
    gone = await journal.append("kube.a.b", b"")
    assert await journals().head() == gone
    await journal.append("kube.a.b", b"1")
    await journal.drop("kube.a")
    assert await journals().head() > gone


async def test_a_watch_from_before_a_deletion_is_told_to_list_again_after_a_restart(journals, worlds):
    async with worlds(journals()) as world:
        await world.client.create(CONFIGMAPS, {"metadata": {"name": "c"}})
        old = (await world.client.create(CONFIGMAPS, {"metadata": {"name": "d"}})).version
        await world.client.delete(f"{CONFIGMAPS}/c")
    async with worlds(journals()) as again:
        (event,) = await again.client.events(CONFIGMAPS, 1, resourceVersion=old)
        assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


async def test_all_of_a_dropped_cluster_is_gone_and_nothing_of_another(journals):
    journal = journals()
    for subject in ("kube.a.x.y", "kube.a.z", "kube.ab.x", "kube.b.x"):
        await journal.append(subject, b"1")
    await journal.drop("kube.a")
    assert [subject for subject, _, _ in await journal.load()] == ["kube.ab.x", "kube.b.x"]
    await journal.append("kube.a.z", b"2")
    assert [subject for subject, _, _ in await journals().load()] == ["kube.ab.x", "kube.b.x", "kube.a.z"]


async def test_after_a_drop_revisions_still_go_up(journals):
    journal = journals()
    last = await journal.append("kube.a.b", b"1")
    await journal.drop("kube.a")
    assert await journals().append("kube.a.b", b"1") > last


async def test_what_is_gone_stays_gone_when_nats_is_killed(nats_server):
    bus = await connect(nats_server.url, name="sandbox", streams=(KUBE,))
    journal = BusJournal(bus, "a")
    for _ in range(4):
        for number in range(40):  # each object in several shapes: an older one must not come back either
            await journal.append(f"kube.{'ab'[number % 2]}.core.nodes._.n{number % 8}", b"%d" % number)
        await journal.append("kube.b.core.nodes._.n1", b"")
        await journal.drop("kube.a")
        await nats_server.kill()
        await nats_server.start()
        names = [subject for subject, _, _ in await journal.load()]
        assert names == [f"kube.b.core.nodes._.n{number}" for number in (3, 5, 7)]
    await bus.close()


async def test_what_an_older_store_took_up_again_of_a_dropped_cluster_is_dropped_for_good():
    bus = MemoryBus((KUBE,))
    await bus.publish(Message("kube.a.core.nodes._.n1", b"1"))
    await BusJournal(bus, "a").drop("kube.a")
    returned = await bus.publish(Message("kube.a.core.nodes._.n1", b"1"))
    await bus.publish(Message("kube.a", b""))  # as if that had come after it
    assert await BusJournal(bus, "b").load() == []
    assert await bus.at("KUBE", returned) is None


async def test_the_api_comes_back_from_it(journals, worlds):
    async with worlds(journals()) as world:
        creates = (world.client.create(CONFIGMAPS, {"metadata": {"name": f"c{n}"}}) for n in range(50))
        assert {answer.status for answer in await asyncio.gather(*creates)} == {201}
        await world.client.delete(f"{CONFIGMAPS}/c7")
        kept = (await world.client.get(CONFIGMAPS))["items"]
    async with worlds(journals()) as again:
        assert (await again.client.get(CONFIGMAPS))["items"] == kept
        assert len(kept) == 49
