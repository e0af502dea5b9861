"""Charts of HTTP repositories: the newest that fits, verified, from whatever server the index names."""

import asyncio
import hashlib
from datetime import timedelta
from itertools import pairwise

import pytest

from events.errors import Denied, TryLater
from services.addons.sources.chart_index import find_chart
from tests.services.addons.sources.registry import chart
from tests.services.addons.sources.world import spec, tgz

ALIASES = ["a: &a [x,x]", *(f"{new}: &{new} [{','.join([f'*{old}'] * 20)}]" for old, new in pairwise("abcdefgh"))]
BOMB = "\n".join(ALIASES).encode()
INDEX = """apiVersion: v1
entries:
  alpha:
  - version: 9.9.9
    urls: [alpha.tgz]
  driver:
  - apiVersion: v2
    name: driver
    version: {newest}
    urls:
    - charts/driver-{newest}.tgz
    digest: {digest}
    description: |
      a text
      driver:
  - version: 1.0.0
    urls: [charts/driver-1.0.0.tgz]
  - version: 2.0.0-rc.1
    urls: [charts/driver-2.0.0-rc.1.tgz]
  - version: 0.1.0
  omega:
  - version: 9.9.9
    urls: [omega.tgz]
generated: "2026-01-01T00:00:00Z"
"""


def offer(server, newest: str = "1.2.0", digest: str | None = None) -> None:
    archives = {version: chart("driver", version) for version in ("1.0.0", "2.0.0-rc.1", newest)}
    found = digest if digest is not None else hashlib.sha256(archives[newest]).hexdigest()
    server.files["/repo/index.yaml"] = INDEX.format(newest=newest, digest=found).encode()
    server.files |= {f"/repo/charts/driver-{version}.tgz": data for version, data in archives.items()}


@pytest.fixture
def driver(server):
    offer(server)

    def do(version="*", name="driver", **more):
        return spec(chart={"repository": f"{server.url}/repo", "name": name, "version": version}, **more)

    return do


@pytest.mark.parametrize(
    ("wanted", "found"),
    [("*", "1.2.0"), ("1.x", "1.2.0"), ("~1.0", "1.0.0"), ("1.0.0", "1.0.0"), ("2.0.0-rc.1", "2.0.0-rc.1")],
)
async def test_the_newest_version_that_fits_is_taken(world, driver, wanted, found):
    artifact = await world.sources().fetch(driver(wanted), "acme")
    assert f"version: {found}" in (artifact.path / "Chart.yaml").read_text()
    assert artifact.revision.startswith(f"{found}@sha256:")


async def test_a_range_follows_new_versions_and_downloads_only_what_is_new(world, server, driver):
    sources = world.sources(interval=timedelta(minutes=5))
    for _ in range(3):
        assert (await sources.fetch(driver("1.x"), "acme")).revision.startswith("1.2.0")
        world.pass_time(minutes=6)
    assert (server.asked["/repo/index.yaml"], server.asked["/repo/charts/driver-1.2.0.tgz"]) == (3, 1)
    offer(server, "1.3.0")
    assert (await sources.fetch(driver("1.x"), "acme")).revision.startswith("1.3.0")


async def test_an_exact_version_is_fetched_once_by_a_thousand_clusters_for_ever(world, server, driver):
    sources = world.sources()
    for _ in range(2):
        await asyncio.gather(*(sources.fetch(driver("1.2.0"), "acme") for _ in range(1000)))
        world.pass_time(days=30)
    assert server.asked["/repo/index.yaml"] == server.asked["/repo/charts/driver-1.2.0.tgz"] == 1


async def test_the_same_chart_packed_again_has_the_same_digest(world, server, driver):
    first = await world.sources().fetch(driver(), "acme")
    files = {f"driver/{path}": (first.path / path).read_bytes() for path in ("templates/one.yaml", "Chart.yaml")}
    server.files["/repo/charts/driver-1.2.0.tgz"] = packed = tgz(files)
    server.files["/repo/index.yaml"] = INDEX.format(newest="1.2.0", digest=hashlib.sha256(packed).hexdigest()).encode()
    world.pass_time(hours=1)
    second = await world.opened[0].fetch(driver(), "acme")
    assert (second.digest == first.digest, second.revision == first.revision) == (True, False)


