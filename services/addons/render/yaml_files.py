"""Plain YAML: the objects of a file, or of every YAML and JSON file of a folder in the order of their names."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from events.errors import Denied
from events.kube.client import Object
from services.addons.render.options import RenderOptions, RenderSettings, bounded, objects_of

ENDINGS = (".yaml", ".yml", ".json")


async def render_yaml(root: Path, path: Path, _: RenderOptions, settings: RenderSettings) -> list[Object]:
    """The objects as they are written."""
    texts = await read_texts(root, path, settings)
    found = [each for name, text in texts.items() for each in await asyncio.to_thread(objects_of, text, name, settings)]
    return bounded(found, name_of(root, path), settings)


async def read_texts(root: Path, path: Path, settings: RenderSettings) -> Mapping[str, str]:
    """The text of each manifest by its name in the source. Raises Denied."""
    return await asyncio.to_thread(_read, root, path, settings)


def name_of(root: Path, path: Path) -> str:
    """How a file or folder of a source is called in messages."""
    name = path.relative_to(root).as_posix()
    return "the source" if name == "." else name


def manifest_files(path: Path) -> list[Path]:
    """The manifests of a folder, those of hidden folders apart; or the file itself."""
    if path.is_file():
        return [path]
    found = (each for ending in ENDINGS for each in path.rglob(f"*{ending}"))
    return sorted(each for each in found if each.is_file() and not _hidden(each.relative_to(path)))


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _read(root: Path, path: Path, settings: RenderSettings) -> Mapping[str, str]:
    texts, left = {}, settings.text
    for file in manifest_files(path):
        if (size := file.stat().st_size) > left:
            raise Denied(f"{name_of(root, path)} has more than {settings.text} bytes of YAML", "TooLarge")
        left -= size
        try:
            texts[name_of(root, file)] = file.read_text()
        except UnicodeDecodeError:
            raise Denied(f"{name_of(root, file)} is no text", "InvalidManifests") from None
    if not texts:
        raise Denied(f"{name_of(root, path)} holds no YAML", "InvalidManifests")
    return texts
