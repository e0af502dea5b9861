"""Connections are shown to break, hang and be refused without a service noticing more than a named fault."""

import asyncio
import json
import time
from datetime import UTC, datetime, timedelta

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from events.errors import Denied, TryLater
from events.kube.client import Kube, Request, Response
from events.kube.http import Access, ApiCredentials, HttpTransport, _lines
from events.kube.resources import CONFIGMAPS

WATCH = Request("GET", CONFIGMAPS.path(), {"watch": "true", "resourceVersion": "100"})


async def lines(transport):
    return [line async for line in transport.stream(WATCH)]


def writes(*pieces, end=None):
    """A watch that writes these pieces, then ends cleanly, or never, or by a reset once that much was heard."""

    async def answer(request):
        response = web.StreamResponse()
        await response.prepare(request)
        for piece in pieces:
            await response.write(piece)
        if end is not None:
            await end.wait()
            request.transport.abort()
        return response

    return answer


async def test_lines_are_whole_however_they_arrive(api, kube):
    api.scripted.append(writes(b'{"a"', b":1}\n\n", b'{"b":2}\n{"c', b'":3}\n'))
    assert await lines(kube.transport) == [b'{"a":1}', b'{"b":2}', b'{"c":3}']


async def test_events_written_over_many_lines_with_nothing_between_are_whole(api, kube):
    """Cluster API's in-memory provider writes so."""
    api.scripted.append(writes(b'{\n "a": {\n  "b": 1\n }\n}{\n "c"', b": 2\n", b"}", b"{\n}"))
    assert [json.loads(line) for line in await lines(kube.transport)] == [{"a": {"b": 1}}, {"c": 2}, {}]


async def test_an_event_over_many_lines_is_given_once_it_is_whole(api, kube):
    heard = asyncio.Event()
    api.scripted.append(writes(b'{\n "a": 1\n}', end=heard))
    stream = kube.transport.stream(WATCH)
    async with asyncio.timeout(5):
        assert json.loads(await anext(stream)) == {"a": 1}
    heard.set()
    with pytest.raises(TryLater):
        await anext(stream)


async def test_a_line_of_two_mebibytes_is_one_line(api, kube):
    api.scripted.append(writes(b"x" * 2**21, b"\n"))
    assert [len(line) for line in await lines(kube.transport)] == [2**21]


async def test_a_line_cut_by_a_reset_is_not_given(api, kube):
    heard = asyncio.Event()
    api.scripted.append(writes(b'{"a":1}\n{"b":', end=heard))
    stream = kube.transport.stream(WATCH)
    assert await anext(stream) == b'{"a":1}'
    heard.set()
    with pytest.raises(TryLater, match="broke") as caught:
        await anext(stream)
    assert caught.value.after == 0.0


async def test_a_line_cut_by_a_clean_end_is_a_break(api, kube):
    api.scripted.append(writes(b'{"a":1}\n', b'{"b":'))
    with pytest.raises(TryLater, match="cut within an event"):
        await lines(kube.transport)


async def test_a_refused_watch_gives_the_answer_and_ends(api, kube):
    api.refuse(403, "Forbidden", "no watch for you")
    (answer,) = await lines(kube.transport)
    assert isinstance(answer, Response)
    assert (answer.status, b"no watch for you" in answer.body) == (403, True)


async def test_a_silent_watch_is_cut_when_its_time_is_up(api, reach):
    api.scripted.append(writes(b'{"a":1}\n', end=asyncio.Event()))
    async with asyncio.timeout(5):
        with pytest.raises(TryLater, match=r"no answer to \S+ \S+ in time"):
            await lines(reach(api.url, idle=0.2).transport)


async def test_a_watch_whose_headers_never_come_is_given_up(api, reach):
    async def never(_):
        await asyncio.Event().wait()

    api.scripted.append(never)
    async with asyncio.timeout(5):
        with pytest.raises(TryLater, match=r"no answer to \S+ \S+ in time"):
            await lines(reach(api.url, answer=0.2).transport)


@pytest.mark.parametrize("before", [0, 1])
async def test_a_way_that_was_closed_is_a_matter_of_time(api, kube, before):
    """A rotated kubeconfig closes the way that somebody else still goes: between two of his questions, too."""
    for _ in range(before):
        await kube.list(CONFIGMAPS)
    await kube.close()
    with pytest.raises(TryLater, match=f"the way to {api.url} was closed"):
        await kube.list(CONFIGMAPS)
    with pytest.raises(TryLater, match=f"the way to {api.url} was closed"):
        await lines(kube.transport)


async def test_leaving_a_watch_midway_lets_go_of_its_connection(api, kube):
    await api.say("a")
    async for _ in (watch := kube.watch(CONFIGMAPS)):
        await api.until(lambda: True)
        break
    follow = kube.transport.stream(WATCH)
    await anext(follow)
    await api.until(lambda: api.watchers == 1)
    await follow.aclose()
    await watch.aclose()
    await api.until(lambda: api.watchers == 0)