@pytest.mark.parametrize(
    ("version", "name", "why"),
    [
        ("3.x", "driver", r"/repo/ has no chart driver 3.x: there are 1.2.0, 1.0.0, 2.0.0-rc.1$"),
        ("*", "nothing", r"/repo/ has no chart nothing$"),
    ],
)
async def test_what_the_repository_does_not_have_is_named_with_what_it_has(world, driver, version, name, why):
    with pytest.raises(Denied, match=why) as refused:
        await world.sources().fetch(driver(version, name), "acme")
    assert refused.value.reason == "NotFound"


async def test_an_archive_that_differs_from_the_index_is_refused(world, server, driver):
    offer(server, digest="0" * 64)
    with pytest.raises(Denied, match="by the repository's index, has the sha256") as refused:
        await world.sources().fetch(driver(), "acme")
    assert refused.value.reason == "ChecksumMismatch"


async def test_a_checksum_that_is_written_is_compared(world, driver):
    sources = world.sources()
    good = (await sources.fetch(driver(), "acme")).revision.rpartition(":")[2]
    await sources.fetch(driver(sha256=good), "acme")
    with pytest.raises(Denied, match="has the sha256"):
        await sources.fetch(driver(sha256="0" * 64), "acme")


async def test_a_password_is_shown_to_the_repository_and_to_no_other_server(world, server, driver):
    await world.secret("key", username="ann", password="sesame")  # noqa: S106 - of a test
    text = server.files["/repo/index.yaml"].decode()
    elsewhere = server.url.replace("127.0.0.1", "localhost")
    server.files["/repo/index.yaml"] = text.replace("charts/", f"{elsewhere}/repo/charts/").encode()
    await world.sources().fetch(driver(credentials={"name": "key"}), "acme")
    assert [(path, "Authorization" in headers) for path, headers in server.headers] == [
        ("/repo/index.yaml", True),
        ("/repo/charts/driver-1.2.0.tgz", False),
    ]


@pytest.mark.parametrize(
    ("index", "reason"),
    [
        (b"not: an index", "InvalidIndex"),
        (b"entries: {driver: [", "InvalidIndex"),
        (b"\xff\xfe", "InvalidIndex"),
        (BOMB, "InvalidIndex"),
        (b"[" * 100_000, "InvalidIndex"),
        (b"entries: {driver: [{version: 1.0.0}, 7, {version: 1.2.0, urls: []}]}", "NotFound"),
        (b"entries:\n  driver: nonsense\n", "NotFound"),
    ],
    ids=["no entries", "broken", "no text", "bomb", "brackets", "useless entries", "no list"],
)  # fmt: skip
async def test_an_index_that_is_broken_or_hostile_is_one_sentence(world, server, driver, index, reason):
    server.files["/repo/index.yaml"] = index
    with pytest.raises(Denied) as refused:
        await world.sources().fetch(driver(), "acme")
    assert refused.value.reason == reason


async def test_an_archive_without_a_chart_is_refused(world, server, driver):
    server.files["/repo/charts/driver-1.0.0.tgz"] = tgz({"driver/README.md": "x"})
    with pytest.raises(Denied, match=r"driver 1.0.0@sha256:.* holds no Chart.yaml") as refused:
        await world.sources().fetch(driver("1.0.0"), "acme")
    assert refused.value.reason == "InvalidChart"


async def test_a_repository_that_is_gone_is_one_sentence(world):
    gone = spec(chart={"repository": "http://127.0.0.1:1/repo", "name": "driver"})
    with pytest.raises(TryLater, match=r"^http://127.0.0.1:1/repo/index.yaml cannot be reached: "):
        await world.sources().fetch(gone, "acme")


def test_one_chart_is_read_of_an_index_without_the_others():
    broken = INDEX.format(newest="1.2.0", digest="").replace("urls: [omega.tgz]", "urls: [omega.tgz")
    entry, versions = find_chart(broken, "driver", "*")
    assert (entry.version, len(versions)) == ("1.2.0", 3)


@pytest.mark.parametrize(
    "text",
    [
        '{"entries": {"driver": [{"version": "1.0.0", "urls": ["a"]}]}}',
        "entries: {driver: [{version: 1.0.0, urls: [a]}]}",
        'entries:\n  "driver":\n    - version: "1.0.0"\n      urls:\n      - a\n',
    ],
)
def test_an_index_in_another_layout_is_read_as_well(text):
    entry, _ = find_chart(text, "driver", "1.x")
    assert entry.url == "a"
