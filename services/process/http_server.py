"""Starts an HTTP listener where a setting says, or fails with one sentence."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from aiohttp import web

from events.errors import Denied


@asynccontextmanager
async def listening(runner: web.AppRunner, address: str, setting: str) -> AsyncGenerator[str]:
    """Serve on HOST:PORT, which `setting` names; gives the base URL (port 0: the free one).

    Raises ``Denied("AddressInUse")`` if the address cannot be had.
    """
    await runner.setup()
    host, _, port = address.rpartition(":")
    try:
        await _listen(runner, host.strip("[]"), int(port), setting)
        yield f"http://{host}:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def _listen(runner: web.AppRunner, host: str, port: int, setting: str) -> None:
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError as error:
        raise Denied(
            f"{setting} {host}:{port} cannot be had ({error.strerror or error}): "
            "name another port, or 0 for a free one",
            reason="AddressInUse",
        ) from error
