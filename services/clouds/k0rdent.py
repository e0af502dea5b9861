"""The back end for k0rdent: a ClusterDeployment on a discovered ClusterTemplate."""

from typing import ClassVar

from events.errors import Denied, NotFound
from events.kube.client import Kube, Object, Resource
from events.kube.resources import CLUSTERDEPLOYMENTS, CLUSTERS, CLUSTERTEMPLATES, CREDENTIALS
from schemas.cluster import NOT_INSTALLED
from schemas.infra import InfraSeen
from schemas.placement import Attempt, Lot
from schemas.wish import Wish
from services.clouds.adoption import adopt, adopted_as, read_existing, release_adopted
from services.clouds.claims import claim_machines, machines_offered_as
from services.clouds.cluster_object import (
    ABSENT,
    ObjectCache,
    attempt_of,
    check_installed,
    conditions,
    ensure,
    failure_reason,
    merged,
    newest_served,
    patch_own,
    read_own,
    with_finalizers,
)
from services.clouds.existing_cluster import INSTANCE, ExistingCluster, read_deployment
from services.clouds.leftovers import leftovers
from services.clouds.lent_clusters import KUBECONFIG, check_suitable, fixed_size_reason, lend, secret_of
from services.clouds.node_config import NETWORK, cluster_network, pool_of, worker_args
from services.clouds.port import labels, owner
from services.clouds.rollout import control_plane_progress, worker_progress
from services.clouds.template_matching import (
    MACHINES,
    POOL,
    TemplateChoice,
    choose_templates,
    cloud_of,
    next_template,
    version_of,
    what_is_missing,
)
from services.clouds.template_values import (
    CHARTS,
    Config,
    can_buy_spot,
    checked_config,
    config,
    named_version,
    names_zone,
)


