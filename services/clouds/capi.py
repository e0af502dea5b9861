"""The back end for plain Cluster API: a ClusterClass, or manifests that a user keeps in a ConfigMap."""

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from typing import ClassVar

from events.errors import Denied, NotFound
from events.kube.client import Kube, Object, Resource
from events.kube.discovery import find
from events.kube.resources import CLUSTERS, MACHINEDEPLOYMENTS, MACHINEHEALTHCHECKS
from schemas.cluster import NOT_INSTALLED
from schemas.infra import InfraSeen
from schemas.placement import Attempt
from schemas.wish import Wish
from services.clouds import adoption
from services.clouds.cluster_object import (
    ABSENT,
    attempt_of,
    check_installed,
    conditions,
    ensure,
    ensure_exactly,
    failure_reason,
    merged,
    newest_served,
    not_installed,
    patch_as_read,
    patch_own,
    read_own,
    served,
    with_finalizers,
)
from services.clouds.cluster_templates import (
    CLOUD_LABEL,
    KEY,
    PREFIX,
    TemplateSource,
    TemplateSources,
    cloud_of,
    declares_health_check,
    health_check,
    render,
    render_with_pools,
)
from services.clouds.existing_cluster import ExistingCluster, read_cluster
from services.clouds.leftovers import CLUSTER_NAME, leftovers
from services.clouds.manifest_patches import Render, size_patches, version_patches
from services.clouds.node_config import cluster_network, minimum_replicas
from services.clouds.port import labels, owner
from services.clouds.rollout import control_plane_progress, running_version, worker_progress
from services.clouds.topology import class_of, infrastructure_cloud, resize_patch, topology, upgrade_patch
from services.kubernetes.labels import GROUP

AT_ONCE = 4
"""Clusters whose other objects are created at the same time: with many, each Cluster itself is created first."""


