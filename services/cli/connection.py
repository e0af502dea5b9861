"""How every command finds the running stack: by its folder, or by a kubeconfig and a NATS server."""
# ruff: noqa: PLC0415 - imports: a command loads the client of what it uses, and no other

import os
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from services.errors import BadInput
from services.local.folder import Folder

if TYPE_CHECKING:
    from events.bus import Bus
    from events.jetstream.credentials import NkeyCredentials
    from events.kube.client import Kube

NAME = ".alate"
INBOX = "_INBOX_operator"
"""The prefix of a person's inbox, unless ``ALATE_NATS_INBOX`` says otherwise."""
ANSWER = 5.0
"""Seconds after which a NATS server or an API server that does not answer counts as absent."""


@dataclass(frozen=True)
class Connection:
    """How the stack is found; what is not given is that of the stack in the folder."""

    folder: Path | None = None
    """None: the nearest one."""
    kubeconfig: Path | None = None
    nats: str | None = None

    @asynccontextmanager
    async def kube(self) -> AsyncIterator["Kube"]:
        """The management cluster. Raises Absent, Denied("BadKubeconfig"), TryLater."""
        file = str(self.kubeconfig or found(self.folder).address().kubeconfig)
        async with management(file) as kube:
            yield kube

    @asynccontextmanager
    async def bus(self) -> AsyncIterator["Bus"]:
        """The bus. Raises Absent, BadInput if no server answers."""
        async with joined(*self.nats_address()) as bus:
            yield bus

    def nats_address(self) -> tuple[str, "NkeyCredentials"]:
        """The URL of NATS, and the credentials for it. Raises Absent, BadInput."""
        if self.nats:
            return self.nats, of_environment()
        address = found(self.folder).address()
        return address.nats_url, operator(Path(address.nkey)) if address.nkey else of_environment()


def found(folder: Path | None) -> Folder:
    """The folder of a stack: the given one, or the nearest."""
    return Folder(folder if folder is not None else nearest(Path.cwd()))


def nearest(start: Path) -> Path:
    """The folder `.alate` in `start` or in the nearest parent that has one; where none has, the one in `start`.

    A folder of another user is passed over: its kubeconfig could name a program to run.
    """
    places = (each / NAME for each in (start, *start.parents))
    return next((place for place in places if _own(place)), start / NAME)


def _own(place: Path) -> bool:
    try:
        return place.is_dir() and place.stat().st_uid == os.getuid()
    except OSError:
        return False


def operator(key: Path | None) -> "NkeyCredentials":
    """The credentials of who runs the stack; none where there is no key."""
    from events.jetstream.credentials import NOBODY, NkeyCredentials

    return NkeyCredentials(nkey=key, inbox=INBOX) if key else NOBODY


def of_environment() -> "NkeyCredentials":
    """The credentials for a NATS server of others: ``ALATE_NATS_NKEY`` and the like. Raises BadInput."""
    if not any(name.upper().startswith("ALATE_NATS_") for name in os.environ):
        return operator(None)
    from services.process.settings import BadSetting, load

    try:
        shown = load().credentials()
    except BadSetting as wrong:
        raise BadInput(str(wrong)) from wrong
    return shown if shown.anyone or shown.inbox else replace(shown, inbox=INBOX)


@asynccontextmanager
async def management(kubeconfig: str) -> AsyncIterator["Kube"]:
    """The API server of a kubeconfig. Raises Denied("BadKubeconfig"), TryLater."""
    from events.kube.auth import transport
    from events.kube.client import Kube

    kube = Kube(await transport(kubeconfig, answer=ANSWER), random=random.random)
    try:
        yield kube
    finally:
        await kube.close()


@asynccontextmanager
async def joined(url: str, shown: "NkeyCredentials", patience: float = ANSWER) -> AsyncIterator["Bus"]:
    """The NATS server at a URL. Raises BadInput if none answers."""
    from events.bus import Unavailable
    from events.jetstream.bus import connect
    from events.jetstream.credentials import without_secrets
    from events.streams import STREAMS

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
