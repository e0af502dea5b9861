"""Templates of ytt, by its program where it is there."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from events.errors import Denied
from events.kube.client import Object
from services.addons.programs import ProgramOverrun, find_program, run_program
from services.addons.render.options import RenderOptions, RenderSettings, objects_of, told
from services.addons.render.yaml_files import name_of


async def render_ytt(root: Path, path: Path, options: RenderOptions, settings: RenderSettings) -> list[Object]:
    """Fill the templates with the data values."""
    if (program := find_program(settings.ytt)) is None:
        raise Denied("templates of ytt cannot be rendered: there is no program ytt here", "Unsupported")
    what = name_of(root, path)
    with TemporaryDirectory(prefix="alate-") as folder:
        values = Path(folder) / "values.yaml"
        await asyncio.to_thread(values.write_bytes, msgspec.json.encode(options.values))
        given = ("--data-values-file", str(values)) if options.values else ()
        try:
            result = await run_program((program, "--file", str(path), *given), Path(folder), settings.bounds)
        except ProgramOverrun as overrun:
            raise Denied(f"ytt of {what} {overrun}", "TooCostly") from overrun
    if result.code:
        said = told(result.said.removeprefix("ytt: Error:"), root, Path(folder))
        raise Denied(f"ytt cannot render {what}: {said}", "RenderFailed")
    return await asyncio.to_thread(objects_of, result.output.decode(errors="replace"), what, settings)