class K0rdent:
    """The back end: one ClusterDeployment per attempt."""

    name: ClassVar[str] = "k0rdent"
    watched: ClassVar[Resource] = CLUSTERDEPLOYMENTS

    def __init__(self, kube: Kube) -> None:
        self._kube = kube
        self._templates, self._credentials = ObjectCache(kube, CLUSTERTEMPLATES), ObjectCache(kube, CREDENTIALS)
        self.caches = (self._templates, self._credentials)

    async def reach(self, wish: Wish) -> dict[str, bool]:
        """The clouds with a valid template and a ready credential, own machines and lent clusters among them."""
        _one_pool(len(wish.need.pools))
        _own_size(wish)
        await check_installed(self._kube, CLUSTERDEPLOYMENTS)
        found = await self._means(wish) or await self._means(wish, fresh=True)
        if not found:
            lacks = what_is_missing(*await self._there(wish.tenant), wish.need.template, wish.need.kubernetes_version)
            raise Denied(f"namespace {wish.tenant} has {lacks}", NOT_INSTALLED)
        return {cloud: not one.own and can_buy_spot(cloud, one.values) for cloud, one in found.items()}

    async def launch(self, wish: Wish, attempt: Attempt, uid: str) -> None:
        """Ensure that the ClusterDeployment exists, and that it gets the own machines or the lent cluster it needs."""
        _one_pool(len(attempt.placement.lots))
        cloud = attempt.placement.cloud
        found = (await self._means(wish)).get(cloud) or (await self._means(wish, fresh=True)).get(cloud)
        if found is None:
            raise Denied(f"no template or credential for {cloud} any more", NOT_INSTALLED)
        told = _own_told(found, wish, attempt) if found.own else config(wish, attempt, found.values)
        there = await ensure(self._kube, CLUSTERDEPLOYMENTS, _object(wish, attempt, uid, found, told))
        if found.own and there["spec"].get("dryRun"):
            given = await (self._lend if found.lent else self._man)(there, found, wish, attempt.placement.lots[0])
            meta, patch = there["metadata"], {"spec": {"dryRun": False, "config": given}}
            await self._kube.patch(CLUSTERDEPLOYMENTS, meta["name"], meta["namespace"], patch)

    async def _man(self, there: Object, found: TemplateChoice, wish: Wish, lot: Lot) -> Config:
        """The config that gives claimed machines to a ClusterDeployment."""
        args = worker_args(pool_of(wish, lot))
        said = {"k0s": {"args": list(args)}} if args else {}
        machines = await claim_machines(self._kube, there, machines_offered_as(found.needed, lot), lot.nodes)
        return {MACHINES: [one | said for one in machines]}

    async def _lend(self, there: Object, found: TemplateChoice, wish: Wish, lot: Lot) -> Config:
        """Give a whole cluster to a ClusterDeployment, whose Credential names it."""
        check_suitable(found, pool_of(wish, lot), lot.instance)
        await lend(self._kube, there, secret_of(found.credential))
        return {}

    async def read_existing(self, tenant: str, name: str) -> ExistingCluster:
        """Read its config, its template and the cloud of either. Raises Denied if it is a dry run."""
        there = await read_existing(self._kube, CLUSTERDEPLOYMENTS, name, tenant)
        spec = there["spec"]
        if spec.get("dryRun"):
            raise Denied(f"ClusterDeployment {name} is a dry run: there is no cluster to adopt", "DoesNotFit")
        templates, credentials = await self._there(tenant)
        template = next((one for one in templates if one["metadata"]["name"] == spec.get("template")), None)
        credential = next((one for one in credentials if one["metadata"]["name"] == spec.get("credential")), None)
        said = spec.get("config") or {}
        told = read_deployment(said, cloud_of(template, credential))
        return told._replace(version=version_of(template, said), adopted_as=adopted_as(there))

    async def adopt(self, wish: Wish, attempt: Attempt, uid: str) -> None:
        """Ensure that the ClusterDeployment carries the attempt's labels."""
        await adopt(self._kube, CLUSTERDEPLOYMENTS, wish, attempt, uid)

    async def resize(self, wish: Wish, attempt: Attempt, uid: str) -> None:
        """Ensure that the ClusterDeployment asks for this number of workers."""
        meta = {"name": attempt.object_name(wish.name), "namespace": wish.tenant}
        if attempt.placement.cloud not in CHARTS:
            raise Denied(fixed_size_reason(await read_own(self._kube, CLUSTERDEPLOYMENTS, meta, uid)))
        workers = {"workersNumber": attempt.placement.lots[0].nodes}
        await patch_own(self._kube, CLUSTERDEPLOYMENTS, meta, uid, {"spec": {"config": workers}})

    async def upgrade(self, wish: Wish, attempt: Attempt, uid: str) -> str:
        """Switch to a ClusterTemplate that k0rdent allows as the next one, unless the config names the version."""
        meta, version = {"name": attempt.object_name(wish.name), "namespace": wish.tenant}, wish.need.kubernetes_version
        there = await read_own(self._kube, CLUSTERDEPLOYMENTS, meta, uid)
        if not _named(there, version):
            template = next_template(there, (await self._there(wish.tenant))[0], version)
            await patch_own(self._kube, CLUSTERDEPLOYMENTS, meta, uid, {"spec": {"template": template}})
        beneath = await self._kube.get(await newest_served(self._kube, CLUSTERS), meta["name"], wish.tenant)
        return await control_plane_progress(self._kube, beneath, version) or await worker_progress(
            self._kube, beneath, version
        )

    async def release(self, wish: Wish, attempt: Attempt) -> None:
        """Delete the ClusterDeployment, and k0rdent deletes the rest; or release the one that was adopted."""
        if attempt.adopts:
            await release_adopted(self._kube, CLUSTERDEPLOYMENTS, wish, attempt)
            return
        await self._kube.delete(CLUSTERDEPLOYMENTS, attempt.object_name(wish.name), wish.tenant)

    async def leftovers(self, tenant: str, cluster: str) -> dict[str, int]:
        """ClusterDeployments of any attempt, and Cluster API's objects beneath them."""
        return await leftovers(self._kube, tenant, cluster, CLUSTERDEPLOYMENTS)

    async def verify(self, tenant: str, seen: InfraSeen) -> InfraSeen:
        """The Secret of a lent cluster must be the one that its Credential names, whatever the annotation says."""
        if not seen.kubeconfig:
            return seen
        try:
            secret_of(await self._kube.get(CREDENTIALS, seen.credential, tenant), seen.kubeconfig)
        except (Denied, NotFound) as wrong:
            return seen.but(reachable=False, kubeconfig="", message=wrong.message)
        return seen

    @staticmethod
    def read(seen: Object) -> InfraSeen | None:
        """Ready, with everything beneath it ready too: k0rdent's Ready alone can be true of an empty deployment.

        Beneath a lent cluster there is no Cluster to summarise, only the release that makes it known to k0rdent.
        """
        who = attempt_of(seen)
        if who is None:
            return None
        shown = conditions(seen)
        secret = str(seen["metadata"].get("annotations", {}).get(KUBECONFIG, ""))
        ready = shown.get("Ready", ABSENT)
        beneath = shown.get("HelmReleaseReady" if secret else "CAPIClusterSummary", ABSENT)
        message = beneath.message or ready.message
        given_up = "Failed" if ready.status == "False" and ready.reason == "Failed" else ""
        failed = "" if beneath.true else failure_reason(message) or given_up
        return who.but(
            reachable=ready.true and beneath.true and not who.deleting,
            failure=failed,
            message=with_finalizers(seen, message),
            kubeconfig=secret,
            credential=str(seen.get("spec", {}).get("credential") or "") if secret else "",
            zoneless=bool(failed) and not names_zone(seen.get("spec", {}).get("config") or {}),
        )

    async def _means(self, wish: Wish, *, fresh: bool = False) -> dict[str, TemplateChoice]:
        """The template and the credential to use, by cloud."""
        there = await self._there(wish.tenant, fresh=fresh)
        return choose_templates(*there, wish.need.template, wish.need.kubernetes_version)

    async def _there(self, tenant: str, *, fresh: bool = False) -> tuple[tuple[Object, ...], tuple[Object, ...]]:
        """All templates and credentials of the namespace."""
        try:
            templates = await self._templates.of(tenant, fresh=fresh)
            return templates, await self._credentials.of(tenant, fresh=fresh)
        except NotFound as missing:
            raise Denied("k0rdent is not installed: the API server has no ClusterTemplates", NOT_INSTALLED) from missing


