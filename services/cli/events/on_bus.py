"""Runs what a command does with the bus."""
# ruff: noqa: PLC0415 - imports: help must not wait for what a command needs

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from events.bus import Bus


def on_bus(folder: Path | None, nats: str | None, work: "Callable[[Bus], Awaitable[None]]") -> None:
    """Join the bus of a stack, do the work, and leave it."""
    from services.cli.connection import Connection
    from services.cli.loop import run

    async def joined() -> None:
        async with Connection(folder, nats=nats).bus() as bus:
            await work(bus)

    run(joined())
