"""Every journal against one suite: in memory, on the bus in memory, on the real nats-server."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from events.jetstream import connect
from events.memory import MemoryBus
from events.nats_server import NatsServer
from services.sandbox.api.journal import KUBE, BusJournal, MemoryJournal, matches

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
            bus = MemoryBus((KUBE,))
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


async def test_a_tombstone_is_kept_until_it_is_purged(journals):
    journal = journals()
    revision = await journal.append("kube.a.b", b"")
    assert await journal.load() == [("kube.a.b", revision, b"")]
    await journal.purge("kube.a.b")
    assert await journal.load() == []


async def test_a_purge_takes_what_its_filter_matches(journals):
    journal = journals()
    for subject in ("kube.a.x.y", "kube.a.z", "kube.b.x"):
        await journal.append(subject, b"1")
    await journal.purge("kube.a.>")
    assert [subject for subject, _, _ in await journal.load()] == ["kube.b.x"]


async def test_after_a_purge_revisions_still_go_up(journals):
    journal = journals()
    last = await journal.append("kube.a.b", b"1")
    await journal.purge("kube.a.b")
    assert await journals().append("kube.a.b", b"1") > last


async def test_the_api_comes_back_from_it(journals, worlds):
    async with worlds(journals()) as world:
        creates = (world.client.create(CONFIGMAPS, {"metadata": {"name": f"c{n}"}}) for n in range(50))
        assert {answer.status for answer in await asyncio.gather(*creates)} == {201}
        await world.client.delete(f"{CONFIGMAPS}/c7")
        kept = (await world.client.get(CONFIGMAPS))["items"]
    async with worlds(journals()) as again:
        assert (await again.client.get(CONFIGMAPS))["items"] == kept
        assert len(kept) == 49


@pytest.mark.parametrize(
    ("pattern", "subject", "fits"),
    [
        ("kube.a.>", "kube.a.b", True),
        ("kube.a.>", "kube.a.b.c", True),
        ("kube.a.>", "kube.a", False),
        ("kube.*.b", "kube.a.b", True),
        ("kube.*.b", "kube.a.c", False),
        ("kube.a", "kube.a", True),
    ],
)
def test_filters_match_as_on_the_bus(pattern, subject, fits):
    assert matches(pattern, subject) is fits
