"""A setting names folders, files and URLs; each says whose prices it holds, or why they cannot be read."""

import os
from datetime import UTC, datetime
from pathlib import Path

from aiohttp import web

from services.clients.catalog_sources import CatalogFiles, CatalogUrl, sources
from services.market.catalog_parser import CatalogText, UnreadCatalog


def test_a_setting_names_several_sources_and_whose_they_are():
    assert sources(" prices, aws=https://h/v8/vms.csv,on-prem=/etc/own.yaml,/a=b/c.csv,") == (
        CatalogFiles(Path("prices")),
        CatalogUrl("https://h/v8/vms.csv", "aws"),
        CatalogFiles(Path("/etc/own.yaml"), "on-prem"),
        CatalogFiles(Path("/a=b/c.csv")),
    )


async def test_a_folder_holds_a_catalog_per_file_and_other_files_are_none(tmp_path):
    for name in ("aws.csv", "own.yaml", "README.md"):
        (tmp_path / name).write_text("x")
    os.utime(tmp_path / "aws.csv", (0, 0))
    aws, own = await CatalogFiles(tmp_path).read()
    assert aws == CatalogText("aws", str(tmp_path / "aws.csv"), b"x", ".csv", datetime.fromtimestamp(0, UTC))
    assert (own.cloud, own.ending) == ("own", ".yaml")


async def test_a_file_that_is_not_there_is_told_with_whose_it_is(tmp_path):
    (found,) = await CatalogFiles(tmp_path / "aws.csv").read()
    assert found == UnreadCatalog(
        "aws", str(tmp_path / "aws.csv"), f"{tmp_path}/aws.csv cannot be read: No such file or directory"
    )


async def test_a_folder_that_is_not_there_is_told_and_whose_it_held_is_not_known(tmp_path):
    (found,) = await CatalogFiles(tmp_path / "prices").read()
    assert found == UnreadCatalog(
        "", str(tmp_path / "prices"), f"{tmp_path}/prices cannot be read: No such file or directory"
    )


async def test_skypilots_own_file_names_say_the_cloud_by_their_folder(tmp_path):
    (tmp_path / "gcp").mkdir()
    (tmp_path / "gcp" / "vms.csv").write_text("x")
    (found,) = await CatalogFiles(tmp_path / "gcp" / "vms.csv").read()
    assert found.cloud == "gcp"


def test_a_mark_differs_once_a_file_has_changed_come_or_gone(tmp_path):
    file, marks = tmp_path / "aws.csv", []
    source = CatalogFiles(tmp_path)
    for step in (lambda: None, lambda: file.write_text("x"), lambda: os.utime(file, (0, 0)), file.unlink):
        step()
        marks.append(source.mark())
    assert marks[0] == marks[3] == []
    assert len({str(mark) for mark in marks}) == 3
    assert source.mark() == source.mark()


async def test_a_url_is_read_and_a_dead_one_is_told():
    async def serve(request):
        return web.Response(body=b"x", headers={"Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT"})

    app = web.Application()
    app.router.add_get("/catalogs/v8/aws/vms.csv", serve)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        base = f"http://127.0.0.1:{runner.addresses[0][1]}"
        (good,) = await CatalogUrl(f"{base}/catalogs/v8/aws/vms.csv").read()
        (dead,) = await CatalogUrl(f"{base}/nebius.csv").read()
    finally:
        await runner.cleanup()
    assert (good.cloud, good.data, good.as_of) == ("aws", b"x", datetime(2026, 1, 1, tzinfo=UTC))
    assert dead == UnreadCatalog("nebius", f"{base}/nebius.csv", f"{base}/nebius.csv answers 404 Not Found")
