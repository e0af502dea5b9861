"""Founds clusters through plain Cluster API: from a ClusterClass, or from manifests a user keeps in a ConfigMap."""

import asyncio
from collections.abc import Iterable
from typing import ClassVar

import msgspec

from events.faults import Denied, NotFound
from events.kinds import CLUSTERCLASSES, CLUSTERS, CONFIGMAPS, MACHINEHEALTHCHECKS, find
from events.kube import Kube, Object, Resource
from schemas.cluster import NOT_INSTALLED
from schemas.infra import InfraSeen
from schemas.placement import Attempt
from schemas.wish import Wish
from services.clouds import adopting
from services.clouds.conditions import ABSENT, conditions, failure
from services.clouds.healing import declares, health_check
from services.clouds.kept import Kept
from services.clouds.leftovers import leftovers
from services.clouds.manifests import filled, render
from services.clouds.marks import GROUP
from services.clouds.network import cluster_network
from services.clouds.objects import (
    alter,
    ensure,
    exactly,
    identity,
    installed,
    newest,
    own,
    served,
    uninstalled,
)
from services.clouds.port import labels, owner
from services.clouds.sized import Render, sized
from services.clouds.spots import sells_spot
from services.clouds.standing import Standing, of_cluster
from services.clouds.topology import buys_spot, class_of, grown, infrastructure_of, topology
from services.clouds.values import over

PREFIX = "alate-capi-"
"""A template's ConfigMap is named ``alate-capi-<cloud>``, unless the Colony names another."""
KEY = "cluster.yaml"
AT_ONCE = 4
"""For how many Clusters what belongs to them is made at a time: of many, each is there itself before that."""
CLOUD_LABEL = f"{GROUP}/cloud"


