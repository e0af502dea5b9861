"""Every command finds the running stack the same way: its folder, or a kubeconfig and a NATS."""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from events.bus import Bus, Unavailable
from events.jetstream.bus import connect
from events.jetstream.credentials import NOBODY, Credentials, without_secrets
from events.kube.auth import transport
from events.kube.client import Kube
from events.streams import STREAMS
from services.errors import BadInput
from services.local.folder import Folder

INBOX = "_INBOX_operator"
"""What a person's inbox begins with, unless ``ALATE_NATS_INBOX`` says otherwise."""
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
        """The management cluster. Raises Absent, Denied("BadKubeconfig"), TryLater."""
        file = str(self.kubeconfig or Folder(self.folder).address().kubeconfig)
        async with management(file) as kube:
            yield kube

    @asynccontextmanager
    async def bus(self) -> AsyncIterator[Bus]:
        """The bus. Raises Absent, BadInput if nobody is there."""
        async with joined(*self._bus()) as bus:
            yield bus

    def _bus(self) -> tuple[str, Credentials]:
        """Where it is, and what is shown there. Raises Absent, BadInput."""
        if self.nats:
            return self.nats, of_environment()
        address = Folder(self.folder).address()
        return address.nats_url, operator(Path(address.nkey)) if address.nkey else of_environment()


def operator(key: Path | None) -> Credentials:
    """What the one who runs the stack shows; nothing where there is no key."""
    return Credentials(nkey=key, inbox=INBOX) if key else NOBODY


def of_environment() -> Credentials:
    """What is shown to a NATS that is not the local stack's: ``ALATE_NATS_NKEY`` and the like. Raises BadInput."""
    from services.process.settings import BadSetting, load  # noqa: PLC0415 - the local stack's commands need none of it

    try:
        shown = load().credentials()
    except BadSetting as wrong:
        raise BadInput(str(wrong)) from wrong
    return shown if shown.anyone or shown.inbox else replace(shown, inbox=INBOX)


@asynccontextmanager
async def management(kubeconfig: str) -> AsyncIterator[Kube]:
    """The API server of a kubeconfig. Raises Denied("BadKubeconfig"), TryLater."""
    kube = Kube(await transport(kubeconfig, answer=PATIENCE), random=random.random)
    try:
        yield kube
    finally:
        await kube.close()


@asynccontextmanager
async def joined(url: str, shown: Credentials, patience: float = PATIENCE) -> AsyncIterator[Bus]:
    """The NATS at a URL. Raises BadInput if nobody is there."""
    streams = STREAMS if shown.anyone else ()
    try:
        bus = await connect(url, name="alate-cli", streams=streams, credentials=shown, patience=patience)
    except Unavailable as away:
        place = without_secrets(url)
        raise BadInput(f"no NATS answers at {place} ({away}): start it, or name another with --nats") from away
    try:
        yield bus
    finally:
        await bus.close()
