"""What a person changes of a running cluster is written into its Colony, and can be waited for."""

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
from services.cli.connection import Where
from services.cli.output.render import Write, dumped
from services.cli.request.submit import current, told
from services.colony.edits import (
    MANAGER,
    NoSuchPool,
    Patch,
    Untimely,
    again,
    extending,
    hibernating,
    scaling,
    upgrading,
)
from services.errors import BadInput, Failed

Say = Callable[[str], object]
VERSION = re.compile(r"v1\.[0-9]+\.[0-9]+")
"""As a Colony takes it."""
ANSWERED = 2.0
"""Seconds within which a stack at work says that a change cannot be: whoever does not wait hears that all the same."""
LOOK_AGAIN = 0.1
"""Seconds between two looks for that."""


class Change(NamedTuple):
    """What a person asks for."""

    namespace: str
    colony: str
    cluster: str
    said: str
    """The same, for people: what the cluster shall do."""
    patch: Callable[[Object], Patch]
    """Of the Colony; empty: it is as asked. Raises NoSuchPool, Untimely."""
    reached: Callable[[Object], bool]
    """Whether a cluster's status shows it."""


def sizes(namespace: str, target: str, words: list[str]) -> Change:
    """Other numbers of nodes. Raises BadInput."""
    colony, cluster = _names(target)
    nodes = dict(_size(each) for each in words)
    said = f"shall have {', '.join(f'{pool}={number}' for pool, number in nodes.items())}"
    return Change(namespace, colony, cluster, said, lambda seen: scaling(seen, cluster, nodes), _ready)


def sleep(namespace: str, target: str) -> Change:
    """No machines. Raises BadInput."""
    return _turned(namespace, target, "shall hibernate", _asleep, hibernate=True)


def wake(namespace: str, target: str) -> Change:
    """The machines it had. Raises BadInput."""
    return _turned(namespace, target, "shall wake", _ready, hibernate=False)


def risen(namespace: str, target: str, version: str) -> Change:
    """A later version of Kubernetes. Raises BadInput."""
    colony, cluster = _names(target)
    if not VERSION.fullmatch(version):
        raise BadInput(f"{version} is no version of Kubernetes: write v1.MINOR.PATCH, such as v1.35.1")

    def reached(shown: Object) -> bool:
        return bool(shown.get("kubernetesVersion") == version)

    return Change(
        namespace, colony, cluster, f"shall run Kubernetes {version}",
        lambda seen: upgrading(seen, cluster, version), reached,
    )  # fmt: skip


def longer(namespace: str, target: str, life: str) -> Change:
    """A longer time to live. Raises BadInput."""
    colony, cluster = _names(target)
    try:
        span = durations.parse(life)
    except ValueError as wrong:
        raise BadInput(f"{life} is no time to live: {wrong}") from wrong
    said = f"shall live at least {durations.write(span)}, counted from when it was first ready"
    return Change(namespace, colony, cluster, said, lambda seen: extending(seen, cluster, span), _unwarned)


def once_more(namespace: str, target: str, now: datetime) -> Change:
    """The cluster again, whose own end has come. Raises BadInput."""
    colony, cluster = _names(target)
    return Change(namespace, colony, cluster, "is asked for again", lambda seen: again(seen, cluster, now), _ready)


