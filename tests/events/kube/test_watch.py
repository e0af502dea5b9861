"""A watch is shown to miss nothing and double nothing, whatever happens to its connections."""

import asyncio
from contextlib import aclosing
from itertools import pairwise
from typing import Any

import pytest

from events.backoff import Backoff
from events.errors import Denied, TryLater
from events.kube.client import Changed, Listed, Lost, Request, Response
from events.kube.resources import CONFIGMAPS
from events.kube.watch import HEARD, Watch


def name(sight):
    return sight.object["metadata"]["name"]


class Ear:
    """Listens to a watch in the background and keeps what it says."""

    def __init__(self, api, kube) -> None:
        self.sights: list[Any] = []
        self.api = api
        self.watch = kube.watch(CONFIGMAPS, "default")

    async def __aenter__(self):
        self.task = asyncio.create_task(self.listen())
        await self.api.until(lambda: self.api.watchers == 1)
        return self

    async def __aexit__(self, *_):
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    async def listen(self):
        async with aclosing(self.watch) as sights:
            async for sight in sights:
                self.sights.append(sight)
                await self.api._notify()

    def kinds(self):
        return [type(s) for s in self.sights]

    async def until(self, true):
        await self.api.until(lambda: true(self.sights))


async def test_a_list_comes_first_then_every_change(api, kube):
    await api.say("a")
    async with Ear(api, kube) as ear:
        await api.say("b")
        await api.say("b", "MODIFIED")
        await api.say("a", "DELETED")
        await ear.until(lambda s: len(s) == 4)
    assert [o["metadata"]["name"] for o in ear.sights[0].items] == ["a"]
    assert ear.sights[0].resource_version == "101"
    assert [(name(s), s.gone) for s in ear.sights[1:]] == [("b", False), ("b", False), ("a", True)]


async def test_nothing_is_missed_or_doubled_across_cuts(api, kube):
    async with Ear(api, kube) as ear:
        for i in range(60):
            await api.say(f"c{i}")
            if i % 6 == 0:
                await api.cut()
                await api.say(f"while-away-{i}")
                await api.until(lambda: api.watchers == 1)
        await ear.until(lambda s: len(s) == 71)
    said = [e["object"]["metadata"]["name"] for e in api.log]
    assert [name(s) for s in ear.sights[1:]] == said
    assert ear.kinds().count(Listed) == 1
    assert Lost not in ear.kinds()


async def test_a_410_lists_anew_without_a_word_of_loss(api, kube):
    async with Ear(api, kube) as ear:
        await api.say("a")
        await ear.until(lambda s: len(s) == 2)
        await api.cut()
        await api.say("b")
        await api.forget()
        await ear.until(lambda s: len(s) == 3)
    assert ear.kinds() == [Listed, Changed, Listed]
    assert [o["metadata"]["name"] for o in ear.sights[2].items] == ["a", "b"]


async def test_an_error_event_of_410_lists_anew(api, kube):
    async with Ear(api, kube) as ear:
        await api.error(410, "Expired")
        await ear.until(lambda s: len(s) == 2)
    assert ear.kinds() == [Listed, Listed]


async def test_an_error_event_of_500_resumes(api, kube):
    async with Ear(api, kube) as ear:
        await api.say("a")
        await ear.until(lambda s: len(s) == 2)
        await api.error(500, "InternalError")
        await api.until(lambda: len(api.watched_from()) == 2)
        await api.say("b")
        await ear.until(lambda s: len(s) == 3)
    assert ear.kinds() == [Listed, Changed, Changed]
    assert api.watched_from() == ["100", "101"]


async def test_a_server_that_is_gone_is_told_once_and_its_return_is_a_list(api, kube):
    async with Ear(api, kube) as ear:
        await api.down()
        await ear.until(lambda _: Lost in ear.kinds())
        await api.say("while-away")
        await api.up()
        await ear.until(lambda s: isinstance(s[-1], Listed))
    assert ear.kinds() == [Listed, Lost, Listed]
    assert "cannot be reached" in ear.sights[1].reason
    assert [o["metadata"]["name"] for o in ear.sights[2].items] == ["while-away"]


