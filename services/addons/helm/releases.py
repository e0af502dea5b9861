"""Keeps Helm releases as they are wanted: installs, upgrades, recovers, uninstalls, and says what they consist of."""

import asyncio
import hashlib
import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakValueDictionary

from events.errors import Denied, NotFound, TryLater
from events.kube.client import Kube, Object
from events.kube.discovery import find, kinds
from events.kube.kubeconfig import Chosen, chosen, merged_yaml, parsed, reduced, sealed
from events.kube.resources import NAMESPACES, SECRETS
from services.addons.helm import history
from services.addons.helm.history import ReleaseRevision, Step
from services.addons.helm.leftovers import SETTLE, delete_left, is_aggregated
from services.addons.helm.pool import SPARE, HelmWorkers
from services.addons.helm.protocol import AGAIN, Operation, WorkerReply, WorkerRequest
from services.addons.helm.revision_cache import RevisionCache

STEPS = 4
"""At most: uninstall what was ended in the middle, install, and look twice."""
DIGEST = 40
"""Characters of a digest that fit well into a label."""


@dataclass(frozen=True, kw_only=True)
class ReleaseRef:
    """A release in a cluster."""

    kubeconfig: str = field(repr=False)
    """YAML that opens the cluster, from its Secret."""
    release: str
    namespace: str
    as_user: str = ""
    """The user whose rights count (`events.kube.impersonation.account_user`); empty: that of the kubeconfig."""
    timeout_seconds: float = 300.0
    """How long hooks may take."""
    skip_hooks: bool = False


