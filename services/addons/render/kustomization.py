"""Refuses Kustomize folders that refer to what is not in their source: bases, files and charts of other servers."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from events.errors import Denied
from schemas.documents import InvalidYaml, documents
from services.addons.render.yaml_files import name_of
from services.addons.sources.artifact import KUSTOMIZATIONS

FOLDERS = ("resources", "bases", "components", "generators", "transformers", "validators")
"""Fields that name folders and files."""
FILES = (
    "crds", "configurations", "patches", "patchesStrategicMerge", "patchesJson6902", "replacements", "openapi",
    "configMapGenerator", "secretGenerator",
)  # fmt: skip
"""Fields that name files somewhere in them."""
CONFIGURED = ("generators", "transformers", "validators")
"""Fields whose files name files in their turn."""
LITERAL = frozenset({"literals", "patch", "options"})
"""What stands below `FILES` and names no file."""
MOST = 1000
"""Folders that one is made of."""


def refuse_remote(root: Path, path: Path, components: Iterable[str] = ()) -> None:
    """See that a folder, and all it is made of, lies in its source. Raises Denied with what does not."""
    waiting = [path, *(_local(root, path, each) for each in components)]
    seen: set[Path] = set()
    while waiting:
        folder = waiting.pop()
        if folder in seen:
            continue
        seen.add(folder)
        if len(seen) > MOST:
            raise Denied(f"{name_of(root, path)} is made of more than {MOST} folders", "TooLarge")
        waiting += _folders(root, folder, _kustomization(root, folder))


def _kustomization(root: Path, folder: Path) -> dict[str, Any]:
    file = next((folder / name for name in KUSTOMIZATIONS if (folder / name).is_file()), None)
    if file is None:
        raise Denied(f"{name_of(root, folder)} has no {KUSTOMIZATIONS[0]}", "InvalidManifests")
    found: object = next((each for each in _documents(root, file) if each is not None), {})
    if not isinstance(found, dict):
        raise Denied(f"{name_of(root, file)} is no mapping", "InvalidManifests")
    return found


def _documents(root: Path, file: Path) -> list[Any]:
    try:
        return documents(file.read_text())
    except (InvalidYaml, UnicodeDecodeError) as wrong:
        raise Denied(f"{name_of(root, file)} must be YAML, but {wrong}", "InvalidManifests") from wrong


def _folders(root: Path, folder: Path, written: dict[str, Any]) -> Iterator[Path]:
    """The folders that one refers to."""
    for field in FILES:
        _refuse_addresses(root, folder, written.get(field))
    for field in FOLDERS:
        entries = written.get(field) or []
        for entry in entries if isinstance(entries, list) else [entries]:
            if "\n" in str(entry):  # it stands here itself
                _refuse_addresses(root, folder, _inline(root, folder, str(entry)))
                continue
            found = _local(root, folder, str(entry))
            if found.is_dir():
                yield found
            elif field in CONFIGURED:
                _refuse_addresses(root, folder, _documents(root, found))


def _inline(root: Path, folder: Path, text: str) -> list[Any]:
    try:
        return documents(text)
    except InvalidYaml as wrong:
        raise Denied(f"{name_of(root, folder)} must be YAML, but {wrong}", "InvalidManifests") from wrong


def _local(root: Path, folder: Path, entry: str) -> Path:
    """What an entry names in the source. Raises Denied if that is not there."""
    found = Path(os.path.realpath(folder / entry))
    if Path(entry).is_absolute() or not found.is_relative_to(root) or not found.exists():
        raise _not_here(root, folder, entry)
    return found


def _refuse_addresses(root: Path, folder: Path, written: object) -> None:
    """Raises Denied for the first text that is an address of another server."""
    for text in _texts(written):
        if "://" in text and "\n" not in text:
            raise _not_here(root, folder, text)


def _texts(written: object) -> Iterator[str]:
    if isinstance(written, str):
        yield written
    elif isinstance(written, dict):
        for key, each in written.items():
            yield from () if key in LITERAL else _texts(each)
    elif isinstance(written, list):
        for each in written:
            yield from _texts(each)


def _not_here(root: Path, folder: Path, entry: str) -> Denied:
    what = f"{name_of(root, folder)} refers to {entry:.200}, which is not in the source"
    return Denied(f"{what}: what lies elsewhere is not fetched, so put a copy into it", "RemoteRefused")
