"""Counts what is left over: objects of the API, machines ever bought, timers."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from events.bus import Bus
from events.kube import discovery
from events.kube.auth import TRUSTED, transport_of
from events.kube.client import Kube, Object, Request
from events.kube.resources import CAPI, CLUSTERDEPLOYMENTS, COLONIES, CONFIGMAPS, SECRETS
from events.streams import standing
from schemas.registry import Stream

MUST_NAME = (COLONIES, CLUSTERDEPLOYMENTS, *CAPI, SECRETS)
"""Kinds that are named in the answer even if there never was any."""
BILL = "sandbox.alate.dev/bill"
"""Label of the ConfigMaps in which the simulated clouds write down each machine they sell."""
LEVELS = ("observed.>", "inventory.nodes.>", "inventory.cluster.>")
"""What is seen of clusters; of one that is gone, nothing is."""
NOT_COUNTED = frozenset({"events", "leases"})
"""What Kubernetes itself forgets after a while."""

Objects = frozenset[tuple[str, str]]
"""Plural, and namespace/name."""


async def objects(kube: Kube) -> Objects:
    """Every object of every kind that can be listed, except the clouds' own books."""
    found: set[tuple[str, str]] = set()
    for resource in await discovery.served(kube, "list"):
        if resource.plural in NOT_COUNTED:
            continue
        listed = await kube.list(resource)
        found |= {(resource.plural, _path(item)) for item in listed.items if not _is_bill(item)}
    return frozenset(found)


def counted(before: Objects, after: Objects) -> dict[str, int]:
    """How many objects there are that were not there before, by plural."""
    more = Counter(plural for plural, _ in after - before)
    return {each.plural: more.pop(each.plural, 0) for each in MUST_NAME} | dict(sorted(more.items()))


async def bills(kube: Kube) -> tuple[Object, ...]:
    """The clouds' books of machines, one ConfigMap per cluster."""
    return (await kube.list(CONFIGMAPS, labels=BILL)).items


def running(books: Iterable[Object]) -> int:
    """Machines that were bought and never released."""
    return sum(len(_of(book, ".start") - _of(book, ".end")) for book in books)  # some end before they began


def made(books: Iterable[Object]) -> Mapping[str, list[str]]:
    """The instance type of every machine ever bought, by ``<namespace>/<name>`` of its cluster."""
    found: dict[str, list[str]] = {}
    for book in books:
        cluster = book["metadata"]["annotations"][BILL]
        lines = [msgspec.json.decode(text) for key, text in _data(book).items() if key.endswith(".start")]
        found.setdefault(cluster, []).extend(line["instance"] for line in lines)
    return found


async def served(kubeconfig: Path, clusters: Iterable[str]) -> int:
    """How many of the workload clusters (``<namespace>/<name>``) still have an API."""
    return sum([await _is_served(kubeconfig, cluster.replace("/", ".")) for cluster in clusters])


async def on_the_bus(bus: Bus) -> dict[str, int]:
    """Timers that are still set, and what is still seen of clusters."""
    timers = await bus.count(Stream.EVENTS, "timer.>")
    seen = [standing(await bus.read(Stream.LEVELS, each)) for each in LEVELS]
    return {"timers": timers, "levels": sum(map(len, seen))}


async def _is_served(kubeconfig: Path, cluster: str) -> bool:
    text = kubeconfig.read_text().replace("/clusters/management", f"/clusters/{cluster}")  # noqa: ASYNC240 - a small file
    server = await transport_of(text, allowed=TRUSTED)
    try:
        # A cluster that is there answers, if only with 401: the token is another's.
        return (await server.send(Request("GET", "/version"))).status != 404
    finally:
        await server.close()


def _path(item: Object) -> str:
    return f"{item['metadata'].get('namespace', '')}/{item['metadata']['name']}"


def _is_bill(item: Object) -> bool:
    return BILL in (item["metadata"].get("labels") or {})


def _data(book: Object) -> dict[str, str]:
    return book.get("data") or {}


def _of(book: Object, ending: str) -> set[str]:
    return {key.removesuffix(ending) for key in _data(book) if key.endswith(ending)}
