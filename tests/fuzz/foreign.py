"""What others write or answer, read by those who take it in: each takes it, or raises the one error it says."""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

from events.backoff import Backoff
from events.errors import Denied, Fault
from events.kube.client import Kube, Request, Resource, Response
from events.kube.discovery import find, served
from events.kube.kubeconfig import chosen_context, confined
from events.kube.limits import FOUNDED
from events.kube.resources import CONFIGMAPS
from events.kube.watch import Watch
from schemas.crds.manifests import objects
from services.clouds.template_matching import TemplateChoice
from services.market.catalog_parser import ENDINGS, parse


def kubeconfigs(data: bytes) -> None:
    """A Secret opens a cluster, nothing yet, or is denied."""
    secret = {"data": {"value": base64.b64encode(data).decode()}}
    with suppress(Denied):
        choice = chosen_context(secret, "it")
        assert choice is None or confined(choice, frozenset()).cluster["server"].startswith("http")


def catalogs(data: bytes) -> None:
    """A catalog has offers, or says in lines why it has none."""
    for ending in ENDINGS:
        catalog = parse("aws", data, ending)
        assert catalog.offers or catalog.damaged
        assert not any(line.count("\n") for line in (catalog.damaged, *catalog.refused) if ending != ".csv")


def manifests(data: bytes) -> None:
    """An add-on's objects can each be asked for by a path, or all are refused."""
    try:
        found = objects(data.decode("utf-8", "replace"))
    except ValueError:
        return
    for each in found:
        group, _, version = each["apiVersion"].rpartition("/")
        Resource(group, version, "things", each["kind"]).path(
            each["metadata"].get("namespace"), each["metadata"]["name"]
        )


def credentials(data: bytes) -> None:
    """What a Credential says beside is a mapping, or denied."""
    meta = {"name": "c", "annotations": {"alate.dev/config": data.decode("utf-8", "replace")}}
    with suppress(Denied):
        assert isinstance(TemplateChoice({}, {"metadata": meta, "spec": {}}).needed, dict)


class Says:
    """An API server with one answer to all."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def send(self, request: Request) -> Response:
        return Response(200, {}, self._body)

    async def stream(self, request: Request) -> AsyncIterator[bytes | Response]:
        yield self._body

    async def close(self) -> None:
        """Nothing is held."""


def answers(data: bytes) -> None:
    """Whatever an API server answers is what was asked for, or a fault."""
    asyncio.run(_asked(Kube(Says(data), random=lambda: 0.5, bounds=FOUNDED)))


async def _asked(kube: Kube) -> None:
    asks: tuple[Callable[[], Awaitable[object]], ...] = (
        lambda: kube.list(CONFIGMAPS, "a"),
        lambda: kube.get(CONFIGMAPS, "a", "a"),
        lambda: kube.read("/version"),
        lambda: find(kube, "demo.io/v1", "Widget"),
        lambda: served(kube, "list"),
    )
    for ask in asks:
        with suppress(Fault):
            await ask()


def events(data: bytes) -> None:
    """A line of a watch is a change, a bookmark, or a fault."""
    watch = Watch(Says(b""), _never, Request("GET", "/x"), Backoff(lambda: 0.5))
    with suppress(Fault):
        change = watch._read(data)
        assert change is None or isinstance(change.object["metadata"]["name"], str)


async def _never() -> None:
    raise NotImplementedError