class Capi:
    """The back end: one Cluster per attempt, with what its template puts around it."""

    name: ClassVar[str] = "capi"
    watched: ClassVar[Resource] = CLUSTERS

    def __init__(self, kube: Kube) -> None:
        self._kube = kube
        self._templates = Kept(kube, CONFIGMAPS, CLOUD_LABEL)
        self._classes = Kept(kube, CLUSTERCLASSES, CLOUD_LABEL)
        self.kept = (self._templates, self._classes)
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def reach(self, wish: Wish) -> dict[str, bool]:
        """The clouds that have a ClusterClass or a template; one that can be told so can buy spot machines."""
        await installed(self._kube, CLUSTERS)
        found = await self._clouds(wish) or await self._clouds(wish, anew=True)
        if not found:
            wanted = wish.need.template or f"{PREFIX}<cloud>"
            raise Denied(
                f"namespace {wish.tenant} has no ClusterClass with the label {CLOUD_LABEL}, and no ConfigMap {wanted} "
                f"with that label and Cluster API manifests under the key {KEY}",
                NOT_INSTALLED,
            )
        return found

    async def launch(self, wish: Wish, attempt: Attempt, uid: str) -> None:
        """See that the Cluster exists, then all that belongs to it: each owned by the Cluster."""
        render = await self._renderer(wish, attempt.placement.cloud)
        ours = labels(wish.name, attempt, uid)
        rendered, others = _split(render(attempt))
        cluster = over(rendered, {"spec": cluster_network(wish.need.network)})
        _name(cluster, wish, ours, owner(wish))
        there = await ensure(self._kube, await self._kind(cluster), cluster)
        async with self._turns:
            for document in others:
                _name(document, wish, ours, _owned_by(there))
                await ensure(self._kube, await self._kind(document), document)

    async def standing(self, tenant: str, name: str) -> Standing:
        """By its topology and its ClusterClass; what has none tells no more than its infrastructure's kind."""
        there = await adopting.standing(self._kube, await newest(self._kube, CLUSTERS), name, tenant)
        called = class_of(there)
        classes = await self._classed(tenant) if called else ()
        labelled = (_cloud(each) for each in classes if each["metadata"]["name"] == called)
        told = of_cluster(there, next(labelled, None) or infrastructure_of(there))
        return told._replace(taken_by=adopting.bearer(there))

    async def adopt(self, wish: Wish, attempt: Attempt, uid: str) -> None:
        """See that the Cluster bears the attempt's marks."""
        await adopting.take_in(self._kube, await newest(self._kube, CLUSTERS), wish, attempt, uid)

    async def resize(self, wish: Wish, attempt: Attempt, uid: str) -> None:
        """See that its pools are there, and no others, and that whatever hangs on the number of nodes says so many."""
        if attempt.adopts:
            clusters, lots = await newest(self._kube, CLUSTERS), attempt.placement.lots
            await adopting.alter(self._kube, clusters, wish, attempt, uid=uid, patch=lambda there: grown(there, lots))
            return
        cloud = attempt.placement.cloud
        render = await self._renderer(wish, cloud)
        found = sized(render, attempt)
        if not found:
            raise Denied("the Cluster API template does not mention ${REPLICAS}: a size cannot be set", "BadTemplate")
        if await self._class(wish, cloud) is None:
            await self._pools(await self._template(wish, cloud), wish, attempt, uid)
        for document, patch in found:
            meta = document["metadata"] | {"namespace": wish.tenant}
            await alter(self._kube, await self._kind(document), meta, uid, patch)

    async def _pools(self, text: str, wish: Wish, attempt: Attempt, uid: str) -> None:
        """See that of all kinds that pools are made of there is what the template says, and nothing of former pools."""
        made, ours = filled(text, wish, attempt), labels(wish.name, attempt, uid)
        cluster, others = _split([document for document, _ in made])
        meta = cluster["metadata"] | {"namespace": wish.tenant}
        there = await own(self._kube, await self._kind(cluster), meta, uid)
        for document in others:
            _name(document, wish, ours, _owned_by(there))
        for kind in dict.fromkeys(_kind_of(document) for document, pooled in made if pooled):
            wanted = [document for document in others if _kind_of(document) == kind]
            await exactly(self._kube, await self._kind(wanted[0]), wanted)

    async def release(self, wish: Wish, attempt: Attempt) -> None:
        """Delete the Cluster, and its controllers take the rest with it; or hand back the one that was adopted."""
        clusters = await newest(self._kube, CLUSTERS)
        if attempt.adopts:
            await adopting.hand_back(self._kube, clusters, wish, attempt)
            return
        await self._kube.delete(clusters, attempt.object_name(wish.name), wish.tenant)

    async def leftovers(self, tenant: str, cluster: str) -> dict[str, int]:
        """Clusters, pools and machines of any attempt."""
        return await leftovers(self._kube, tenant, cluster)

    @staticmethod
    def read(seen: Object) -> InfraSeen | None:
        """Reachable once the control plane is initialised and the probe to its API succeeds, for this generation."""
        who = identity(seen)
        if who is None:
            return None
        shown = conditions(seen)
        probe = shown.get("RemoteConnectionProbe", ABSENT)
        start = seen.get("status", {}).get("initialization", {})
        initialised = start.get("controlPlaneInitialized") or shown.get("ControlPlaneInitialized", ABSENT).true
        told = [shown[name].message for name in TELLING if name in shown and shown[name].status != "True"]
        message = next(filter(None, told), "")
        return msgspec.structs.replace(
            who,
            reachable=bool(initialised) and probe.true and not who.going,
            failure=failure(" ".join(told)),
            message=message,
            endpoint=_endpoint(seen.get("spec", {}).get("controlPlaneEndpoint") or {}),
        )

    async def _clouds(self, wish: Wish, *, anew: bool = False) -> dict[str, bool]:
        templates = await self._templates.of(wish.tenant, anew=anew)
        return _clouds(wish, templates) | {
            _cloud(each): buys_spot(each) for each in await self._labelled(wish, anew=anew)
        }

    async def _labelled(self, wish: Wish, *, anew: bool = False) -> list[Object]:
        """The ClusterClasses that say which cloud they are for, and are wanted."""
        found = await self._classed(wish.tenant, anew=anew)
        return [each for each in found if wish.need.template in ("", each["metadata"]["name"])]

    async def _classed(self, tenant: str, *, anew: bool = False) -> tuple[Object, ...]:
        """All ClusterClasses of a namespace that say which cloud they are for."""
        try:
            return await self._classes.of(tenant, anew=anew)
        except NotFound:  # not in the version we speak
            return await self._older(tenant)

    async def _older(self, namespace: str) -> tuple[Object, ...]:
        """The same of a Cluster API before v1beta2; none where there are no ClusterClasses at all."""
        try:
            return (
                await self._kube.list(await newest(self._kube, CLUSTERCLASSES), namespace, labels=CLOUD_LABEL)
            ).items
        except NotFound:
            return ()

    async def _renderer(self, wish: Wish, cloud: str) -> Render:
        """From an attempt to its documents: by the ClusterClass of the cloud, or else by the template."""
        check, made = await served(self._kube, MACHINEHEALTHCHECKS), await self._class(wish, cloud)
        if made is not None:
            version = (await newest(self._kube, CLUSTERS)).version
            added = None if declares(made) else check
            return lambda attempt: _healed([topology(made, wish, attempt, version)], added)
        text = await self._template(wish, cloud)
        return lambda attempt: _healed(render(text, wish, attempt), check)

    async def _class(self, wish: Wish, cloud: str) -> Object | None:
        """The ClusterClass of a cloud, where there is one."""
        return next((each for each in await self._labelled(wish) if _cloud(each) == cloud), None)

    async def _template(self, wish: Wish, cloud: str) -> str:
        name = wish.need.template or f"{PREFIX}{cloud}"
        kept = (each for each in await self._templates.of(wish.tenant) if each["metadata"]["name"] == name)
        try:
            found = next(kept, None) or await self._kube.get(CONFIGMAPS, name, wish.tenant)
        except NotFound as missing:
            raise Denied(f"the template is gone: {missing.message}", NOT_INSTALLED) from missing
        text = found.get("data", {}).get(KEY)
        if not isinstance(text, str):
            raise Denied(f"ConfigMap {wish.tenant}/{name} has no key {KEY}", "BadTemplate")
        return text

    async def _kind(self, document: Object) -> Resource:
        try:
            return await find(self._kube, document["apiVersion"], document["kind"])
        except NotFound as missing:
            raise uninstalled(document["apiVersion"], document["kind"]) from missing


