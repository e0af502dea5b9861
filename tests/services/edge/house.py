"""An open door on a bus, and senders that know their secret, for the tests of the edge."""

import hashlib
import hmac
import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp

from events.backoff import Rate
from events.bus import Bus, Stored
from events.meters import HOOKS
from events.telemetry import Meters
from services.edge.http.principals import Callers
from services.edge.http.server import opened
from services.edge.inventory_api import InventoryApi
from services.edge.webhooks.providers import PROVIDERS
from services.edge.webhooks.receive import WebhookReceiver
from services.edge.webhooks.secrets import WebhookSecrets
from services.runtime.context import Context
from tests.services.edge.here import Instead

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECRET = "It's a Secret to Everybody"  # noqa: S105 - GitHub's own example
WHSEC = "whsec_" + b64encode(b"0123456789abcdef0123456789abcdef").decode()
SHA = "0123456789abcdef0123456789abcdef01234567"
RUN = {
    "action": "requested",
    "workflow_run": {
        "id": 4711,
        "run_attempt": 1,
        "name": "train",
        "head_sha": SHA,
        "updated_at": "2026-01-01T11:59:58Z",
    },
    "repository": {"url": "https://api.github.com/repos/acme/models", "full_name": "acme/models"},
}


def github(body: bytes, secret: str = SECRET, delivery: str = "d-1") -> dict[str, str]:
    """The headers GitHub sends with a body."""
    return {
        "Content-Type": "application/json",
        "X-GitHub-Event": "workflow_run",
        "X-GitHub-Delivery": delivery,
        "X-Hub-Signature-256": "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest(),
    }


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> dict:
        return json.loads(self.body)


@dataclass
class House:
    """The door of one edge, and what stands behind it."""

    bus: Bus
    secrets: Path
    now: datetime = NOW
    meters: Meters = field(default_factory=Meters)
    evaluators: Instead = field(default_factory=Instead)
    url: str = ""
    session: aiohttp.ClientSession | None = None

    def clock(self) -> datetime:
        return self.now

    def passes(self, **span: float) -> None:
        self.now += timedelta(**span)

    def endpoint(self, name: str, *secrets: str) -> None:
        """Make an endpoint, or change its secrets."""
        (self.secrets / name).write_text("\n".join(secrets))

    async def ask(self, method: str, path: str, **how) -> Answer:
        assert self.session is not None
        async with self.session.request(method, self.url + path, allow_redirects=False, **how) as got:
            return Answer(got.status, got.headers, await got.read())

    async def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        return await self.ask("POST", path, data=body, headers=headers)

    async def github(self, body: bytes = json.dumps(RUN).encode(), **changed: str) -> Answer:
        return await self.post("/hooks/github/acme/ci", body, github(body) | changed)

    async def kept(self) -> tuple[Stored, ...]:
        return await self.bus.read("HOOKS", "hook.>")

    @property
    def context(self) -> Context:
        return Context(self.bus, self.clock, lambda: 0.5, self.meters)

    def counts(self) -> dict[str, int]:
        return dict(self.meters.counts(HOOKS))


async def furnished(stack: AsyncExitStack, bus: Bus, folder: Path, rate: Rate) -> House:
    house = House(bus, folder)
    for provider in PROVIDERS:
        house.endpoint(f"{provider}.acme.ci", SECRET, WHSEC)
    secrets = WebhookSecrets(folder)
    hooks = WebhookReceiver(house.context, secrets, rate, house.evaluators)
    routes = (*hooks.routes(), *InventoryApi(bus, Callers(secrets)).routes())
    house.url = await stack.enter_async_context(opened("127.0.0.1:0", routes))
    house.session = await stack.enter_async_context(aiohttp.ClientSession())
    return house


def standard(body: bytes, secret: str = WHSEC, name: str = "msg_1", at: datetime = NOW) -> dict[str, str]:
    """The headers of Standard Webhooks."""
    stamp = str(int(at.timestamp()))
    signed = hmac.new(b64decode(secret.removeprefix("whsec_")), f"{name}.{stamp}.".encode() + body, hashlib.sha256)
    signature = "v1," + b64encode(signed.digest()).decode()
    return {
        "Content-Type": "application/json",
        "webhook-id": name,
        "webhook-timestamp": stamp,
        "webhook-signature": signature,
    }


def bearer(body: bytes, secret: str = SECRET, **more: str) -> dict[str, str]:
    """The headers of whoever has a token."""
    return {"Content-Type": "application/json", "Authorization": f"Bearer {secret}", **more}
