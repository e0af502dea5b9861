"""Receives a webhook: checks endpoint and form, verifies, stores, and then answers 202."""

import re
from datetime import datetime
from email.message import Message as Parameters
from functools import lru_cache

import msgspec
import structlog
from aiohttp import web

from events.backoff import Bucket, Rate, take
from events.cloudevents import CloudEvent
from events.meters import HOOKS
from events.streams import HOOK
from events.telemetry import extract, working_on
from schemas.crds import InvalidResource
from schemas.subjects import Key
from services.edge.http.problem import Problem, not_now, wrong
from services.edge.http.server import HttpRoute, body_of, headers_of
from services.edge.triggers.delivery import WebhookDelivery
from services.edge.triggers.evaluator_pool import Evaluator
from services.edge.triggers.fair_share import ShareExhausted
from services.edge.webhooks.direct import is_request
from services.edge.webhooks.inbox import PATIENCE, message, store
from services.edge.webhooks.providers import PROVIDERS
from services.edge.webhooks.providers.provider import Provider
from services.edge.webhooks.request import WebhookRequest
from services.edge.webhooks.secrets import WebhookEndpoint, WebhookSecrets
from services.expressions.budget import SECONDS
from services.expressions.processes import EvaluatorEnded, TooCostly
from services.runtime.context import Context

PATH = "/hooks/{provider:[a-z]+}/{tenant:[a-z0-9-]{1,63}}/{name:[a-z0-9-]{1,63}}"
"""The route of an endpoint; no part can contain a dot or a slash, since together they name a file."""
ORIGIN = re.compile(r"[A-Za-z0-9.:-]{1,253}")
UTF8 = frozenset({"utf-8", "utf8", "us-ascii"})

log = structlog.get_logger()


class WebhookReceiver:
    """The routes below ``/hooks``."""

    def __init__(self, context: Context, secrets: WebhookSecrets, rate: Rate, evaluators: Evaluator) -> None:
        self._bus = context.bus
        self._secrets = secrets
        self._rate = rate
        self._evaluators = evaluators
        self._clock = context.clock
        self._meters = context.meters
        self._buckets: dict[WebhookEndpoint, Bucket] = {}

    def routes(self) -> tuple[HttpRoute, ...]:
        """The routes for the HTTP server."""
        return (HttpRoute("POST", PATH, self.take), HttpRoute("OPTIONS", PATH, self.greet))

    async def greet(self, request: web.Request) -> web.StreamResponse:
        """Answer the handshake of a sender of CloudEvents with the rate that it may use (http-webhook.md, 4).

        Raises Problem.
        """
        provider, endpoint = _addressed(request)
        if not provider.handshake:
            raise Problem(405, f"{provider.name} knows no handshake: send by POST", headers={"Allow": "POST"})
        self._good(endpoint)
        origin = request.headers.get("WebHook-Request-Origin", "")
        if not ORIGIN.fullmatch(origin):
            raise Problem(400, "WebHook-Request-Origin must be a DNS name", "WebHook-Request-Origin")
        rate = str(max(1, int(60 * self._rate.per_second)))
        told = {"WebHook-Allowed-Origin": origin, "WebHook-Allowed-Rate": rate, "Allow": "POST"}
        return web.Response(status=200, headers=told)

    async def take(self, request: web.Request) -> web.StreamResponse:
        """Receive a delivery. Raises Problem."""
        provider, endpoint = _addressed(request)
        try:
            name = await self._take(provider, endpoint, request)
        except Problem as problem:
            self._meters.count(HOOKS, f"{provider.name}.{problem.status}")
            log.info("hook.refused", endpoint=endpoint.path, status=problem.status, reason=problem.detail)
            raise
        self._meters.count(HOOKS, f"{provider.name}.202")
        return web.Response(status=202, body=msgspec.json.encode({"id": name}), content_type="application/json")

    async def _take(self, provider: Provider, endpoint: WebhookEndpoint, request: web.Request) -> str:
        secrets = self._good(endpoint)
        headers = headers_of(request)
        check_media(provider, headers.get("content-type", ""))
        said = WebhookRequest(await body_of(request), headers, secrets, self._clock(), endpoint.path)
        provider.verify(said)
        self._limit(endpoint, said.now)
        event = provider.event(said)
        await self._check(event, endpoint)
        with working_on(Key("hook", endpoint.tenant, endpoint.name), extract(headers), HOOK):
            await store(self._bus, message(endpoint, said, event), self._meters)
            log.debug("hook.kept", provider=provider.name, type=event.type, id=event.id)
        return event.id

    def _good(self, endpoint: WebhookEndpoint) -> tuple[bytes, ...]:
        if not (secrets := self._secrets.of(endpoint)):
            raise Problem(404, f"no endpoint {endpoint.path}: it is made by giving it a secret")
        return secrets

    async def _check(self, event: CloudEvent, endpoint: WebhookEndpoint) -> None:
        """Raises Problem 422 for an invalid request for clusters, 429, 503."""
        if not is_request(event, endpoint):
            return
        try:
            await self._evaluators.check(WebhookDelivery(event, endpoint, 0))
        except InvalidResource as why:
            raise wrong(str(why), "data") from why
        except TooCostly as why:
            raise wrong(f"it takes more than {SECONDS:g} s of a processor to read: ask for less", "data") from why
        except ShareExhausted as why:
            raise not_now(429, str(why), why.after) from why
        except EvaluatorEnded as why:
            raise not_now(503, f"{why}: send it again", PATIENCE) from why

    def _limit(self, endpoint: WebhookEndpoint, now: datetime) -> None:
        """Count a verified delivery; others do not count, so that a stranger cannot use up the sender's rate.

        Raises Problem 429.
        """
        self._buckets[endpoint], early = take(self._buckets.get(endpoint), self._rate, now)
        if early:
            raise not_now(429, f"{endpoint.path} takes {self._rate.per_second:g} deliveries a second", early)


def _addressed(request: web.Request) -> tuple[Provider, WebhookEndpoint]:
    named = request.match_info
    provider = PROVIDERS.get(named["provider"])
    if provider is None:
        raise Problem(404, f"no such provider: there are {', '.join(sorted(PROVIDERS))}")
    return provider, WebhookEndpoint(provider.name, named["tenant"], named["name"])


def check_media(provider: Provider, content_type: str) -> None:
    """Raises Problem 415 for a content type the provider does not send, or another charset than UTF-8."""
    media, charset = _parsed(content_type)
    if provider.media and (not content_type or media not in provider.media):
        expected = " or ".join(sorted(provider.media))
        raise Problem(
            415, f"Content-Type must be {expected}", "Content-Type", {"Accept": ", ".join(sorted(provider.media))}
        )
    if charset not in UTF8:
        raise Problem(415, "the charset of Content-Type must be utf-8", "Content-Type")


@lru_cache(maxsize=256)
def _parsed(content_type: str) -> tuple[str, str]:
    """Media type and charset in lower case; cached, as senders repeat them."""
    parsed = Parameters()
    parsed["content-type"] = content_type
    return parsed.get_content_type(), parsed.get_content_charset("utf-8")