class Wallet:
    """Hands out numbered tokens, and knows how often it was asked."""

    def __init__(self, url, fresh=None) -> None:
        self.read, self.url, self.fresh, self.wrong = 0, url, fresh, None
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    async def load(self):
        await asyncio.sleep(0)
        if self.wrong:
            raise self.wrong
        self.read += 1
        return Access(self.url, token=f"Bearer t{self.read}", fresh_until=self.fresh and self.now + self.fresh)


@pytest.fixture
async def wallet(api):
    return Wallet(api.url)


@pytest.fixture
async def kube_of(wallet):
    """A client that pays from the wallet."""
    client = Kube(HttpTransport(ApiCredentials(wallet.load, lambda: wallet.now)), random=lambda: 0.0)
    yield client
    await client.close()


async def test_a_token_is_read_anew_when_it_goes_stale(api, wallet, kube_of):
    wallet.fresh = timedelta(seconds=60)
    for seconds in (0, 59, 2):
        wallet.now += timedelta(seconds=seconds)
        await kube_of.list(CONFIGMAPS)
    assert [r.headers["Authorization"] for r in api.asked] == ["Bearer t1", "Bearer t1", "Bearer t2"]


async def test_a_refused_token_is_read_anew_and_the_question_repeated(api, wallet, kube_of):
    api.refuse(401, "Unauthorized")
    assert (await kube_of.list(CONFIGMAPS)).items == ()
    assert [r.headers["Authorization"] for r in api.asked] == ["Bearer t1", "Bearer t2"]


async def test_a_watch_refused_for_its_token_goes_on_with_another(api, wallet, kube_of):
    api.scripted.append(api._list)
    api.refuse(401, "Unauthorized")
    await api.say("a")
    async for _ in (watch := kube_of.watch(CONFIGMAPS)):
        break
    going = asyncio.ensure_future(anext(watch))
    await api.until(lambda: api.watchers == 1)
    await api.say("b")
    assert (await going).object["metadata"]["name"] == "b"
    await watch.aclose()
    assert wallet.read == 2


async def test_many_who_are_refused_at_once_read_the_token_once(api, wallet, kube_of):
    api.banned = "Bearer t1"
    await asyncio.gather(*(kube_of.list(CONFIGMAPS) for _ in range(8)))
    assert wallet.read == 2


async def test_a_kubeconfig_that_breaks_later_is_a_matter_of_time(api, wallet, kube_of):
    await kube_of.list(CONFIGMAPS)
    wallet.wrong = Denied("half written", reason="BadKubeconfig")
    api.refuse(401, "Unauthorized")
    with pytest.raises(TryLater, match="credentials cannot be read anew: half written"):
        await kube_of.list(CONFIGMAPS)


@pytest.mark.looptime
async def test_a_plug_in_that_hangs_is_a_matter_of_time():
    async def load():
        await asyncio.Event().wait()

    with pytest.raises(TryLater, match="the credentials could not be read in 15 s"):
        await ApiCredentials(load, lambda: datetime.now(UTC)).current()


def test_an_access_never_shows_its_token():
    assert "secret" not in repr(Access("http://127.0.0.1", token="Bearer secret"))  # noqa: S106 - its absence is shown


class Drips:
    """The body of a watch, by chunks."""

    def __init__(self, *chunks: bytes) -> None:
        self._chunks = chunks

    async def iter_any(self):
        for chunk in self._chunks:
            yield chunk


@pytest.mark.parametrize(("begin", "end"), [(b'{"a":"', b'"}\n'), (b'{\n  "a": "', b'"\n}')], ids=["line", "indented"])
async def test_small_chunks_behind_a_long_event_cost_their_own_length(begin, end):
    chunks = (begin + b"x" * (4 << 20), *(b"x" for _ in range(1000)), end, b"\n")
    began = time.thread_time()
    (event,) = [line async for line in _lines(Drips(*chunks), 8 << 20, 90.0)]
    assert time.thread_time() - began < 0.2
    assert event == b"".join(chunks).strip()


@given(
    st.sampled_from([b'{"a":1}\n', b'{"a":1}\n\n', b'{\n  "a": 1\n}', b'{\n  "a": 1\n}\n']),
    st.integers(0, 5),
    st.data(),
)
def test_events_are_the_same_however_they_are_cut(event, count, data):
    whole = event * count
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)))))
    chunks = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]

    async def read() -> list[bytes]:
        return [line.strip() async for line in _lines(Drips(*chunks), 1 << 20, 90.0)]

    assert asyncio.run(read()) == [event.strip()] * count
