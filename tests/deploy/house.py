"""A nats-server with the shipped accounts, a key for everybody, and all subjects there are to try."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import nats
from nats.aio.client import Client

from events.bus import Bus
from events.jetstream.accounts import accounts
from events.jetstream.bus import connect
from events.jetstream.credentials import NkeyCredentials
from events.jetstream.permissions import Role
from events.jetstream.server import NatsServer
from events.streams import STREAMS, StreamSpec
from schemas.registry import Declaration, declarations
from services.local.keys import file, keys
from services.roles import ROLES, SANDBOX, tenant
from services.sandbox.api.store.journal import KUBE

ACME = tenant("acme")
EVERYBODY = (*ROLES, SANDBOX, ACME)
DURABLES = tuple(one for role in ROLES for one in role.works)
ALL_STREAMS: tuple[StreamSpec, ...] = (*STREAMS, KUBE)
STREAM_VERBS = (
    "CREATE UPDATE INFO DELETE PURGE MSG.DELETE MSG.GET SNAPSHOT RESTORE LEADER.STEPDOWN PEER.REMOVE".split()  # noqa: SIM905
)
CONSUMER_VERBS = "CREATE DURABLE.CREATE INFO DELETE MSG.NEXT PAUSE RESET LEADER.STEPDOWN UNPIN".split()  # noqa: SIM905


END = "the.end"
"""Nobody may publish there: once that is refused, so is all that was to be refused before it."""


class Refused(list[str]):
    """Subjects."""

    def __init__(self) -> None:
        self.complete = asyncio.Event()

    async def all(self, client: Client) -> list[str]:
        """What was refused up to now, sorted."""
        await client.publish(END, b"")
        async with asyncio.timeout(10):
            await self.complete.wait()
        return sorted(subject for subject in self if subject != END)


class House:
    """A running server; `key` is where a role's seed is."""

    def __init__(self, server: NatsServer, folder: Path) -> None:
        self.server = server
        self._folder = folder

    def credentials(self, role: Role) -> NkeyCredentials:
        return NkeyCredentials(nkey=file(self._folder, role.name), inbox=role.inbox, api=role.api)

    async def bus(self, role: Role) -> Bus:
        """As our own adapter connects."""
        streams = [spec for spec in ALL_STREAMS if spec.name in role.makes]
        own = self.credentials(role)
        return await connect(self.server.url, name=role.name, streams=streams, credentials=own, patience=3.0)

    @asynccontextmanager
    async def client(self, role: Role) -> AsyncIterator[tuple[Client, Refused]]:
        """As anybody's client connects, and what the server refuses it, in small letters as nats-py has it."""
        refused = Refused()

        async def note(error: Exception) -> None:
            found = re.search(r'permissions violation for \w+ to "([^"]+)"', str(error))
            refused.append(found[1] if found else str(error))
            if refused[-1] == END:
                refused.complete.set()

        seed = str(file(self._folder, role.name))
        client = await nats.connect(self.server.url, nkeys_seed=seed, inbox_prefix=role.inbox, error_cb=note)
        try:
            yield client, refused
        finally:
            await client.close()


@asynccontextmanager
async def house(folder: Path, extra: str = "") -> AsyncIterator[House]:
    """All streams are made already, by those who may."""
    public = keys(folder / "keys", tuple(role.name for role in EVERYBODY))
    config = accounts(EVERYBODY, lambda role: (f'"{public[role.name]}"',)) + extra
    async with NatsServer(folder / "nats", extra=config) as server:
        here = House(server, folder / "keys")
        for role in EVERYBODY:
            if role.makes:
                await (await here.bus(role)).close()
        yield here


def example(subject: str, tenant: str) -> str:
    """One subject of a template or a filter."""
    filled = subject.replace("{tenant}", tenant)
    return ".".join("x" if part.startswith("{") or part in ("*", ">") else part for part in filled.split("."))


def owned() -> Iterator[tuple[str, str, Declaration]]:
    """Every declared subject for two tenants, with its tenant (if it names one) and its declaration."""
    for each in declarations():
        for subject in each.subjects:
            for name in ("acme", "other"):
                yield example(subject, name), name if "{tenant}" in subject else "", each


def of_streams() -> Iterator[tuple[str, str, str]]:
    """Every operation on every stream: subject, verb, stream; those on a part of it as well."""
    for spec in ALL_STREAMS:
        yield from ((f"$JS.API.STREAM.{verb}.{spec.name}", verb, spec.name) for verb in STREAM_VERBS)
        yield from ((f"$JS.API.{what}.{spec.name}", what, spec.name) for what in ("DIRECT.GET", "CONSUMER.NAMES"))
        yield f"$JS.API.CONSUMER.LIST.{spec.name}", "CONSUMER.LIST", spec.name
        yield f"$JS.API.DIRECT.GET.{spec.name}.{example(spec.subjects[0], 'other')}", "DIRECT.GET.subject", spec.name
        yield from ((f"$JS.API.CONSUMER.{verb}.{spec.name}.mine", f"mine {verb}", spec.name) for verb in CONSUMER_VERBS)
        yield f"$JS.API.CONSUMER.CREATE.{spec.name}.mine.{example(spec.subjects[0], 'other')}", "filtered", spec.name
        yield f"$JS.API.CONSUMER.CREATE.{spec.name}", "unnamed", spec.name
        yield f"$JS.FC.{spec.name}.mine.x", "flow", spec.name


def of_durables() -> Iterator[tuple[str, str, str]]:
    """Every operation on every service's consumer: subject, verb, consumer; answers in both forms."""
    for one in DURABLES:
        place = f"{one.stream}.{one.name}"
        yield from ((f"$JS.API.CONSUMER.{verb}.{place}", verb, one.name) for verb in CONSUMER_VERBS)
        yield f"$JS.ACK.{place}.1.1.1.1.0", "ACK", one.name
        yield f"$JS.ACK.hub.hash.{place}.1.1.1.1.0.x", "ACK", one.name
        yield f"dlq.{place}", "DLQ", one.name
        yield f"redrive.{place}.1.cluster.ready.acme.x", "REDRIVE", one.name


OTHERS = (
    *(f"{kind}.{domain}.acme.x" for kind in ("timer", "due") for domain in ("cluster", "addon", "teardown")),
    "hook.github.acme.main.1",
    "outbound.ci.cluster.ready.acme.x",
    "kube.management.core.secrets.default.x",
    "dlq.EVENTS.nobody",
    "ask.inventory.nodes",
    "$SRV.PING",
    "$SYS.REQ.SERVER.PING",
    "$SYS.ACCOUNT.ALATE.CONNECT",
    "$JS.API.INFO",
    "$JS.API.STREAM.LIST",
    "$JS.API.STREAM.NAMES",
    "$JS.API.SERVER.REMOVE",
    "$JS.API.ACCOUNT.PURGE.ALATE",
    "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.EVENTS.addons-events",
    *(f"{role.inbox}.x.1" for role in EVERYBODY),
    "anything",
    "cluster.x",
)
"""Timers, hooks, the system's own, others' inboxes, and what nobody ever declared."""


def subjects() -> tuple[str, ...]:
    """All of them, and the API as those see it who live apart."""
    house_ = (*(s for s, *_ in (*owned(), *of_streams(), *of_durables())), *OTHERS)
    apart = (subject.replace("$JS.API", "JS.API") for subject in house_ if subject.startswith("$JS.API"))
    return tuple(dict.fromkeys((*house_, *apart)))