class Scripted:
    """A transport whose watches go as scripted: lines, an exception, or silence of so many seconds."""

    def __init__(self, *scripts) -> None:
        self.scripts = list(scripts)
        self.asked: list[Any] = []
        self.open = 0

    async def send(self, request):
        raise NotImplementedError

    async def stream(self, request):
        self.asked.append((asyncio.get_running_loop().time(), request))
        self.open += 1
        try:
            for step in self.scripts.pop(0) if self.scripts else (1e9,):
                match step:
                    case float():
                        await asyncio.sleep(step)
                    case Exception():
                        raise step
                    case _:
                        yield step
        finally:
            self.open -= 1

    async def close(self):
        raise NotImplementedError


async def see(transport, count, lists=(), patience=None):
    """So many sights of a watch over scripted streams; `lists` says how each list goes, then all go well."""
    outcomes = list(lists)

    async def relist():
        if outcomes and (outcome := outcomes.pop(0)):
            raise outcome
        return Listed((), "7")

    watch = Watch(transport, relist, Request("GET", "/w"), patience or Backoff(lambda: 0.0))
    seen = []
    async with aclosing(watch.sights()) as sights:
        async for sight in sights:
            seen.append(sight)
            if len(seen) == count:
                return seen
    return seen


CUT = TryLater("cut", after=0.0)
CHANGE = b'{"type":"ADDED","object":{"metadata":{"name":"x","resourceVersion":"8"}}}'


@pytest.mark.looptime
async def test_a_silence_before_the_first_list_is_told_once_with_backoff_between():
    start = asyncio.get_running_loop().time()
    seen = await see(Scripted(), 2, lists=[TryLater("no", after=0.0)] * 8)
    assert [type(s) for s in seen] == [Lost, Listed]
    waited = asyncio.get_running_loop().time() - start
    assert waited == pytest.approx(0.1 * (2**8 - 1), rel=0.01)


@pytest.mark.looptime
async def test_idle_streams_cut_again_and_again_are_no_loss():
    quiet = [(HEARD + 60.0, CUT)] * 5
    seen = await see(Scripted(*quiet, (CHANGE,)), 2)
    assert [type(s) for s in seen] == [Listed, Changed]


@pytest.mark.looptime
async def test_streams_that_end_at_once_are_told_and_not_asked_in_a_hot_loop():
    transport = Scripted(*[()] * 10, (CHANGE,))
    seen = await see(transport, 4)
    assert [type(s) for s in seen] == [Listed, Lost, Listed, Lost]
    times = [at for at, _ in transport.asked]
    assert all(later - earlier >= 0.1 for earlier, later in pairwise(times))


@pytest.mark.looptime
async def test_a_410_after_every_list_is_backed_off():
    transport = Scripted(*[(Response(410, {}, b'{"code":410,"message":"gone"}'),)] * 6, (CHANGE,))
    seen = await see(transport, 8)
    assert [type(s) for s in seen] == [Listed] * 7 + [Changed]
    gaps = [b - a for (a, _), (b, _) in pairwise(transport.asked)]
    assert gaps == pytest.approx([0.0, 0.2, 0.4, 0.8, 1.6, 3.2], abs=0.01)


@pytest.mark.looptime
async def test_a_refusal_is_a_silence_that_is_told_as_one():
    seen = await see(Scripted(), 2, lists=[Denied("no rights", reason="Forbidden")])
    assert seen == [Lost("no rights", refused=True), Listed((), "7")]


@pytest.mark.looptime
async def test_garbage_on_the_wire_is_a_cut():
    transport = Scripted((CHANGE, b"<html>"), (CHANGE,))
    seen = await see(transport, 3)
    assert [type(s) for s in seen] == [Listed, Changed, Changed]
    assert transport.asked[1][1].query["resourceVersion"] == "8"


@pytest.mark.looptime
async def test_a_cut_resumes_where_a_bookmark_left_off():
    mark = b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"12"}}}'
    transport = Scripted((CHANGE, mark, CUT), (CHANGE,))
    seen = await see(transport, 3)
    assert [type(s) for s in seen] == [Listed, Changed, Changed]
    assert [r.query["resourceVersion"] for _, r in transport.asked] == ["7", "12"]


@pytest.mark.looptime
async def test_who_stops_listening_leaves_no_connection_open():
    transport = Scripted((CHANGE, CHANGE, 60.0))
    await see(transport, 2)
    assert (len(transport.asked), transport.open) == (1, 0)


@pytest.mark.looptime
async def test_the_server_is_asked_to_end_every_watch():
    transport = Scripted((CHANGE,))
    await see(transport, 2)
    assert 270 <= int(transport.asked[0][1].query["timeoutSeconds"]) <= 300
