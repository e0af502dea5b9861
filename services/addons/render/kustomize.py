"""Kustomize folders, by the program kustomize, without network and plugins."""

import asyncio
import json
import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from events.errors import Denied
from events.kube.client import Object
from services.addons.programs import ProgramOverrun, find_program, run_program
from services.addons.render.kustomization import refuse_remote
from services.addons.render.options import RenderOptions, RenderSettings, objects_of, told
from services.addons.render.yaml_files import name_of

TEMPORARY = os.path.realpath(gettempdir())
"""Kustomize compares paths as they really are."""
CLOSED = "http://127.0.0.1:1"
OFFLINE = {"HTTP_PROXY": CLOSED, "HTTPS_PROXY": CLOSED, "NO_PROXY": "", "PATH": ""}
"""What is remote is refused before; whatever was overlooked finds no git and a proxy that is none."""


async def render_kustomize(root: Path, path: Path, options: RenderOptions, settings: RenderSettings) -> list[Object]:
    """Build the folder, with the components and patches that are added to it."""
    if (program := find_program(settings.kustomize)) is None:
        raise Denied("a Kustomize folder cannot be built: there is no program kustomize here", "Unsupported")
    what = name_of(root, path)
    await asyncio.to_thread(refuse_remote, root, path, options.components)
    with TemporaryDirectory(prefix="alate-", dir=TEMPORARY) as folder:
        home = Path(folder)
        where = await asyncio.to_thread(_overlay, home, path, options)
        command = (program, "build", str(where))
        try:
            result = await run_program(command, home, settings.bounds, OFFLINE)
        except ProgramOverrun as overrun:
            raise Denied(f"kustomize build of {what} {overrun}", "TooCostly") from overrun
    if result.code:
        said = told(result.said.removeprefix("Error: "), root, home)
        raise Denied(f"kustomize cannot build {what}: {said}", "RenderFailed")
    return await asyncio.to_thread(objects_of, result.output.decode(errors="replace"), what, settings)


def _overlay(home: Path, path: Path, options: RenderOptions) -> Path:
    """The folder to build: the source's own, or one that adds to it."""
    if not options.components and not options.patches:
        return path
    folder = home / "overlay"
    folder.mkdir()
    base = os.path.relpath(path, folder)
    added: Mapping[str, object] = {
        "resources": [base],
        "components": [f"{base}/{each}" for each in options.components],
        "patches": [
            {"patch": each.patch} | ({"target": each.target} if each.target else {}) for each in options.patches
        ],
    }
    (folder / "kustomization.yaml").write_text(json.dumps(added))
    return folder
