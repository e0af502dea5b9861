"""The documentation builds without a warning, and what it names is there."""

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
CONFIG = ROOT / "zensical.toml"
LONGEST_README = 150
MERMAID = {
    "mermaid.min.js": "581ed7d74bd9048d0e3a91363927d72ef22942d7722546b27f7cc29e35390eb8",
    "mermaid.LICENSE.txt": "ec9fb67dcb25eccc416ed56e1aab819222c805a2a4bfe4cb19e7556bf2ffde80",
}
"""The files of Mermaid 11.17.2, as its makers released them."""
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")
REPOSITORY = re.compile(r"`((?:deploy|schemas|events|services|tests|docs)/[\w./*<>-]+)`")


def pages(nav: list) -> Iterator[str]:
    for entry in nav:
        for value in entry.values():
            yield from pages(value) if isinstance(value, list) else (value,)


def test_the_site_builds_with_no_warning(tmp_path):
    config = tmp_path / "zensical.toml"
    config.write_text(CONFIG.read_text())
    shutil.copytree(DOCS, tmp_path / "docs")
    program = Path(sys.executable).with_name("zensical")
    done = subprocess.run((program, "build", "--strict"), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, re.findall("(?i)warning|error", done.stdout + done.stderr)) == (0, []), done.stdout
    assert (tmp_path / "site" / "index.html").is_file()
    scripts = re.findall('<script[^>]* src="([^"]+)"', (tmp_path / "site" / "concepts" / "lifecycle.html").read_text())
    assert "../assets/vendor/mermaid.min.js" in scripts
    assert [script for script in scripts if "//" in script] == []


def test_diagrams_are_drawn_by_the_sites_own_copy_of_mermaid():
    shipped = {path.name: sha256(path.read_bytes()).hexdigest() for path in (DOCS / "assets" / "vendor").iterdir()}
    assert shipped == MERMAID


def test_every_page_is_in_the_navigation_once():
    shown = list(pages(tomllib.loads(CONFIG.read_text())["project"]["nav"]))
    assert sorted(shown) == sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= LONGEST_README


def test_every_link_of_the_readme_leads_somewhere():
    links = LINK.findall((ROOT / "README.md").read_text())
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_every_file_that_a_page_names_is_there():
    texts = {path: path.read_text() for path in (ROOT / "README.md", *DOCS.rglob("*.md"))}
    named = [(path.name, name) for path, text in texts.items() for name in REPOSITORY.findall(text)]
    assert [each for each in named if not list(ROOT.glob(re.sub(r"<[^>]*>", "*", each[1])))] == []