def _endpoint(told: Object) -> str:
    """Host and port as Cluster API has them: both empty until the infrastructure knows them."""
    host = f"[{told['host']}]" if ":" in told.get("host", "") else told.get("host", "")
    return f"https://{host}:{told['port']}" if host and told.get("port") else ""


TELLING = ("WorkerMachinesReady", "WorkersAvailable", "InfrastructureReady", "ControlPlaneAvailable", "Available")
"""The conditions whose messages say what is being waited for, the most telling first."""


def _cloud(labelled: Object) -> str:
    return str(labelled["metadata"]["labels"][CLOUD_LABEL])


def _clouds(wish: Wish, templates: Iterable[Object]) -> dict[str, bool]:
    return {
        _cloud(each): sells_spot(each.get("data", {}).get(KEY, ""))
        for each in templates
        if KEY in each.get("data", {}) and wish.need.template in ("", each["metadata"]["name"])
    }


def _kind_of(document: Object) -> tuple[str, str]:
    return document["apiVersion"], document["kind"]


def _split(rendered: list[Object]) -> tuple[Object, list[Object]]:
    clusters = [document for document in rendered if document.get("kind") == CLUSTERS.kind]
    if len(clusters) != 1:
        raise Denied(f"the Cluster API template must hold one Cluster, it holds {len(clusters)}", "BadTemplate")
    return clusters[0], [document for document in rendered if document is not clusters[0]]


def _healed(rendered: list[Object], check: Resource | None) -> list[Object]:
    """With a health check of ours, where the API server serves the kind, and nobody has written one."""
    if check is None or any(document.get("kind") == check.kind for document in rendered):
        return rendered
    cluster, _ = _split(rendered)
    return [*rendered, health_check(cluster["metadata"]["name"], check)]


def _name(document: Object, wish: Wish, ours: dict[str, str], owners: list[dict[str, str]]) -> None:
    meta = document.setdefault("metadata", {})
    meta["namespace"] = wish.tenant
    # Cluster API's in-memory provider (v1.12.3) writes into the annotations without looking whether there are any.
    meta["annotations"] = meta.get("annotations", {}) | {f"{GROUP}/colony": wish.colony}
    meta["labels"] = meta.get("labels", {}) | ours
    meta["ownerReferences"] = owners


def _owned_by(cluster: Object) -> list[dict[str, str]]:
    meta = cluster["metadata"]
    return [{"apiVersion": cluster["apiVersion"], "kind": cluster["kind"], "name": meta["name"], "uid": meta["uid"]}]


BACKEND = Capi
