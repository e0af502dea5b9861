"""A source is fetched once for all who ask, and again only when it may have changed."""

import asyncio
from datetime import timedelta

import pytest
from aiohttp import web

from events.errors import Denied, NotFound, TryLater
from services.addons.sources import artifact, cache
from services.addons.sources.tree import measure
from tests.services.addons.sources.world import CONFIG, spec, tgz


@pytest.fixture
def yaml(server):
    server.files["/one.yaml"] = CONFIG.encode()
    return spec(url=f"{server.url}/one.yaml")


async def test_a_thousand_clusters_fetch_once(world, server, yaml, monkeypatch):
    def counted(root):
        nonlocal measured
        measured += 1
        return measure(root)

    measured = 0
    monkeypatch.setattr(artifact, "measure", counted)
    monkeypatch.setattr(cache, "measure", counted)
    sources = world.sources()
    found = await asyncio.gather(*(sources.fetch(yaml, f"tenant-{number % 7}") for number in range(1000)))
    assert server.asked["/one.yaml"] == 1
    assert len({id(each.tree) for each in found}) == 1
    assert measured <= 3, "the whole, and the part that is named"
    assert found[0].path.joinpath("one.yaml").read_text() == CONFIG


async def test_what_may_change_is_looked_up_again_after_the_interval(world, server, yaml):
    sources = world.sources(interval=timedelta(minutes=5))
    first = await sources.fetch(yaml, "acme")
    server.files["/one.yaml"] = CONFIG.replace("small", "large").encode()
    world.pass_time(minutes=4)
    assert (await sources.fetch(yaml, "acme")).digest == first.digest
    world.pass_time(minutes=1)
    second = await sources.fetch(yaml, "acme")
    assert server.asked["/one.yaml"] == 2
    assert second.digest != first.digest
    assert first.path.joinpath("one.yaml").read_text() == CONFIG, "what somebody holds stays"


async def test_what_has_a_checksum_is_never_looked_up_again(world, server, yaml):
    revision = (await world.sources().fetch(yaml, "acme")).revision
    pinned = spec(url=yaml.url, sha256=revision.removeprefix("sha256:"))
    sources = world.sources()
    for _ in range(3):
        assert (await sources.fetch(pinned, "acme")).revision == revision
        world.pass_time(days=1)
    assert server.asked["/one.yaml"] == 2


async def test_a_checksum_that_differs_is_refused_and_nothing_is_kept(world, server, yaml):
    with pytest.raises(Denied, match="has the sha256") as refused:
        await world.sources().fetch(spec(url=yaml.url, sha256="0" * 64), "acme")
    assert refused.value.reason == "ChecksumMismatch"
    assert not list(world.folder.glob("*/trees/*"))


async def test_a_server_that_is_gone_leaves_what_was_fetched_and_says_so(world, server, yaml):
    sources = world.sources()
    fresh = await sources.fetch(yaml, "acme")
    world.pass_time(hours=1)

    async def ill(request):
        return web.Response(status=503)

    server.handlers["/one.yaml"] = ill
    found = await sources.fetch(yaml, "acme")
    assert (found.digest, fresh.stale) == (fresh.digest, "")
    assert found.stale == f"{yaml.url} answers 503"


async def test_a_failure_is_remembered_for_a_moment_however_many_ask(world, server):
    sources, gone = world.sources(), spec(url=f"{server.url}/gone.yaml")
    for _ in range(20):
        with pytest.raises(Denied, match="answers 404: it is not there"):
            await sources.fetch(gone, "acme")
    assert server.asked["/gone.yaml"] == 1
    server.files["/gone.yaml"] = CONFIG.encode()
    world.pass_time(seconds=11)
    await sources.fetch(gone, "acme")


async def test_one_who_gives_up_takes_nothing_from_the_others(world, server, yaml):
    sources, asked, go = world.sources(), asyncio.Event(), asyncio.Event()

    async def slow(request):
        asked.set()
        await go.wait()
        return web.Response(text=CONFIG)

    server.handlers["/one.yaml"] = slow
    first, second = (asyncio.create_task(sources.fetch(yaml, "acme")) for _ in range(2))
    await asked.wait()
    first.cancel()
    go.set()
    assert (await second).path.is_dir()
    assert server.asked["/one.yaml"] == 1


async def test_slow_servers_of_one_namespace_delay_no_other(world, server, yaml):
    sources, go = world.sources(), asyncio.Event()

    async def slow(request):
        await go.wait()
        return web.Response(text=CONFIG)

    server.handlers |= {f"/slow-{number}": slow for number in range(20)}
    many = [asyncio.create_task(sources.fetch(spec(url=f"{server.url}/slow-{number}"), "slow")) for number in range(20)]
    await sources.fetch(yaml, "acme")
    go.set()
    await asyncio.gather(*many)


