"""Hostile and broken servers cost a bounded time and size, and are named in one sentence."""

import asyncio

import pytest
from aiohttp import web

from events.errors import Denied, TryLater
from events.http.addresses import LOOPBACK, Reach
from services.addons.sources.unpack import ArchiveBounds
from tests.services.addons.sources.world import CONFIG, spec

INSIDE = Reach(frozenset({LOOPBACK}), "ALATE_SOURCES_ALLOW")


@pytest.fixture
def fetch(world, server):
    async def do(**settings):
        return await world.sources(**settings).fetch(spec(url=f"{server.url}/x.yaml"), "acme")

    return do


async def test_a_server_that_never_answers_is_given_up(server, fetch):
    async def hang(request):
        await asyncio.Event().wait()

    server.handlers["/x.yaml"] = hang
    with pytest.raises(TryLater, match=r"/x.yaml does not answer in time$"):
        await fetch(patience=0.2)


async def test_a_server_that_stops_in_the_middle_is_given_up(server, fetch):
    async def stop(request):
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"kind: ")
        await asyncio.Event().wait()

    server.handlers["/x.yaml"] = stop
    with pytest.raises(TryLater, match="does not answer in time"):
        await fetch(patience=0.2)


async def test_half_an_answer_is_none(server, fetch):
    async def half(request):
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b"kind: ")
        request.transport.abort()
        return response

    server.handlers["/x.yaml"] = half
    with pytest.raises(TryLater, match="was cut off in the middle of its answer"):
        await fetch()


async def test_an_endless_answer_is_ended_at_its_bound(server, fetch):
    async def endless(request):
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b"x" * 65536)

    server.handlers["/x.yaml"] = endless
    with pytest.raises(Denied, match="sends more than 100000 bytes") as refused:
        await fetch(bounds=ArchiveBounds(downloaded=100_000))
    assert refused.value.reason == "TooLarge"


async def redirect_to(server, where: str, status: int = 302) -> None:
    async def leave(request):
        return web.Response(status=status, headers={"Location": where})

    server.handlers["/x.yaml"] = leave


@pytest.mark.parametrize(
    "where", ["http://169.254.169.254/latest/meta-data", "http://[fd00:ec2::254]/", "http://10.0.0.1/"]
)
async def test_no_redirect_leads_to_metadata_or_a_private_network(server, fetch, where):
    await redirect_to(server, where)
    with pytest.raises(Denied, match=r"may not be read: .* must not be spoken to") as refused:
        await fetch(reach=INSIDE)
    assert refused.value.reason == "AddressRefused"


@pytest.mark.parametrize("where", ["file:///etc/passwd", "ftp://127.0.0.1/x", "", "http://u:p@127.0.0.1/x", "//"])
async def test_a_redirect_to_no_server_is_refused(server, fetch, where):
    await redirect_to(server, where)
    with pytest.raises((Denied, TryLater)) as refused:
        await fetch()
    assert "u:p" not in str(refused.value)


async def test_redirects_are_followed_so_far_and_no_further(server, fetch):
    server.files["/there.yaml"] = CONFIG.encode()
    await redirect_to(server, "/there.yaml", 307)
    assert (await fetch()).path.is_dir()
    await redirect_to(server, "/x.yaml")
    with pytest.raises(Denied, match="leads through more than 5 redirects"):
        await fetch()


async def test_a_private_address_is_refused_before_it_is_asked(world, server):
    with pytest.raises(Denied, match="is of this host itself, which must not be spoken to"):
        await world.sources(reach=Reach()).fetch(spec(url=f"{server.url}/x.yaml"), "acme")
    assert not server.asked


async def test_a_name_that_leads_to_a_private_address_is_refused(world, resolving):
    with pytest.raises(Denied, match=r"may not be read: 10.0.0.1 is of a private network") as refused:
        await world.sources(reach=INSIDE).fetch(spec(url="https://rebind.example.org/x.yaml"), "acme")
    assert refused.value.reason == "AddressRefused"


async def test_credentials_go_to_no_other_server_and_into_no_message(world, server):
    await world.secret("key", username="ann", password="sesame")  # noqa: S106 - of a test
    elsewhere = server.url.replace("127.0.0.1", "localhost")
    server.files["/there.yaml"] = CONFIG.encode()
    await redirect_to(server, f"{elsewhere}/there.yaml?sig=sesame")
    source = spec(url=f"{server.url}/x.yaml", credentials={"name": "key"})
    await world.sources().fetch(source, "acme")
    shown = {path: headers.get("Authorization") for path, headers in server.headers}
    assert shown == {"/x.yaml": "Basic YW5uOnNlc2FtZQ==", "/there.yaml": None}
    del server.files["/there.yaml"]
    with pytest.raises(Denied) as refused:
        await world.sources().fetch(source, "acme")
    assert "sesame" not in str(refused.value)


async def test_credentials_are_not_sent_in_the_clear(world):
    await world.secret("key", token="sesame")  # noqa: S106 - of a test
    with pytest.raises(Denied, match="is not encrypted: credentials are sent over https:// alone"):
        await world.sources().fetch(spec(url="http://example.org/x.yaml", credentials={"name": "key"}), "acme")


@pytest.mark.parametrize(("said", "after"), [("120", 120.0), ("9999999999", 600.0), ("soon", 10.0)])
async def test_a_server_that_asks_to_be_left_alone_is(server, fetch, said, after):
    async def busy(request):
        return web.Response(status=429, headers={"Retry-After": said})

    server.handlers["/x.yaml"] = busy
    with pytest.raises(TryLater, match="answers 429") as later:
        await fetch()
    assert later.value.after == after