def _turned(namespace: str, target: str, said: str, reached: Callable[[Object], bool], *, hibernate: bool) -> Change:
    colony, cluster = _names(target)
    return Change(
        namespace, colony, cluster, said, lambda seen: hibernating(seen, cluster, hibernate=hibernate), reached
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


async def change(where: Where, asked: Change, *, wait: bool, as_json: bool, write: Write) -> None:
    """Ask for it. Raises BadInput, Failed if there is no such Colony, or it is refused, or over while waited for."""
    tell: Say = (lambda _: None) if as_json else (lambda line: write(f"{line}\n"))
    async with where.kube() as kube:
        colony = await _patched(kube, asked)
        tell(f"colony/{asked.colony}: {asked.cluster} {asked.said}")
        colony = await (_until(kube, colony, asked, tell) if wait else _heard(kube, colony, asked))
    if as_json:
        write(dumped(colony))


async def _patched(kube: Kube, asked: Change) -> Object:
    name, namespace = asked.colony, asked.namespace
    try:
        colony = await kube.get(COLONIES, name, namespace)
        patch = asked.patch(colony)
        return await kube.patch(COLONIES, name, namespace, patch, kind="json", manager=MANAGER) if patch else colony
    except Untimely as late:
        raise Failed(str(late)) from late
    except NoSuchPool as wrong:
        raise BadInput(str(wrong)) from wrong
    except NotFound as absent:
        raise Failed(f"there is no Colony {name} in namespace {namespace}: see `alate get colonies`") from absent


async def _heard(kube: Kube, colony: Object, asked: Change) -> Object:
    """The Colony once its owners have answered, or as it is if they do not do so soon. Raises Failed if it cannot be.

    It is read, not watched: who may write a Colony may not be allowed to watch them all.
    """
    generation = colony["metadata"].get("generation", 0)
    with suppress(TimeoutError, TryLater, NotFound):
        async with asyncio.timeout(ANSWERED):
            while not _answers(colony, asked.cluster, generation):
                await asyncio.sleep(LOOK_AGAIN)
                colony = await kube.get(COLONIES, asked.colony, asked.namespace)
    _refuse(colony, f"{asked.cluster}: ")
    return colony


def _answers(colony: Object, cluster: str, generation: int) -> bool:
    """Whether what a cluster shows is of the Colony as it was written then, or later."""
    shown = _shown(colony, cluster).get("conditions", ()) if current(colony) else ()
    return bool(shown) and all(each.get("observedGeneration", 0) >= generation for each in shown)


def _refuse(colony: Object, about: str = "") -> None:
    """Raises Failed if what is asked now cannot be: all of it, or something that its complaint is about."""
    conditions = {one["type"]: one for one in current(colony).get("conditions", ())}
    accepted: Object = conditions.get("Accepted", {})
    if accepted.get("status") == "False" and (accepted["reason"] == "Invalid" or about in accepted["message"]):
        raise Failed(f"colony/{colony['metadata']['name']} is not as asked: {accepted['message']}")


async def _until(kube: Kube, colony: Object, asked: Change, tell: Say) -> Object:
    """The Colony once the cluster is as asked, and nothing is on its way any more."""
    meta = colony["metadata"]
    async with aclosing(told(kube, meta["name"], meta["namespace"], tell)) as sights:
        async for seen in sights:
            _refuse(seen)
            conditions = {one["type"]: one for one in current(seen).get("conditions", ())}
            shown = _shown(seen, asked.cluster)
            if conditions and shown.get("phase") == "Released":
                raise Failed(f"colony/{meta['name']}: {asked.cluster} is Released: {shown.get('message', '')}")
            if conditions.get("Resizing", {}).get("status") == "False" and asked.reached(shown):
                return seen
    raise Failed(f"colony/{meta['name']} was deleted while it was waited for")


def _shown(colony: Object, cluster: str) -> Object:
    return next((each for each in colony["status"].get("clusters", ()) if each["name"] == cluster), {})


def _ready(shown: Object) -> bool:
    return bool(shown.get("phase") == "Ready" and shown.get("nodesReady") == shown.get("nodesWanted"))


def _unwarned(shown: Object) -> bool:
    """No warning tells an older end."""
    end = shown.get("teardown", {})
    warned = (end.get("phase"), end.get("reason")) == ("Warned", "TimeToLive")
    return not warned or end.get("at") == shown.get("expiresAt")


def _asleep(shown: Object) -> bool:
    """Its machines are gone, or it never had any."""
    return shown.get("phase") in ("Hibernated", "Requested") and not shown.get("nodesReady")
