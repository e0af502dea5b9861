"""A process that is killed in the middle of a download leaves nothing behind for the next one."""

import asyncio
import sys

from aiohttp import web

from tests.services.addons.sources.world import CONFIG, spec

CHILD = """
import asyncio, sys
from datetime import UTC, datetime
from pathlib import Path
from schemas.crds.sources import SourceSpec
from services.addons.sources.sources import Sources

async def main(folder, url):
    await Sources(None, Path(folder), lambda: datetime.now(UTC)).fetch(SourceSpec(url=url), "acme")

asyncio.run(main(*sys.argv[1:]))
"""


async def test_a_process_killed_in_the_middle_of_a_download_leaves_nothing(world, server):
    begun = asyncio.Event()

    async def half(request):
        response = web.StreamResponse(headers={"Content-Length": str(len(CONFIG))})
        await response.prepare(request)
        await response.write(CONFIG[:10].encode())
        begun.set()
        await asyncio.Event().wait()

    server.handlers["/x.yaml"] = half
    url = f"{server.url}/x.yaml"
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", CHILD, str(world.folder), url)
    await begun.wait()
    child.kill()
    await child.wait()
    assert list(world.folder.glob("0/partial/*/*"))
    del server.handlers["/x.yaml"]
    server.files["/x.yaml"] = CONFIG.encode()
    found = await world.sources().fetch(spec(url=url), "acme")
    assert found.path.joinpath("x.yaml").read_text() == CONFIG
    assert str(found.path).startswith(str(world.folder / "0")), "the room of the dead process is free again"
    assert not list(world.folder.glob("0/partial/*"))
