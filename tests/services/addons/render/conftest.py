"""Folders as an artifact of a source."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from services.addons.render.options import RenderOptions, RenderSettings
from services.addons.render.renderers import Renderers
from services.addons.sources.artifact import Artifact, CachedTree
from services.addons.sources.tree import measure


@pytest.fixture
def folder(tmp_path):
    """Writes files, and gives them as an artifact."""

    def do(files: Mapping[str, str], path: str = "") -> Artifact:
        root = Path(os.path.realpath(tmp_path)) / "source"
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return artifact(root, path)

    return do


def artifact(root: Path, path: str = "") -> Artifact:
    tree = CachedTree(measure(root).digest, root, 0)
    return Artifact(tree.digest, root / path if path else root, "test", tree)


@pytest.fixture
def existing():
    """A folder that is there, as an artifact."""
    return artifact


@pytest.fixture
def render():
    """Renders an artifact anew."""

    async def do(what: Artifact, settings: RenderSettings | None = None, **options):
        return await Renderers(settings or RenderSettings()).render(what, RenderOptions(**options))

    return do
