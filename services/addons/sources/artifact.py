"""An artifact: a read-only folder or file of the cache, which is not evicted while anybody holds it."""

import asyncio
import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path

from events.errors import Denied
from services.addons.sources.tree import measure

KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")

REFERRING = (".jsonnet", ".libsonnet", ".star")
"""Files that import others."""


@dataclass(frozen=True, eq=False)
class CachedTree:
    """All that was fetched of one source; the cache refers to it weakly, and evicts it only when nobody else does."""

    digest: str
    root: Path
    size: int
    parts: dict[str, tuple[str, Path]] = field(default_factory=dict)
    """Digest and place of each part that was asked for."""


@dataclass(frozen=True)
class Artifact:
    """What a source came to."""

    digest: str
    """sha256 of the content, in hex: the same content of another source has the same."""
    path: Path
    """The folder or file that the source names; read-only, and there as long as this object is."""
    revision: str
    """Where it comes from: a version, a commit, a digest."""
    tree: CachedTree
    """All that was fetched with it."""
    stale: str = ""
    """Why it could not be looked up again, in one sentence; empty if it was, or did not have to be."""


async def part(tree: CachedTree, path: str) -> tuple[str, Path]:
    """The digest and place of a part of a tree. Raises Denied if it is not there."""
    # Not the tree itself: a thread that is just done may hold what it was given a moment longer than we do.
    found = tree.parts[path] = await asyncio.to_thread(_part, tree.root, tree.digest, path)
    return found


def _part(root: Path, digest: str, path: str) -> tuple[str, Path]:
    place = _place(root, path)
    if _alone(place):
        return measure(place).digest, place
    around = f"{digest}/{place.relative_to(root)}"
    return hashlib.sha256(around.encode()).hexdigest(), place


def _alone(place: Path) -> bool:
    """Whether it refers to nothing beside it, as overlays and Jsonnet do: those change with all there is."""
    if place.is_file():
        return place.suffix not in REFERRING
    inside = () if (place / "Chart.yaml").is_file() else place.rglob("*")
    return not any(each.name in KUSTOMIZATIONS or each.suffix in REFERRING for each in inside)


def _place(root: Path, path: str) -> Path:
    for base in (root, _only_folder(root)):
        found = Path(os.path.realpath(base / path.strip("/"))) if path else base
        if not found.is_relative_to(os.path.realpath(root)):
            raise Denied(f"the path {path!r} leads out of the source: name a file or folder inside it", "InvalidSource")
        if path and found.exists():
            return found
    if path:
        raise Denied(f"the source has no {path!r}", "NotFound")
    return _only_folder(root)


def _only_folder(root: Path) -> Path:
    """The one folder that an archive of a chart or of a release has at its top; the root itself if there is more."""
    inside = [each for each in root.iterdir() if each.name != "pax_global_header"]
    return inside[0] if len(inside) == 1 and inside[0].is_dir() and not inside[0].is_symlink() else root
