"""What was fetched is kept by its digest up to a size, survives a crash, and stays while somebody uses it."""

import errno
from datetime import timedelta
from pathlib import Path

import pytest

from events.errors import TryLater
from services.addons.sources import sources as module
from services.addons.sources.cache import ArtifactCache
from tests.services.addons.sources.world import CONFIG, spec, tgz

LARGE = "x" * 1000


def offer(server, *names: str) -> list:
    for name in names:
        server.files[f"/{name}.yaml"] = (name + LARGE).encode()
    return [spec(url=f"{server.url}/{name}.yaml") for name in names]


def kept(world) -> int:
    return len(list(world.folder.glob("*/trees/*")))


async def test_what_was_used_longest_ago_is_evicted_first(world, server):
    a, b, c = offer(server, "a", "b", "c")
    sources = world.sources(limit=2500)
    for each in (a, b, a, c, a, b):
        await sources.fetch(each, "acme")
    assert (server.asked["/a.yaml"], server.asked["/b.yaml"], server.asked["/c.yaml"]) == (1, 2, 1)
    assert kept(world) == 2


async def test_what_is_in_use_is_never_evicted(world, server):
    a, b, c = offer(server, "a", "b", "c")
    sources = world.sources(limit=2500)
    held = [await sources.fetch(each, "acme") for each in (a, b)]
    with pytest.raises(TryLater, match=r"has no room for 1001 more bytes: 2002 of 2500 bytes are in use"):
        await sources.fetch(c, "acme")
    assert all(each.path.joinpath(f"{name}.yaml").is_file() for each, name in zip(held, "ab", strict=True))
    held.clear()
    world.pass_time(seconds=11)
    await sources.fetch(c, "acme")
    assert not list(world.folder.glob("*/partial/*"))


async def test_the_next_process_finds_what_was_fetched(world, server):
    (a,) = offer(server, "a")
    first = await world.sources().fetch(a, "acme")
    await world.opened[0].close()
    second = await world.sources().fetch(a, "acme")
    assert (first.path, first.revision) == (second.path, second.revision)
    assert server.asked["/a.yaml"] == 1


async def test_two_processes_with_one_folder_do_not_disturb_each_other(world, server):
    (a,) = offer(server, "a")
    one, two = world.sources(), world.sources()
    assert (await one.fetch(a, "acme")).path != (await two.fetch(a, "acme")).path


async def test_what_a_crash_left_half_written_is_thrown_away(world, server):
    (a,) = offer(server, "a")
    room = world.folder / "0"
    (room / "partial" / "left" / "tree").mkdir(parents=True)
    (room / "partial" / "left" / "tree" / "half").write_text("half")
    (room / "records").mkdir()
    (room / "records" / "some.json").write_text('{"digest": "abc", "rev')
    found = await world.sources().fetch(a, "acme")
    assert not list((room / "partial").iterdir())
    assert found.path.joinpath("a.yaml").read_text() == "a" + LARGE


async def test_what_is_damaged_on_the_disk_is_fetched_again(world, server):
    (a,) = offer(server, "a")
    file = (await world.sources().fetch(a, "acme")).path / "a.yaml"
    await world.opened[0].close()
    file.chmod(0o644)
    file.write_text("")
    assert (await world.sources().fetch(a, "acme")).path.joinpath("a.yaml").read_text() == "a" + LARGE


async def test_what_is_kept_cannot_be_written_to(world, server):
    (a,) = offer(server, "a")
    path = (await world.sources().fetch(a, "acme")).path
    assert [each.stat().st_mode & 0o222 for each in (path, path / "a.yaml")] == [0, 0]


async def test_a_full_disk_is_one_sentence_and_frees_what_nobody_uses(world, server, monkeypatch):
    a, b = offer(server, "a", "b")
    sources = world.sources()
    await sources.fetch(a, "acme")

    async def full(request, known, folders):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(module, "PULLS", {"url": full})
        with pytest.raises(TryLater, match=r"has no space left for what add-ons download$"):
            await sources.fetch(b, "acme")
    assert kept(world) == 0
    world.pass_time(seconds=11)
    await sources.fetch(b, "acme")


async def test_records_go_with_what_they_refer_to(world, server):
    sources = world.sources(limit=2500)
    for each in offer(server, *(f"n{number}" for number in range(20))):
        await sources.fetch(each, "acme")
    assert len(list(world.folder.glob("*/records/*"))) == 2


async def test_the_same_content_of_two_servers_is_kept_once(world, server):
    server.files |= {"/one.tgz": tgz({"one.yaml": CONFIG}), "/two/one.yaml": CONFIG.encode()}
    sources = world.sources(interval=timedelta(0))
    one, two = [await sources.fetch(spec(url=server.url + path), "acme") for path in ("/one.tgz", "/two/one.yaml")]
    assert one.tree is two.tree


def test_a_folder_that_cannot_be_written_is_told_at_the_start(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        ArtifactCache(Path(tmp_path / "file"), 1)


async def test_a_crash_between_the_content_and_its_record_costs_one_more_fetch(world, server):
    (a,) = offer(server, "a")
    await world.sources().fetch(a, "acme")
    await world.opened[0].close()
    for record in world.folder.glob("*/records/*"):
        record.unlink()
    found = await world.sources().fetch(a, "acme")
    assert found.path.joinpath("a.yaml").read_text() == "a" + LARGE
    assert (server.asked["/a.yaml"], kept(world)) == (2, 1)
