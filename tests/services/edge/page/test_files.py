"""The page loads its own files alone, and its policy makes the browser refuse all others."""

import re
from hashlib import sha256

import pytest

from services.edge.page.files import HERE

OURS = sorted(file for file in HERE.iterdir() if file.is_file())
VENDORED = sorted((HERE / "vendor").iterdir())
UPLOT = {
    "uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
    "uPlot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
    "uPlot.LICENSE.txt": "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
}
"""The files of uPlot 1.6.32, as its makers released them."""
WRONG = (
    "https?://",
    "(inner|outer)HTML",
    "insertAdjacent",
    "document.write",
    r"eval\(",
    r"\son\w+=",
    'style="',
    "<script (?!type)",
)
FIRST_LINE = {".js": r"// \S.*[.]", ".css": r"/[*] \S.*[.] [*]/", ".html": "<!doctype html>", ".svg": "<svg .*"}


async def test_the_page_may_load_and_run_only_what_is_its_own(page):
    got = await page.ask("GET", "/")
    policy = dict(part.split(" ", 1) for part in got.headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert {name for name, value in policy.items() if value == "'self'"} == {
        "script-src", "style-src", "connect-src", "img-src",
    }  # fmt: skip
    assert got.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("file", [*OURS, *VENDORED], ids=lambda file: file.name)
async def test_every_file_is_served(page, file):
    got = await page.ask("GET", f"/page/{file.name}")
    assert (got.status, got.body) == (200, file.read_bytes())


def test_the_chart_library_is_as_it_was_released():
    assert {file.name: sha256(file.read_bytes()).hexdigest() for file in VENDORED} == UPLOT


@pytest.mark.parametrize("file", OURS, ids=lambda file: file.name)
def test_every_file_of_ours_says_what_it_holds_and_is_short(file):
    assert re.fullmatch(FIRST_LINE[file.suffix], file.read_text().split("\n")[0])
    assert len(file.read_text().splitlines()) <= 300


@pytest.mark.parametrize("name", ["..%2f..%2fsite.py", "none.js"])
async def test_no_other_file_is_served(page, name):
    assert (await page.ask("GET", f"/page/{name}")).status == 404


@pytest.mark.parametrize("file", OURS, ids=lambda file: file.name)
def test_nothing_is_inline_nor_from_elsewhere_nor_read_as_html(file):
    text = file.read_text().replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert re.findall("|".join(WRONG), text) == []