@dataclass(frozen=True, kw_only=True)
class HelmRelease(ReleaseRef):
    """A release as it is wanted."""

    chart: Path
    """Folder or archive of the chart, with its dependencies."""
    digest: str
    """Of the chart's content."""
    values: dict[str, Any] = field(default_factory=dict, repr=False)
    max_history: int = 2
    roll_back: bool = False
    """Wait until the objects are ready, and go back to what worked before if they are not."""
    skip_crds: bool = False

    @property
    def labels(self) -> dict[str, str]:
        """Digests of all that a revision depends on."""
        given = {"values": self.values, "skipHooks": self.skip_hooks}
        text = json.dumps(given, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        values = hashlib.sha256(text.encode()).hexdigest()
        return {history.CHART: self.digest[:DIGEST], history.VALUES: values[:DIGEST]}


@dataclass(frozen=True)
class InstalledRelease:
    """A release as it is."""

    revision: int
    status: str
    changed: bool
    """Whether this call wrote anything."""
    objects: list[Object]
    """What it consists of, as Helm applied it: with namespaces, and Helm's label and annotations."""
    hooks: list[Object] = field(default_factory=list)


@dataclass(frozen=True)
class RenderedChart:
    """What a chart gives on a cluster."""

    objects: list[Object]
    hooks: list[Object]
    crds: list[Object]
    """Helm creates these once, before the objects, and never changes nor deletes them."""


class Helm(Protocol):
    """Releases of Helm.

    `kube` opens the same cluster as the kubeconfig, in the name of the same user: all is read through it, and a worker
    is started to write, and once for what a revision consists of. Every call raises Denied for what waits for a
    change, TryLater, MissingPrerequisite.
    """

    async def ensure(self, kube: Kube, wanted: HelmRelease) -> InstalledRelease:
        """Install or upgrade a release; nothing is written if it is as wanted."""
        ...

    async def is_current(self, kube: Kube, wanted: HelmRelease) -> bool:
        """Whether `ensure` would write nothing; no process is started for that."""
        ...

    async def status(self, kube: Kube, about: ReleaseRef) -> InstalledRelease:
        """The release as it is. Raises NotFound."""
        ...

    async def render(self, kube: Kube, wanted: HelmRelease) -> RenderedChart:
        """What `ensure` would apply, with the cluster's version, kinds and objects in the templates."""
        ...

    async def uninstall(self, kube: Kube, about: ReleaseRef) -> bool:
        """Uninstall a release, if it is there, and delete what its hooks left; returns whether it was there."""
        ...


class HelmReleases:
    """`Helm` by worker processes, one operation on a release at a time."""

    def __init__(self, workers: HelmWorkers, clock: Callable[[], float] = time.time) -> None:
        """`clock` gives seconds since the epoch."""
        self._workers = workers
        self._clock = clock
        self._cache = RevisionCache()
        self._locks: WeakValueDictionary[tuple[str, str, str], asyncio.Lock] = WeakValueDictionary()

    async def ensure(self, kube: Kube, wanted: HelmRelease) -> InstalledRelease:
        """See `Helm`."""
        _check_values(wanted)
        async with self._lock(wanted):
            for _ in range(STEPS):
                there = await _history(kube, wanted)
                step = history.next_step(there, wanted.labels, self._clock(), wanted.timeout_seconds)
                if step is Step.NOTHING:
                    return await self._read(kube, wanted, there)
                if step in (Step.INSTALL, Step.UPGRADE):
                    return await self._apply(kube, wanted, step, there)
                await self._recover(wanted, step, there)
        raise TryLater(f"the release {wanted.release} was changed by others meanwhile", AGAIN)

    async def is_current(self, kube: Kube, wanted: HelmRelease) -> bool:
        """See `Helm`."""
        return history.is_current(await _history(kube, wanted), wanted.labels)

    async def status(self, kube: Kube, about: ReleaseRef) -> InstalledRelease:
        """See `Helm`."""
        if not (there := await _history(kube, about)):
            raise NotFound(f"there is no release {about.release} in the namespace {about.namespace}")
        return await self._read(kube, about, there)

    async def render(self, kube: Kube, wanted: HelmRelease) -> RenderedChart:
        """See `Helm`."""
        _check_values(wanted)
        there, versions = await _history(kube, wanted), await _api_versions(kube)
        newest = there[-1].number if there else 0
        version = (await kube.read("/version")).get("gitVersion", "")
        reply = await self._run("render", wanted, revision=newest, kube_version=version, api_versions=versions)
        return RenderedChart(await _placed(kube, reply.objects, wanted), reply.hooks, reply.crds)

    async def uninstall(self, kube: Kube, about: ReleaseRef) -> bool:
        """See `Helm`."""
        async with self._lock(about):
            if not await _history(kube, about):
                return False
            gone = await self._run("uninstall", about)
            await delete_left(kube, gone.hooks, about.namespace)
            if aggregated := [each for each in gone.objects if is_aggregated(each)]:
                await asyncio.sleep(SETTLE)
                await delete_left(kube, aggregated, about.namespace)
        return True

    async def _read(self, kube: Kube, about: ReleaseRef, there: tuple[ReleaseRevision, ...]) -> InstalledRelease:
        """The release as it is; its newest revision is read by a worker once, and again if its Secret is written."""
        key, version = (*_key(about), about.as_user), there[-1].version
        reply = self._cache.find(key, version)
        if reply is None:
            reply = await self._run("read", about)
            if reply.revision == there[-1].number:
                self._cache.keep(key, version, reply)
        return await _installed(kube, about, reply, changed=False)

    async def _apply(
        self, kube: Kube, wanted: HelmRelease, step: Step, there: tuple[ReleaseRevision, ...]
    ) -> InstalledRelease:
        labels = history.next_labels(there, wanted.labels)
        if step is Step.INSTALL:
            create = not await _has_namespace(kube, wanted.namespace)
            reply = await self._run("install", wanted, labels=labels, create_namespace=create)
        else:
            reply = await self._run("upgrade", wanted, labels=labels)
        return await _installed(kube, wanted, reply, changed=True)

    async def _recover(self, wanted: HelmRelease, step: Step, there: tuple[ReleaseRevision, ...]) -> None:
        if step is Step.WAIT:
            raise TryLater(f"others are changing the release {wanted.release}: {there[-1].status}", AGAIN)
        if step is Step.ROLL_BACK:
            await self._run("rollback", wanted, revision=history.working(there))
        else:
            await self._run("uninstall", wanted)

    async def _run(self, operation: Operation, about: ReleaseRef, **more: Any) -> WorkerReply:  # noqa: ANN401 - fields of the request
        choice = _chosen(about.kubeconfig)
        request = WorkerRequest(
            operation=operation,
            kubeconfig=merged_yaml({"cluster": reduced(choice)}),
            as_user=about.as_user,
            release=about.release,
            namespace=about.namespace,
            timeout_seconds=math.ceil(about.timeout_seconds),
            skip_hooks=about.skip_hooks,
            **(_of_chart(about) if isinstance(about, HelmRelease) else {}),
            **more,
        )
        seconds = about.timeout_seconds * (2 if request.roll_back else 1) + SPARE
        return await self._workers.run(request, str(choice.cluster["server"]), seconds)

    def _lock(self, about: ReleaseRef) -> asyncio.Lock:
        return self._locks.setdefault(_key(about), asyncio.Lock())


def _key(about: ReleaseRef) -> tuple[str, str, str]:
    return str(_chosen(about.kubeconfig).cluster["server"]), about.namespace, about.release


def _of_chart(wanted: HelmRelease) -> dict[str, Any]:
    return {
        "chart": str(wanted.chart),
        "values": wanted.values,
        "max_history": max(history.KEPT_AT_LEAST, wanted.max_history),
        "roll_back": wanted.roll_back,
        "skip_crds": wanted.skip_crds,
    }


def _chosen(kubeconfig: str) -> Chosen:
    """What a kubeconfig opens. Raises Denied if it would read our files or run a program."""
    source = "the kubeconfig"
    return sealed(chosen(parsed(kubeconfig, source), source))


def _check_values(wanted: HelmRelease) -> None:
    if not isinstance(wanted.values, Mapping):
        raise Denied(f"the values are a {type(wanted.values).__name__}: expected a mapping", "InvalidValues")


async def _history(kube: Kube, about: ReleaseRef) -> tuple[ReleaseRevision, ...]:
    labels = f"owner=helm,name={about.release}"
    return history.revisions(await kube.marks(SECRETS, about.namespace, labels=labels))


async def _has_namespace(kube: Kube, name: str) -> bool:
    """Whether it is there; True as well for who may not know, as they may not create one either."""
    try:
        await kube.get(NAMESPACES, name)
    except NotFound:
        return False
    except Denied:
        return True
    return True


async def _api_versions(kube: Kube) -> tuple[str, ...]:
    """What ``.Capabilities.APIVersions`` holds: every version, and every kind in it."""
    known = await kinds(kube)
    return tuple({*(each.api_version for each in known), *(f"{each.api_version}/{each.kind}" for each in known)})


async def _installed(kube: Kube, about: ReleaseRef, reply: WorkerReply, *, changed: bool) -> InstalledRelease:
    objects = await _placed(kube, reply.objects, about)
    return InstalledRelease(reply.revision, reply.status, changed, objects, reply.hooks)


async def _placed(kube: Kube, objects: list[Object], about: ReleaseRef) -> list[Object]:
    """The objects, those of namespaced kinds that name no namespace in the release's."""
    return [await _in_namespace(kube, each, about.namespace) for each in objects]


async def _in_namespace(kube: Kube, document: Object, namespace: str) -> Object:
    if document["metadata"].get("namespace"):
        return document
    try:
        resource = await find(kube, document["apiVersion"], document["kind"])
    except NotFound:  # a kind that the release defines itself is not served at once
        return document
    return document | {"metadata": document["metadata"] | {"namespace": namespace}} if resource.namespaced else document