class Capi:
    """The back end: one Cluster per attempt, with what its template puts around it."""

    name: ClassVar[str] = "capi"
    watched: ClassVar[Resource] = CLUSTERS

    def __init__(self, kube: Kube) -> None:
        self._kube = kube
        self._sources = TemplateSources(kube)
        self.caches = self._sources.caches
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def reach(self, wish: Wish) -> dict[str, bool]:
        """The clouds that have a ClusterClass or a template, and whether that can buy spot machines."""
        await check_installed(self._kube, CLUSTERS)
        found = await self._sources.clouds(wish) or await self._sources.clouds(wish, fresh=True)
        if not found:
            wanted = wish.need.template or f"{PREFIX}<cloud>"
            raise Denied(
                f"namespace {wish.tenant} has no ClusterClass with the label {CLOUD_LABEL}, and no ConfigMap {wanted} "
                f"with that label and Cluster API manifests under the key {KEY}",
                NOT_INSTALLED,
            )
        return found

    async def launch(self, wish: Wish, attempt: Attempt, uid: str) -> None:
        """Ensure that the Cluster exists, then everything that it owns."""
        render = await self._renderer(wish, await self._sources.of(wish, attempt.placement.cloud))
        ours = labels(wish.name, attempt, uid)
        rendered, others = _split(render(attempt))
        cluster = merged(rendered, {"spec": cluster_network(wish.need.network)})
        _name(cluster, wish, ours, owner(wish))
        there = await ensure(self._kube, await self._kind(cluster), cluster)
        async with self._turns:
            for document in others:
                _name(document, wish, ours, _owned_by(there))
                await ensure(self._kube, await self._kind(document), document)

    async def read_existing(self, tenant: str, name: str) -> ExistingCluster:
        """Read its topology and its ClusterClass; without these, its infrastructure's kind and its version."""
        there = await adoption.read_existing(self._kube, await newest_served(self._kube, CLUSTERS), name, tenant)
        called = class_of(there)
        classes = await self._sources.classed(tenant) if called else ()
        labelled = (cloud_of(each) for each in classes if each["metadata"]["name"] == called)
        told = read_cluster(there, next(labelled, None) or infrastructure_cloud(there))
        version = told.version or await running_version(self._kube, there)
        return told._replace(version=version, adopted_as=adoption.adopted_as(there))

    async def adopt(self, wish: Wish, attempt: Attempt, uid: str) -> None:
        """Ensure that the Cluster carries the attempt's labels."""
        await adoption.adopt(self._kube, await newest_served(self._kube, CLUSTERS), wish, attempt, uid)

    async def resize(self, wish: Wish, attempt: Attempt, uid: str) -> None:
        """Ensure that exactly its pools exist, and that all that depends on the number of nodes has it."""
        if attempt.adopts:
            clusters, lots = await newest_served(self._kube, CLUSTERS), attempt.placement.lots
            await adoption.patch_adopted(
                self._kube, clusters, wish, attempt, uid=uid, patch=lambda there: resize_patch(there, lots)
            )
            return
        source = await self._sources.of(wish, attempt.placement.cloud)
        render = await self._renderer(wish, source)
        found = size_patches(render, attempt)
        if not found:
            raise Denied("the Cluster API template does not mention ${REPLICAS}: a size cannot be set", "BadTemplate")
        meta = {"name": attempt.object_name(wish.name), "namespace": wish.tenant}
        there = await read_own(self._kube, await newest_served(self._kube, CLUSTERS), meta, uid)
        mark = partial(_name, wish=wish, ours=labels(wish.name, attempt, uid), owners=_owned_by(there))
        if isinstance(source, str):
            await self._pools(render_with_pools(source, wish, attempt), mark)
        await self._patch(found, wish, uid)
        await self._heal(render(attempt), mark)
        if wish.need.autoscaled:
            await self._lift(there)

    async def _heal(self, rendered: list[Object], mark: Callable[[Object], None]) -> None:
        """Ensure the health check: the kind may not have been served at launch."""
        for document in rendered:
            if document["kind"] == MACHINEHEALTHCHECKS.kind:
                mark(document)
                await ensure(self._kube, await self._kind(document), document)

    async def _lift(self, cluster: Object) -> None:
        """Ensure that no pool sized by an autoscaler has fewer nodes than its minimum."""
        kind, meta = await newest_served(self._kube, MACHINEDEPLOYMENTS), cluster["metadata"]
        listed = await self._kube.list(kind, meta["namespace"], labels=f"{CLUSTER_NAME}={meta['name']}")
        for each in listed.items:
            if (least := minimum_replicas(each)) is not None:
                await patch_as_read(self._kube, kind, each["metadata"], {"spec": {"replicas": least}})

    async def _pools(self, made: list[tuple[Object, bool]], mark: Callable[[Object], None]) -> None:
        """Ensure that the objects of pools are those of the template, and that none of removed pools is left."""
        _, others = _split([document for document, _ in made])
        for document in others:
            mark(document)
        for kind in dict.fromkeys(_kind_of(document) for document, pooled in made if pooled):
            wanted = [document for document in others if _kind_of(document) == kind]
            await ensure_exactly(self._kube, await self._kind(wanted[0]), wanted)

    async def upgrade(self, wish: Wish, attempt: Attempt, uid: str) -> str:
        """Patch the topology, which upgrades in order; without one, patch the template's objects in order."""
        clusters, version = await newest_served(self._kube, CLUSTERS), wish.need.kubernetes_version
        meta = {"name": attempt.object_name(wish.name), "namespace": wish.tenant}
        there = await read_own(self._kube, clusters, meta, uid)
        if there["spec"].get("topology"):
            await patch_own(self._kube, clusters, meta, uid, upgrade_patch(there, version))
        elif attempt.adopts:
            raise Denied(
                "an adopted Cluster without a topology has its version in its own machines' objects: set it there"
            )
        else:
            return await self._by_template(there, wish, attempt, uid)
        return await control_plane_progress(self._kube, there, version) or await worker_progress(
            self._kube, there, version
        )

    async def _by_template(self, cluster: Object, wish: Wish, attempt: Attempt, uid: str) -> str:
        version, text = wish.need.kubernetes_version, await self._sources.template(wish, attempt.placement.cloud)
        parts = version_patches(text, wish, attempt)
        await self._patch(parts.first, wish, uid)
        if waits := await control_plane_progress(self._kube, cluster, version):
            return waits
        await self._patch(parts.then, wish, uid)
        return await worker_progress(self._kube, cluster, version)

    async def _patch(self, found: Iterable[tuple[Object, Object]], wish: Wish, uid: str) -> None:
        for document, patch in found:
            meta = document["metadata"] | {"namespace": wish.tenant}
            await patch_own(self._kube, await self._kind(document), meta, uid, patch)

    async def release(self, wish: Wish, attempt: Attempt) -> None:
        """Delete the Cluster, whose controllers delete the rest; or release the one that was adopted."""
        clusters = await newest_served(self._kube, CLUSTERS)
        if attempt.adopts:
            await adoption.release_adopted(self._kube, clusters, wish, attempt)
            return
        await self._kube.delete(clusters, attempt.object_name(wish.name), wish.tenant)

    async def leftovers(self, tenant: str, cluster: str) -> dict[str, int]:
        """Clusters, pools and machines of any attempt."""
        return await leftovers(self._kube, tenant, cluster)

    async def verify(self, tenant: str, seen: InfraSeen) -> InfraSeen:  # noqa: ARG002 - it names no Secret
        """Unchanged: Cluster API itself says where the kubeconfig is."""
        return seen

    @staticmethod
    def read(seen: Object) -> InfraSeen | None:
        """Reachable once the control plane is initialised and the probe to its API succeeds, for this generation."""
        who = attempt_of(seen)
        if who is None:
            return None
        shown = conditions(seen)
        probe = shown.get("RemoteConnectionProbe", ABSENT)
        start = seen.get("status", {}).get("initialization", {})
        initialised = start.get("controlPlaneInitialized") or shown.get("ControlPlaneInitialized", ABSENT).true
        told = [shown[name].message for name in TELLING if name in shown and shown[name].status != "True"]
        message = next(filter(None, told), "")
        return who.but(
            reachable=bool(initialised) and probe.true and not who.deleting,
            failure=failure_reason(" ".join(told)),
            message=with_finalizers(seen, message),
            endpoint=_endpoint(seen.get("spec", {}).get("controlPlaneEndpoint") or {}),
        )

    async def _renderer(self, wish: Wish, source: TemplateSource) -> Render:
        """A function from an attempt to its documents."""
        check = await served(self._kube, MACHINEHEALTHCHECKS)
        if isinstance(source, str):
            return lambda attempt: _healed(render(source, wish, attempt), check)
        version = (await newest_served(self._kube, CLUSTERS)).version
        added = None if declares_health_check(source) else check
        return lambda attempt: _healed([topology(source, wish, attempt, version)], added)

    async def _kind(self, document: Object) -> Resource:
        try:
            return await find(self._kube, document["apiVersion"], document["kind"])
        except NotFound as missing:
            raise not_installed(document["apiVersion"], document["kind"]) from missing


def _endpoint(told: Object) -> str:
    """Host and port as Cluster API has them: both empty until the infrastructure knows them."""
    host = f"[{told['host']}]" if ":" in told.get("host", "") else told.get("host", "")
    return f"https://{host}:{told['port']}" if host and told.get("port") else ""


TELLING = ("WorkerMachinesReady", "WorkersAvailable", "InfrastructureReady", "ControlPlaneAvailable", "Available")
"""Conditions whose messages say what the object waits for, the most specific first."""


def _kind_of(document: Object) -> tuple[str, str]:
    return document["apiVersion"], document["kind"]


def _split(rendered: list[Object]) -> tuple[Object, list[Object]]:
    clusters = [document for document in rendered if document.get("kind") == CLUSTERS.kind]
    if len(clusters) != 1:
        raise Denied(f"the Cluster API template must hold one Cluster, it holds {len(clusters)}", "BadTemplate")
    return clusters[0], [document for document in rendered if document is not clusters[0]]


def _healed(rendered: list[Object], check: Resource | None) -> list[Object]:
    """The documents with our health check, if the kind is served and the template has none."""
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
