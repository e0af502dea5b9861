"""Every command finds the running stack the same way: its folder, or a kubeconfig and a NATS."""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from events.bus import Bus, Unavailable
from events.jetstream import connect
from events.kube import Kube
from events.kube_config import transport
from services.cli.bad import BadInput
from services.stack.folder import Folder

PATIENCE = 5.0
"""Seconds after which a bus or an API server that does not answer is not there."""


@dataclass(frozen=True)
class Where:
    """How the stack is found; what is not given is that of the stack in the folder."""

    folder: Path
    kubeconfig: Path | None = None
    nats: str | None = None

    @asynccontextmanager
    async def kube(self) -> AsyncIterator[Kube]:
        """The management cluster. Raises Absent, Denied("BadKubeconfig")."""
        file = str(self.kubeconfig or Folder(self.folder).address().kubeconfig)
        async with management(file) as kube:
            yield kube

    @asynccontextmanager
    async def bus(self) -> AsyncIterator[Bus]:
        """The bus. Raises Absent, BadInput if nobody is there."""
        async with joined(self.nats or Folder(self.folder).address().nats_url) as bus:
            yield bus


@asynccontextmanager
async def management(kubeconfig: str) -> AsyncIterator[Kube]:
    """The API server of a kubeconfig. Raises Denied("BadKubeconfig")."""
    kube = Kube(await transport(kubeconfig), random=random.random, timeout=PATIENCE)
    try:
        yield kube
    finally:
        await kube.close()


@asynccontextmanager
async def joined(url: str, patience: float = PATIENCE) -> AsyncIterator[Bus]:
    """The NATS at a URL. Raises BadInput if nobody is there."""
    try:
        bus = await connect(url, name="alate-cli", patience=patience)
    except Unavailable as away:
        raise BadInput(f"no NATS answers at {url} ({away}): start it, or name another with --nats") from away
    try:
        yield bus
    finally:
        await bus.close()
