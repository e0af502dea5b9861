"""The page is its own files alone, and its policy says so to the browser."""

import re

import pytest

from services.edge.page.files import HERE

PLAIN = sorted(HERE.iterdir())
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


@pytest.mark.parametrize("file", PLAIN, ids=lambda file: file.name)
async def test_every_file_is_served_as_what_it_is_and_says_why_it_exists(page, file):
    got = await page.ask("GET", f"/page/{file.name}")
    assert (got.status, got.body) == (200, file.read_bytes())
    assert re.fullmatch(FIRST_LINE[file.suffix], file.read_text().split("\n")[0])
    assert len(file.read_text().splitlines()) <= 300


@pytest.mark.parametrize("name", ["..%2f..%2fsite.py", "none.js"])
async def test_there_is_nothing_else(page, name):
    assert (await page.ask("GET", f"/page/{name}")).status == 404


@pytest.mark.parametrize("file", PLAIN, ids=lambda file: file.name)
def test_nothing_is_inline_nor_from_elsewhere_nor_read_as_html(file):
    text = file.read_text().replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert re.findall("|".join(WRONG), text) == []