async def test_a_path_names_a_file_or_folder_inside_and_has_its_own_digest(world, server):
    server.files["/a.tgz"] = tgz({"top/x/one.yaml": CONFIG, "top/y/two.yaml": CONFIG + "#", "top/z": "z"})
    sources, url = world.sources(), f"{server.url}/a.tgz"
    x, file, y = [await sources.fetch(spec(url=url, path=each), "acme") for each in ("x", "x/one.yaml", "top/y")]
    whole = await sources.fetch(spec(url=url), "acme")
    assert whole.path.name == "top", "the one folder at the top is the content"
    assert len({each.digest for each in (whole, x, file, y)}) == 4
    server.files["/a.tgz"] = tgz({"top/x/one.yaml": CONFIG, "top/y/two.yaml": CONFIG, "top/z": "z"})
    world.pass_time(hours=1)
    assert (await sources.fetch(spec(url=url, path="x"), "acme")).digest == x.digest
    assert (await sources.fetch(spec(url=url, path="y"), "acme")).digest != y.digest
    assert server.asked["/a.tgz"] == 2


@pytest.mark.parametrize(
    ("path", "why", "reason"),
    [("nowhere", "the source has no 'nowhere'", "NotFound"), ("../../..", "leads out of the source", "InvalidSource")],
)
async def test_a_path_that_is_not_inside_is_refused(world, yaml, path, why, reason):
    with pytest.raises(Denied, match=why) as refused:
        await world.sources().fetch(spec(url=yaml.url, path=path), "acme")
    assert refused.value.reason == reason


async def test_an_overlay_changes_with_the_folders_beside_it(world, server):
    files = {"base/one.yaml": CONFIG, "over/kustomization.yaml": "resources: [../base]"}
    server.files["/a.tgz"] = tgz(files)
    sources, over = world.sources(), spec(url=f"{server.url}/a.tgz", path="over")
    first = await sources.fetch(over, "acme")
    server.files["/a.tgz"] = tgz(files | {"base/one.yaml": CONFIG.replace("small", "large")})
    world.pass_time(hours=1)
    assert (await sources.fetch(over, "acme")).digest != first.digest


async def test_a_config_map_and_a_secret_are_folders_that_follow_their_object(world):
    sources, from_map, from_secret = world.sources(), spec(configMap={"name": "m"}), spec(secret={"name": "s"})
    await world.config_map("m", {"one.yaml": CONFIG})
    await world.secret("s", one__yaml=CONFIG)
    one, two = [await sources.fetch(each, "acme") for each in (from_map, from_secret)]
    assert one.digest == two.digest
    await world.config_map("m", {"one.yaml": CONFIG, "two.yaml": CONFIG})
    assert sorted(each.name for each in (await sources.fetch(from_map, "acme")).path.iterdir()) == [
        "one.yaml",
        "two.yaml",
    ]


async def test_an_object_that_is_not_there_is_not_found_until_it_is(world):
    sources, wanted = world.sources(), spec(configMap={"name": "m"})
    with pytest.raises(NotFound):
        await sources.fetch(wanted, "acme")
    await world.config_map("m", {"one.yaml": CONFIG})
    assert (await sources.fetch(wanted, "acme")).path.is_dir()


async def test_nobody_gets_another_namespaces_objects(world):
    await world.config_map("m", {"one.yaml": CONFIG})
    sources, wanted = world.sources(), spec(configMap={"name": "m"})
    await sources.fetch(wanted, "acme")
    with pytest.raises(NotFound):
        await sources.fetch(wanted, "other")


async def test_what_needs_credentials_is_shown_to_nobody_without_them(world, server):
    async def guarded(request):
        known = request.headers.get("Authorization") == "Bearer sesame"
        return web.Response(text=CONFIG, status=200 if known else 401)

    server.handlers["/one.yaml"] = guarded
    await world.secret("key", token="sesame")  # noqa: S106 - of a test
    sources, url = world.sources(), f"{server.url}/one.yaml"
    await sources.fetch(spec(url=url, credentials={"name": "key"}), "acme")
    with pytest.raises(Denied, match="answers 401: credentials are missing or wrong"):
        await sources.fetch(spec(url=url), "acme")
    with pytest.raises(NotFound):
        await sources.fetch(spec(url=url, credentials={"name": "key"}), "other")


async def test_a_source_that_cannot_be_reached_says_what_and_where(world):
    with pytest.raises(TryLater, match=r"^http://127.0.0.1:1/x.yaml cannot be reached: ") as later:
        await world.sources().fetch(spec(url="http://127.0.0.1:1/x.yaml"), "acme")
    assert later.value.after >= 10
