"""Charts and artifacts of registries, of one in memory and of a real one: by tag, range and digest, with tokens."""

import asyncio
import json
import socket

import aiohttp
import pytest
from aiohttp import web

from events.errors import Denied, TryLater
from events.http.addresses import LOOPBACK, Reach
from tests.kube.fixtures import needs
from tests.kube.places import program
from tests.services.addons.sources.registry import CHART, Blob, FakeRegistry, chart, digest, push
from tests.services.addons.sources.world import CONFIG, spec, tgz


@pytest.fixture
def fake(server):
    return FakeRegistry(server)


@pytest.fixture(params=["memory", pytest.param("real", marks=pytest.mark.kube)])
async def registry(request, server):
    """The address of a registry."""
    if request.param == "memory":
        FakeRegistry(server)
        yield server.url.removeprefix("http://")
        return
    needs("crane")
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    words = (str(program("crane")), "registry", "serve", "--address", address)
    quiet = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(*words, stdout=quiet, stderr=quiet)
    await up(address)
    yield address
    process.terminate()
    await process.wait()


async def up(address: str) -> None:
    async with aiohttp.ClientSession() as session:
        for _ in range(200):
            try:
                await session.get(f"http://{address}/v2/")
            except aiohttp.ClientError:
                await asyncio.sleep(0.05)
            else:
                return
    raise AssertionError(address)


def driver(address: str, version: str = "*", **more):
    return spec(chart={"repository": f"oci://{address}/charts", "name": "driver", "version": version}, **more)


async def test_a_chart_is_taken_by_its_version_and_by_a_range(world, registry):
    for version in ("1.0.0", "1.2.0_build", "2.0.0-rc.1"):
        provenance = Blob(b"signed", "application/vnd.cncf.helm.chart.provenance.v1.prov")
        await push(registry, "charts/driver", version, Blob(chart(version=version), CHART), provenance)
    sources = world.sources()
    for wanted, tag in (
        ("1.0.0", "1.0.0"),
        ("1.x", "1.2.0_build"),
        ("1.2.0+build", "1.2.0_build"),
        (">=2-0", "2.0.0-rc.1"),
    ):
        found = await sources.fetch(driver(registry, wanted), "acme")
        assert found.revision.startswith(f"{tag}@sha256:")
        assert f"version: {tag}" in (found.path / "Chart.yaml").read_text()


async def test_an_artifact_is_taken_by_tag_range_and_digest(world, registry):
    first = await push(registry, "m", "1.0.0", Blob(tgz({"one.yaml": CONFIG})))
    named = Blob(CONFIG.encode(), "text/yaml", {"org.opencontainers.image.title": "x/two.yaml"})
    second = await push(registry, "m", "1.1.0", named, Blob(b"kind: X", "text/yaml"))
    sources, url = world.sources(), f"oci://{registry}/m"
    for more, found, files in (
        ({"tag": "1.0.0"}, f"1.0.0@{first}", ["one.yaml"]),
        ({"tag": ">=1.0 <2"}, f"1.1.0@{second}", ["1.yaml", "two.yaml"]),
        ({"digest": first}, first, ["one.yaml"]),
    ):
        artifact = await sources.fetch(spec(oci={"url": url, **more}), "acme")
        assert (artifact.revision, sorted(each.name for each in artifact.path.iterdir())) == (found, files)


async def test_a_tag_that_moves_is_followed_and_one_that_does_not_is_not_downloaded_again(world, server, fake):
    address, moving = server.url.removeprefix("http://"), spec(oci={"url": f"oci{server.url[4:]}/m", "tag": "stable"})
    await push(address, "m", "stable", Blob(tgz({"one.yaml": CONFIG})))
    sources = world.sources()
    first = await sources.fetch(moving, "acme")
    world.pass_time(hours=1)
    assert (await sources.fetch(moving, "acme")).tree is first.tree
    blobs = sum(count for path, count in server.asked.items() if "/blobs/sha256:" in path)
    assert blobs == 1
    await push(address, "m", "stable", Blob(tgz({"two.yaml": CONFIG})))
    world.pass_time(hours=1)
    assert (await sources.fetch(moving, "acme")).digest != first.digest


async def test_what_a_digest_names_is_fetched_once_for_ever(world, server, fake):
    found = await push(server.url.removeprefix("http://"), "m", "x", Blob(tgz({"one.yaml": CONFIG})))
    sources, pinned = world.sources(), spec(oci={"url": f"oci{server.url[4:]}/m", "digest": found})
    for _ in range(3):
        await asyncio.gather(*(sources.fetch(pinned, "acme") for _ in range(100)))
        world.pass_time(days=1)
    assert server.asked[f"/v2/m/manifests/{found}"] == 1


async def test_tags_are_read_page_by_page(world, server, fake):
    fake.page = 2
    for number in range(7):
        await push(server.url.removeprefix("http://"), "charts/driver", f"1.{number}.0", Blob(chart(), CHART))
    found = await world.sources().fetch(driver(server.url.removeprefix("http://"), "1.x"), "acme")
    assert found.revision.startswith("1.6.0@")


async def test_tags_are_not_continued_on_another_server(world, server, fake):
    async def page(request):
        return web.json_response({"tags": []}, headers={"Link": '<http://169.254.169.254/v2/x>; rel="next"'})

    server.handlers["/v2/charts/driver/tags/list"] = page
    with pytest.raises(Denied, match="continues its tags on another server"):
        await world.sources().fetch(driver(server.url.removeprefix("http://"), "1.x"), "acme")


