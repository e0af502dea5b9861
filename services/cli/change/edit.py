"""Changes of a running cluster: each is written into its Colony, and can be waited for."""

import asyncio
import re
from collections.abc import Callable
from contextlib import aclosing, suppress
from datetime import datetime
from typing import NamedTuple

from events.errors import NotFound, TryLater
from events.kube.client import Kube, Object
from events.kube.resources import COLONIES
from schemas import durations
from services.cli.connection import Connection
from services.cli.get.labels import in_namespace
from services.cli.wait import Outcome, Progress, current, follow, limited
from services.clients.colonies import apply_edit
from services.colony.edits import (
    NoSuchPool,
    Patch,
    WrongPhase,
    extending,
    hibernating,
    recreating,
    scaling,
    upgrading,
)
from services.errors import BadInput, Failed

VERSION = re.compile(r"v1\.[0-9]+\.[0-9]+")
"""As a Colony takes it."""
ANSWERED = 2.0
"""Seconds within which a running stack refuses a change: that is reported without ``--wait``, too."""
POLL = 0.1
"""Seconds between two reads for that."""


class ClusterChange(NamedTuple):
    """One change of one cluster."""

    namespace: str
    colony: str
    cluster: str
    summary: str
    """For people: what happens to the cluster."""
    patch: Callable[[Object], Patch]
    """Of the Colony; empty: it is as asked. Raises NoSuchPool, Untimely."""
    reached: Callable[[Object], bool]
    """Whether a cluster's status shows it."""

    @property
    def name(self) -> str:
        """As people write it."""
        return f"{self.colony}/{self.cluster}"


def scale(namespace: str, target: str, words: list[str]) -> ClusterChange:
    """Other numbers of nodes. Raises BadInput."""
    colony, cluster = _names(target)
    nodes = dict(_size(each) for each in words)
    summary = f"is scaled to {', '.join(f'{pool}={number}' for pool, number in nodes.items())}"
    return ClusterChange(namespace, colony, cluster, summary, lambda seen: scaling(seen, cluster, nodes), _ready)


def hibernate(namespace: str, target: str) -> ClusterChange:
    """No machines. Raises BadInput."""
    return _turned(namespace, target, "hibernates", _hibernated, asleep=True)


def wake(namespace: str, target: str) -> ClusterChange:
    """The machines it had. Raises BadInput."""
    return _turned(namespace, target, "wakes", _ready, asleep=False)


def upgrade(namespace: str, target: str, version: str) -> ClusterChange:
    """A later version of Kubernetes. Raises BadInput."""
    colony, cluster = _names(target)
    if not VERSION.fullmatch(version):
        raise BadInput(f"{version} is no version of Kubernetes: write v1.MINOR.PATCH, such as v1.35.1")

    def reached(shown: Object) -> bool:
        return bool(shown.get("kubernetesVersion") == version)

    return ClusterChange(
        namespace, colony, cluster, f"is upgraded to Kubernetes {version}",
        lambda seen: upgrading(seen, cluster, version), reached,
    )  # fmt: skip


def extend(namespace: str, target: str, life: str) -> ClusterChange:
    """A longer time to live. Raises BadInput."""
    colony, cluster = _names(target)
    try:
        span = durations.parse(life)
    except ValueError as wrong:
        raise BadInput(f"{life} is no time to live: {wrong}") from wrong
    summary = f"lives at least {durations.write(span)}, counted from when it was first ready"
    return ClusterChange(namespace, colony, cluster, summary, lambda seen: extending(seen, cluster, span), _unwarned)


def recreate(namespace: str, target: str, now: datetime) -> ClusterChange:
    """A cluster that has ended, created again. Raises BadInput."""
    colony, cluster = _names(target)
    return ClusterChange(
        namespace, colony, cluster, "is created again", lambda seen: recreating(seen, cluster, now), _ready
    )


def _turned(
    namespace: str, target: str, summary: str, reached: Callable[[Object], bool], *, asleep: bool
) -> ClusterChange:
    colony, cluster = _names(target)
    return ClusterChange(
        namespace, colony, cluster, summary, lambda seen: hibernating(seen, cluster, hibernate=asleep), reached
    )


def _names(target: str) -> tuple[str, str]:
    colony, _, cluster = target.partition("/")
    if not colony or not cluster:
        raise BadInput(f"{target} names no cluster: write COLONY/CLUSTER, such as train/main")
    return colony, cluster


