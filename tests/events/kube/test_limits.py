"""An API server that sends without end, or packs a lot into little, is left with a named fault, and nothing is kept."""

import asyncio
import gzip
import json

import pytest
from aiohttp import web

from events.errors import Denied, TryLater
from events.kube.client import Kube, Request, Response
from events.kube.discovery import find
from events.kube.limits import COUNTED, Bounds, TooLarge, values
from events.kube.resources import CONFIGMAPS

MOST = 100_000
BOUNDS = Bounds(answer=MOST, listed=3 * MOST, values=10**6, items=50, event=MOST, pages=20)
WATCH = Request("GET", CONFIGMAPS.path(), {"watch": "true", "resourceVersion": "100"})


def page(*items, more=""):
    return json.dumps({"metadata": {"resourceVersion": "1", "continue": more}, "items": items}).encode()


def named(number):
    return [{"metadata": {"name": f"c-{each}"}} for each in range(number)]


def pours(piece, pause=0.0, status=200, **headers):
    """Never comes to an end."""

    async def answer(request):
        response = web.StreamResponse(status=status, headers=headers)
        await response.prepare(request)
        while True:
            await response.write(piece)
            await asyncio.sleep(pause)

    return answer


@pytest.fixture
def kube(api, reach):
    return reach(api.url, bounds=BOUNDS, answer=5.0)


async def test_an_answer_without_end_is_left_at_its_bound(api, kube):
    api.scripted.append(pours(b" " * 4096))
    with pytest.raises(TooLarge, match=rf"{api.url} answered GET /api/v1/configmaps with more than {MOST} bytes"):
        await kube.list(CONFIGMAPS)


async def test_an_answer_that_says_it_is_larger_is_not_read(api, kube):
    api.scripted.append(pours(b"", pause=1.0, **{"Content-Length": str(MOST + 1)}))
    with pytest.raises(TooLarge):
        await kube.list(CONFIGMAPS)


async def test_an_answer_that_drips_is_given_up_in_time(api, reach):
    api.scripted.append(pours(b" ", pause=0.01))
    with pytest.raises(TryLater, match="no answer to GET /api/v1/configmaps in time"):
        await reach(api.url, answer=0.3).list(CONFIGMAPS)


@pytest.mark.parametrize("status", [403, 500])
async def test_a_refusal_of_a_watch_without_end_is_left_too(api, kube, status):
    api.scripted.append(pours(b"no " * 4096, status=status))
    with pytest.raises(TooLarge):
        [_ async for _ in kube.transport.stream(WATCH)]


async def test_a_refusal_of_a_watch_that_drips_is_given_up_in_time(api, reach):
    api.scripted.append(pours(b" ", pause=0.01, status=403))
    with pytest.raises(TryLater, match="in time"):
        [_ async for _ in reach(api.url, answer=0.3).transport.stream(WATCH)]


@pytest.mark.parametrize("watched", [False, True])
async def test_what_is_packed_is_not_unpacked(api, kube, watched):
    packed = gzip.compress(page(*named(1)))

    async def answer(_):
        return web.Response(body=packed, headers={"Content-Encoding": "gzip"})

    api.scripted.append(answer)
    with pytest.raises(TryLater, match="answers in gzip, and was asked to pack nothing"):
        [_ async for _ in kube.transport.stream(WATCH)] if watched else await kube.list(CONFIGMAPS)
    assert api.asked[0].headers.getall("Accept-Encoding") == ["identity"]


@pytest.mark.parametrize("line", [b"x", b"{\n"])
async def test_an_event_without_end_is_left_at_its_bound(api, kube, line):
    api.scripted.append(pours(line * 4096))
    with pytest.raises(TooLarge, match=f"an event of the watch has more than {MOST} bytes"):
        [_ async for _ in kube.transport.stream(WATCH)]


async def test_an_event_that_drips_is_given_up_in_time(api, reach):
    api.scripted.append(pours(b"x", pause=0.01))
    with pytest.raises(TryLater, match=r"an event of the watch was not whole after 0.3 seconds"):
        [_ async for _ in reach(api.url, idle=0.3).transport.stream(WATCH)]


async def test_events_that_come_one_after_the_other_may_take_as_long_as_they_like(api, reach):
    async def answer(request):
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(12):
            await response.write(b'{"a":1}\n')
            await asyncio.sleep(0.05)
        return response

    api.scripted.append(answer)
    assert len([_ async for _ in reach(api.url, idle=0.3).transport.stream(WATCH)]) == 12


class Says:
    """An API server's answers, one for each question; the last again and again."""

    def __init__(self, *bodies):
        self.bodies = bodies
        self.asked = 0

    async def send(self, request):
        self.asked += 1
        return Response(200, {}, self.bodies[min(self.asked, len(self.bodies)) - 1])

    async def stream(self, request):
        raise NotImplementedError
        yield

    async def close(self):
        pass


def of(*bodies):
    return Kube(Says(*bodies), random=lambda: 0.5, bounds=BOUNDS)


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (page(*named(30), more="x"), "50 objects"),
        (page(more="x"), "20 pages"),
        (page({"metadata": {"name": "a"}, "x": "y" * MOST}, more="x"), f"{3 * MOST} bytes"),
    ],
)
async def test_a_list_whose_pages_never_end_is_left_at_its_bound(body, what):
    kube = of(body)
    with pytest.raises(TooLarge, match=f"the answer to /api/v1/configmaps has more than {what}: no more are taken"):
        await kube.list(CONFIGMAPS)
    assert kube.transport.asked <= 21


async def test_a_list_of_so_many_values_that_memory_would_not_hold_them_is_not_read():
    bounds = Bounds(answer=10**9, listed=10**9, values=10**6, items=10**9, event=1)
    kube = Kube(Says(page(*[[]] * COUNTED)), random=lambda: 0.5, bounds=bounds)
    with pytest.raises(TooLarge, match="1000000 values"):
        await kube.list(CONFIGMAPS)
    with pytest.raises(TooLarge, match="1000000 values"):
        await kube.get(CONFIGMAPS, "a")


def test_of_a_large_text_no_value_goes_uncounted():
    for some in ([0] * 99, [{}] * 99, [[]] * 99, dict.fromkeys(map(str, range(99)), 0)):
        number = len(some) + (len(some) if not isinstance(some, dict) and some[0] in ({}, []) else 0)
        assert values(json.dumps(some, separators=(",", ":")).encode()) >= number


@pytest.mark.parametrize(
    "item", [{}, {"metadata": None}, {"metadata": []}, {"metadata": {}}, {"metadata": {"name": 5}}]
)
async def test_what_is_no_object_is_a_matter_of_time(item):
    with pytest.raises(TryLater, match="no object of Kubernetes"):
        await of(json.dumps(item).encode()).get(CONFIGMAPS, "a")


async def test_what_is_nested_without_end_is_a_fault():
    deep = b'{"metadata":{},"items":[{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}]}"
    with pytest.raises(Denied, match="/api/v1/configmaps was answered 200"):
        await of(deep).list(CONFIGMAPS)


@pytest.mark.parametrize(
    "document",
    [[], {}, {"resources": 5}, {"resources": [{}]}, {"resources": [{"name": 1, "kind": "W", "namespaced": True}]}],
)
async def test_discovery_of_another_shape_is_a_fault(document):
    with pytest.raises((TryLater, Denied), match=r"/apis/demo.io/v1"):
        await find(of(json.dumps(document).encode()), "demo.io/v1", "Widget")