async def test_a_token_is_fetched_with_the_password_and_shown_to_the_registry_alone(world, server, fake):
    address = server.url.removeprefix("http://")
    await push(address, "charts/driver", "1.0.0", Blob(chart(), CHART))
    fake.token = "sesame"  # noqa: S105 - of a test

    async def token(request):
        known = request.headers.get("Authorization") == "Basic YW5uOnNlY3JldA=="
        good = known and request.query == {"service": "test", "scope": "repository:x:pull"}
        return web.json_response({"token": "sesame"}) if good else web.Response(status=401)

    async def away(request):
        return web.Response(status=307, headers={"Location": f"{server.url.replace('127.0.0.1', 'localhost')}/cdn"})

    server.handlers |= {"/token": token, f"/v2/charts/driver/blobs/{digest(chart())}": away}

    async def cdn(request):
        return web.Response(body=chart())

    server.handlers["/cdn"] = cdn
    await world.secret("key", username="ann", password="secret")  # noqa: S106 - of a test
    found = await world.sources().fetch(driver(address, "1.0.0", credentials={"name": "key"}), "acme")
    assert found.path.joinpath("Chart.yaml").is_file()
    assert dict(server.headers)["/cdn"].get("Authorization") is None
    with pytest.raises(Denied, match="/token answers 401: credentials are missing or wrong"):
        await world.sources().fetch(driver(address, "1.0.0"), "acme")


async def test_an_image_pull_secret_is_read(world, server, fake):
    address = server.url.removeprefix("http://")
    await push(address, "charts/driver", "1.0.0", Blob(chart(), CHART))
    fake.token = "sesame"  # noqa: S105 - of a test

    async def token(request):
        return web.json_response({"access_token": "sesame"}, status=200 if "Authorization" in request.headers else 401)

    server.handlers["/token"] = token
    known = {"auth": "YW5uOnNlY3JldA=="}
    await world.secret("pull", __dockerconfigjson=json.dumps({"auths": {address: known}}))
    await world.sources().fetch(driver(address, "1.0.0", credentials={"name": "pull"}), "acme")
    await world.secret("pull", __dockerconfigjson=json.dumps({"auths": {"example.org": known}}))
    world.pass_time(hours=1)
    with pytest.raises(Denied, match=r"has no credentials for 127.0.0.1"):
        await world.sources().fetch(driver(address, "1.x", credentials={"name": "pull"}), "acme")


async def test_a_token_is_not_fetched_from_an_address_that_may_not_be_reached(world, server):
    async def lead_away(request):
        return web.Response(status=401, headers={"WWW-Authenticate": 'Bearer realm="http://169.254.169.254/token"'})

    server.handlers["/v2/m/manifests/latest"] = lead_away
    inside = Reach(frozenset({LOOPBACK}))
    with pytest.raises(Denied, match="must not be spoken to") as refused:
        await world.sources(reach=inside).fetch(spec(oci={"url": f"oci{server.url[4:]}/m"}), "acme")
    assert refused.value.reason == "AddressRefused"


@pytest.mark.parametrize("what", ["layer", "manifest"])
async def test_what_differs_from_its_digest_is_refused(world, server, fake, what):
    archive = tgz({"one.yaml": CONFIG})
    found = await push(server.url.removeprefix("http://"), "m", "x", Blob(archive))
    if what == "layer":
        fake.blobs[digest(archive)] = tgz({"one.yaml": "changed"})
    else:
        fake.manifests["m", found] += b" "
    with pytest.raises(Denied, match=rf"sends a {what} with the ") as refused:
        await world.sources().fetch(spec(oci={"url": f"oci{server.url[4:]}/m", "digest": found}), "acme")
    assert refused.value.reason == "ChecksumMismatch"


async def test_a_checksum_is_that_of_the_manifest_or_of_the_only_layer(world, server, fake):
    archive = tgz({"one.yaml": CONFIG})
    found = await push(server.url.removeprefix("http://"), "m", "x", Blob(archive))
    sources, oci = world.sources(), {"url": f"oci{server.url[4:]}/m", "tag": "x"}
    for good in (found, digest(archive)):
        await sources.fetch(spec(oci=oci, sha256=good.removeprefix("sha256:")), "acme")
    with pytest.raises(Denied, match="has the digest"):
        await sources.fetch(spec(oci=oci, sha256="0" * 64), "acme")


@pytest.mark.parametrize("answer", [b"", b"[]", b"{", b'{"layers": 7}', b'{"layers": []}', b'{"manifests": []}',
    b'{"layers": [{"digest": "md5:1"}]}', b"[" * 100_000])  # fmt: skip
async def test_a_manifest_that_is_none_is_one_sentence(world, server, fake, answer):
    fake.manifests["m", "latest"] = answer
    with pytest.raises((Denied, TryLater), match=r"^(oci|http)://127.0.0.1"):
        await world.sources().fetch(spec(oci={"url": f"oci{server.url[4:]}/m"}), "acme")


async def test_what_is_not_there_is_denied(world, registry):
    with pytest.raises(Denied, match="it is not there") as refused:
        await world.sources().fetch(driver(registry, "1.0.0"), "acme")
    assert refused.value.reason == "NotFound"


@pytest.mark.parametrize("url", ["oci://h", "oci://h/UPPER", "oci://u:p@h/x", "https://h/x", "oci://h/a/../b"])
async def test_what_is_no_artifact_is_refused_without_its_password(world, url):
    with pytest.raises(Denied, match="is no address such as oci://host/path") as refused:
        await world.sources().fetch(spec(oci={"url": url}), "acme")
    assert "u:p" not in str(refused.value)
