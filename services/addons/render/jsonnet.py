"""Jsonnet: evaluated by its library in a process of its own, which can be ended, with imports of the source alone."""

import asyncio
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from events.errors import Denied
from events.kube.client import Object
from schemas.crds.manifests import checked
from schemas.documents import DEEPEST
from schemas.registry import UNREADABLE
from services.addons.programs import ProgramOverrun, run_program
from services.addons.render.jsonnet_worker import JsonnetQuestion
from services.addons.render.options import RenderOptions, RenderSettings, bounded, told
from services.addons.render.yaml_files import name_of

MAIN = "main.jsonnet"
"""What a folder's entry is called, where it has several."""
COMMAND = (sys.executable, "-P", "-m", "services.addons.render.jsonnet_worker")


async def render_jsonnet(root: Path, path: Path, options: RenderOptions, settings: RenderSettings) -> list[Object]:
    """Evaluate the file; its result is an object, or lists and mappings of objects."""
    file = await asyncio.to_thread(_entry, root, path)
    what = name_of(root, file)
    question = JsonnetQuestion(str(root), str(file), dict(options.values))
    with TemporaryDirectory(prefix="alate-") as home:
        env = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            result = await run_program(COMMAND, Path(home), settings.bounds, env, msgspec.json.encode(question))
        except ProgramOverrun as overrun:
            raise Denied(f"{what} {overrun}", "TooCostly") from overrun
    if result.code:
        raise Denied(f"{what} cannot be evaluated: {told(result.said, root)}", "RenderFailed")
    return await asyncio.to_thread(_objects, result.output, what, settings)


def _entry(root: Path, path: Path) -> Path:
    if path.is_file():
        return path
    found = sorted(path.glob("*.jsonnet"))
    main = [each for each in found if each.name == MAIN] or found
    if len(main) != 1:
        raise Denied(f"{name_of(root, path)} has {len(found)} files of Jsonnet: name one in path", "InvalidManifests")
    return main[0]


def _objects(output: bytes, what: str, settings: RenderSettings) -> list[Object]:
    try:
        return bounded(checked(list(_found(msgspec.json.decode(output), 0))), what, settings)
    except UNREADABLE as wrong:
        raise Denied(f"{what} gives no JSON: {wrong}", "RenderFailed") from wrong
    except ValueError as wrong:
        raise Denied(f"{what} {wrong}", "InvalidManifests") from wrong


def _found(value: Any, depth: int) -> list[Any]:  # noqa: ANN401 - whatever it gives
    """The objects in a value; what is neither list nor mapping is left to be refused."""
    if depth > DEEPEST:
        raise ValueError(f"is nested more than {DEEPEST} deep")
    if isinstance(value, list):
        return [one for each in value for one in _found(each, depth + 1)]
    if isinstance(value, dict) and "kind" not in value and "apiVersion" not in value:
        return [one for each in value.values() for one in _found(each, depth + 1)]
    return [] if value is None else [value]