def _spec(found: TemplateChoice, told: Config) -> Config:
    """The spec; own machines and lent clusters are given later: until then it is a dry run and touches nothing."""
    needed = {key: value for key, value in found.needed.items() if key not in (MACHINES, POOL)}
    return {
        "template": found.template["metadata"]["name"],
        "credential": found.credential["metadata"]["name"],
        "dryRun": found.own,
        "propagateCredentials": not found.own,
        "cleanupOnDeletion": not found.lent,  # it deletes every volume: those of a cluster that stays are its owner's
        # Never left out: without a config, k0rdent's webhook makes it a dry run.
        "config": merged(needed, told),
    }


def _own_told(found: TemplateChoice, wish: Wish, attempt: Attempt) -> Config:
    """The config for own machines: the instance type they were offered as. Raises Denied."""
    wanted = {"clusterAnnotations": {INSTANCE: attempt.placement.lots[0].instance}}
    return checked_config(wanted | cluster_network(wish.need.network), found.values, (NETWORK,))


def _object(wish: Wish, attempt: Attempt, uid: str, found: TemplateChoice, told: Config) -> Object:
    notes = {"annotations": {KUBECONFIG: secret_of(found.credential)}} if found.lent else {}
    return {
        "apiVersion": CLUSTERDEPLOYMENTS.api_version,
        "kind": CLUSTERDEPLOYMENTS.kind,
        "metadata": {
            "name": attempt.object_name(wish.name),
            "namespace": wish.tenant,
            "labels": labels(wish.name, attempt, uid),
            "ownerReferences": owner(wish),
        }
        | notes,
        "spec": _spec(found, told),
    }


def _named(deployment: Object, version: str) -> bool:
    """Whether its config names this version of Kubernetes. Raises Denied if it names another."""
    named, called = named_version(deployment["spec"].get("config") or {}), deployment["metadata"]["name"]
    if named not in ("", version):
        told = f"the config of ClusterDeployment {called} names {named} as k0s.version: set that to {version} there"
        raise Denied(f"{told}, or take it out")
    return named == version


def _one_pool(pools: int) -> None:
    if pools > 1:
        raise Denied("k0rdent's templates make one pool a cluster: use one pool, or the backend capi", "OnePool")


def _own_size(wish: Wish) -> None:
    if wish.need.autoscaled:
        told = "k0rdent sets the number of nodes itself: use scaledBy Alate, or the backend capi"
        raise Denied(told, "BadConfiguration")


BACKEND = K0rdent