def _size(text: str) -> tuple[str, int]:
    pool, _, nodes = text.partition("=")
    if not pool or not nodes.isdecimal() or int(nodes) < 1:
        raise BadInput(f"{text} is no size: write POOL=NODES with at least one node, such as gpu=3")
    return pool, int(nodes)


async def change(connection: Connection, asked: ClusterChange, outcome: Outcome) -> None:
    """Make a change. Raises BadInput, TimedOut; Failed if the Colony is missing, or refuses it, or its cluster ends."""
    shown = outcome.begin()
    async with connection.kube() as kube:
        colony, did = await _patched(kube, asked)
        shown.say(f"{asked.name} {did}{in_namespace(asked.namespace)}")
        if outcome.wait:
            async with limited(shown, outcome.limit, f"{asked.name} is not as asked"):
                colony = await _until(kube, colony, asked, shown)
        else:
            colony = await _answered(kube, colony, asked)
    outcome.end([asked.name], colony)


async def _patched(kube: Kube, asked: ClusterChange) -> tuple[Object, str]:
    """The Colony as it is now, and for people what was done to the cluster."""
    name, namespace = asked.colony, asked.namespace
    try:
        colony, changed = await apply_edit(kube, namespace, name, asked.patch)
    except WrongPhase as late:
        raise Failed(str(late)) from late
    except NoSuchPool as wrong:
        raise BadInput(str(wrong)) from wrong
    except NotFound as absent:
        raise Failed(f"there is no Colony {name} in namespace {namespace}: see `alate get colonies`") from absent
    return colony, asked.summary if changed else "is as asked already"


async def _answered(kube: Kube, colony: Object, asked: ClusterChange) -> Object:
    """The Colony once the gateway has answered, or as it is after `ANSWERED`. Raises Failed if it is refused.

    It is read, not watched: who may write a Colony may not be allowed to watch them all.
    """
    generation = colony["metadata"].get("generation", 0)
    with suppress(TimeoutError, TryLater, NotFound):
        async with asyncio.timeout(ANSWERED):
            while not _answers(colony, asked.cluster, generation):
                await asyncio.sleep(POLL)
                colony = await kube.get(COLONIES, asked.colony, asked.namespace)
    _refuse(colony, f"{asked.cluster}: ")
    return colony


def _answers(colony: Object, cluster: str, generation: int) -> bool:
    """Whether a cluster's status is of the Colony as it was written then, or later."""
    shown = _shown(colony, cluster).get("conditions", ()) if current(colony) else ()
    return bool(shown) and all(each.get("observedGeneration", 0) >= generation for each in shown)


def _refuse(colony: Object, about: str = "") -> None:
    """Raises Failed if the Colony is refused as it is written: all of it, or something that the reason is about."""
    conditions = {one["type"]: one for one in current(colony).get("conditions", ())}
    accepted: Object = conditions.get("Accepted", {})
    if accepted.get("status") == "False" and (accepted["reason"] == "Invalid" or about in accepted["message"]):
        raise Failed(f"colony/{colony['metadata']['name']} is refused: {accepted['message']}")


async def _until(kube: Kube, colony: Object, asked: ClusterChange, progress: Progress) -> Object:
    """The Colony once the cluster is as asked, and no change of it is under way."""
    meta = colony["metadata"]
    async with aclosing(follow(kube, meta["name"], meta["namespace"], progress)) as sights:
        async for seen in sights:
            _refuse(seen)
            conditions = {one["type"]: one for one in current(seen).get("conditions", ())}
            shown = _shown(seen, asked.cluster)
            if conditions and shown.get("phase") == "Released":
                raise Failed(f"{asked.name} is Released: {shown.get('message', '')}")
            if conditions.get("Resizing", {}).get("status") == "False" and asked.reached(shown):
                return seen
    raise Failed(f"colony/{meta['name']} was deleted while it was waited for")


def _shown(colony: Object, cluster: str) -> Object:
    return next((each for each in colony["status"].get("clusters", ()) if each["name"] == cluster), {})


def _ready(shown: Object) -> bool:
    return bool(shown.get("phase") == "Ready" and shown.get("nodesReady") == shown.get("nodesWanted"))


def _unwarned(shown: Object) -> bool:
    """No warning announces an earlier end."""
    end = shown.get("teardown", {})
    warned = (end.get("phase"), end.get("reason")) == ("Warned", "TimeToLive")
    return not warned or end.get("at") == shown.get("expiresAt")


def _hibernated(shown: Object) -> bool:
    """It has no machines."""
    return shown.get("phase") in ("Hibernated", "Requested") and not shown.get("nodesReady")
