"""Every command on README, tutorial and how-to guides is run in order, and prints what the page shows.

The guides are for `make test-slow`: README and tutorial show every day that what is printed is what pages show.
"""

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.docs.blocks import PAGES, SHOWN, Block, blocks
from tests.docs.player import play, stack

AT_ONCE = 3
UNRUN = 10
"""How many blocks cannot be run in a test; each says why on its page."""


FIRST, GUIDES = PAGES[:2], PAGES[2:]


@pytest.mark.stack
@pytest.mark.parametrize(
    "pages", [FIRST, pytest.param(GUIDES, marks=pytest.mark.slow)], ids=["README and tutorial", "guides"]
)
@pytest.mark.skipif(not shutil.which("kubectl"), reason="the pages use kubectl")
def test_every_command_prints_what_its_page_shows(tmp_path, pages):
    with stack(tmp_path) as up, ThreadPoolExecutor(AT_ONCE) as terminals:
        wrong = [each for page in terminals.map(lambda page: play(page, tmp_path, up), pages) for each in page]
    assert not wrong, "\n\n".join(wrong)


def test_every_snippet_is_run_or_saved_or_says_why_not():
    every = [(page, block) for page in PAGES for block in blocks(page)]
    assert [f"{page.name}:{block.line}" for page, block in every if not held(page, block)] == []
    assert sum(bool(block.unrun) for _, block in every) == UNRUN


def held(page: Path, block: Block) -> bool:
    """Whether a reader's copy of it is sure to work, or the page says why that cannot be known."""
    if block.language in SHOWN or block.unrun:
        return True
    if block.language == "yaml" and not block.file:
        return "kind: Colony" in block.text  # held by tests/contracts/api/test_schemas.py
    if block.file:
        return block.file in page.read_text().replace(f"<!-- file: {block.file} -->", "")
    return block.language == "console" and block.text.startswith("$ ")
