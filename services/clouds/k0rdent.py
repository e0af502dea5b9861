"""Founds clusters through k0rdent: a ClusterDeployment on a discovered ClusterTemplate."""

import re
from collections.abc import Callable, Iterable
from typing import ClassVar

import msgspec

from events.faults import Denied, NotFound
from events.kinds import CLUSTERDEPLOYMENTS, CLUSTERTEMPLATES, CREDENTIALS
from events.kube import Kube, Object, Resource
from schemas.cluster import NOT_INSTALLED, Attempt, InfraSeen, Lot, Placement
from schemas.wish import Wish
from services.clouds.conditions import ABSENT, conditions, failure
from services.clouds.kept import Kept
from services.clouds.objects import alter, ensure, identity, installed, leftovers
from services.clouds.port import GROUP, labels, owner

Config = dict[str, object]

IDENTITIES = {
    "AWSClusterStaticIdentity": "aws",
    "AWSClusterRoleIdentity": "aws",
    "AzureClusterIdentity": "azure",
}
"""Which cloud a Credential is for, by the kind of its identity; others say so by the label ``alate.dev/cloud``."""


def _aws(placement: Placement, lot: Lot) -> Config:
    worker: Config = {"instanceType": lot.instance} | ({"spotMarketOptions": {}} if lot.spot else {})
    return {"region": placement.region, "controlPlane": {"instanceType": "m5.large"}, "worker": worker}


def _azure(placement: Placement, lot: Lot) -> Config:
    worker: Config = {"vmSize": lot.instance} | ({"spotVMOptions": {}} if lot.spot else {})
    return {"location": placement.region, "controlPlane": {"vmSize": "Standard_D4s_v5"}, "worker": worker}


def _gcp(placement: Placement, lot: Lot) -> Config:
    worker = {"instanceType": lot.instance} | ({"provisioningModel": "Spot"} if lot.spot else {})
    return {"region": placement.region, "controlPlane": {"instanceType": "n2-standard-4"}, "worker": worker}


CONFIGS: dict[str, Callable[[Placement, Lot], Config]] = {"aws": _aws, "azure": _azure, "gcp": _gcp}
SPOT_FIELDS = ("spotMarketOptions", "spotVMOptions", "provisioningModel")
"""A template whose config schema has one of these under ``worker`` can buy spot machines."""


class K0rdent:
    """The back end: one ClusterDeployment per attempt."""

    name: ClassVar[str] = "k0rdent"
    watched: ClassVar[Resource] = CLUSTERDEPLOYMENTS

    def __init__(self, kube: Kube) -> None:
        self._kube = kube
        self._templates, self._credentials = Kept(kube, CLUSTERTEMPLATES), Kept(kube, CREDENTIALS)
        self.kept = (self._templates, self._credentials)

    async def reach(self, wish: Wish) -> dict[str, bool]:
        """The clouds with a valid template and a ready credential."""
        await installed(self._kube, CLUSTERDEPLOYMENTS)
        templates, credentials = await self._means(wish)
        if not templates.keys() & credentials.keys():
            templates, credentials = await self._means(wish, anew=True)
        found = {cloud: _spot(template) for cloud, template in templates.items() if cloud in credentials}
        if not found:
            raise Denied(
                f"namespace {wish.tenant} has no valid ClusterTemplate with a ready Credential of the same cloud "
                f"(templates for: {_names(templates)}; credentials for: {_names(credentials)})",
                NOT_INSTALLED,
            )
        return found

    async def launch(self, wish: Wish, attempt: Attempt, uid: str) -> None:
        """See that the ClusterDeployment exists."""
        placement = attempt.placement
        if len(placement.lots) != 1:
            raise Denied("k0rdent's templates make one pool a cluster: use one pool, or the backend capi", "OnePool")
        templates, credentials = await self._means(wish)
        if placement.cloud not in templates.keys() & credentials.keys():
            templates, credentials = await self._means(wish, anew=True)
        if placement.cloud not in templates.keys() & credentials.keys():
            raise Denied(f"no template or credential for {placement.cloud} any more", NOT_INSTALLED)
        lot = placement.lots[0]
        spec = {
            "template": templates[placement.cloud]["metadata"]["name"],
            "credential": credentials[placement.cloud],
            "dryRun": False,
            "propagateCredentials": True,
            "cleanupOnDeletion": True,
            # Never left out: without a config, k0rdent's webhook makes it a dry run.
            "config": CONFIGS[placement.cloud](placement, lot) | _counts(lot),
        }
        await ensure(self._kube, CLUSTERDEPLOYMENTS, _object(wish, attempt, uid, spec))

    async def resize(self, wish: Wish, attempt: Attempt, uid: str) -> None:
        """See that the ClusterDeployment asks for so many workers."""
        meta = {"name": attempt.object_name(wish.name), "namespace": wish.tenant}
        workers = {"workersNumber": attempt.placement.lots[0].nodes}
        await alter(self._kube, CLUSTERDEPLOYMENTS, meta, uid, {"spec": {"config": workers}})

    async def release(self, wish: Wish, attempt: Attempt) -> None:
        """Delete the ClusterDeployment; k0rdent takes the rest with it."""
        await self._kube.delete(CLUSTERDEPLOYMENTS, attempt.object_name(wish.name), wish.tenant)

    async def leftovers(self, tenant: str, cluster: str) -> dict[str, int]:
        """ClusterDeployments of any attempt, and what Cluster API has beneath them."""
        return await leftovers(self._kube, tenant, cluster, CLUSTERDEPLOYMENTS)

    @staticmethod
    def read(seen: Object) -> InfraSeen | None:
        """Ready, with everything beneath it ready too: k0rdent's Ready alone can be true of nothing."""
        who = identity(seen)
        if who is None:
            return None
        shown = conditions(seen)
        ready, beneath = shown.get("Ready", ABSENT), shown.get("CAPIClusterSummary", ABSENT)
        message = beneath.message or ready.message
        given_up = "Failed" if ready.status == "False" and ready.reason == "Failed" else ""
        return msgspec.structs.replace(
            who,
            reachable=ready.true and beneath.true and not who.going,
            failure="" if beneath.true else failure(message) or given_up,
            message=message,
        )

    async def _means(self, wish: Wish, *, anew: bool = False) -> tuple[dict[str, Object], dict[str, str]]:
        """What there is to found with: the newest fitting template of each cloud, the name of a ready credential."""
        try:
            templates = await self._templates.of(wish.tenant, anew=anew)
            credentials = await self._credentials.of(wish.tenant, anew=anew)
        except NotFound as missing:
            raise Denied("k0rdent is not installed: the API server has no ClusterTemplates", NOT_INSTALLED) from missing
        return _newest(templates, wish.need.template), _ready(credentials)


def _newest(templates: Iterable[Object], name: str) -> dict[str, Object]:
    valid = [each for each in templates if each.get("status", {}).get("valid") and _wanted(each, name)]
    newest = sorted(valid, key=lambda template: _natural(template["metadata"]["name"]))
    return {cloud: template for template in newest for cloud in CONFIGS if _founds(template, cloud)}


def _ready(credentials: Iterable[Object]) -> dict[str, str]:
    ready = [each for each in credentials if each.get("status", {}).get("ready")]
    return {cloud: each["metadata"]["name"] for each in ready if (cloud := _cloud(each))}


def _object(wish: Wish, attempt: Attempt, uid: str, spec: Config) -> Object:
    return {
        "apiVersion": CLUSTERDEPLOYMENTS.api_version,
        "kind": CLUSTERDEPLOYMENTS.kind,
        "metadata": {
            "name": attempt.object_name(wish.name),
            "namespace": wish.tenant,
            "labels": labels(wish.name, attempt, uid),
            "ownerReferences": owner(wish),
        },
        "spec": spec,
    }


def _counts(lot: Lot) -> Config:
    return {"controlPlaneNumber": 1, "workersNumber": lot.nodes}


def _wanted(template: Object, name: str) -> bool:
    """The one that was named, or any whose control plane runs on machines of its own."""
    return bool(template["metadata"]["name"] == name if name else "-standalone-cp-" in template["metadata"]["name"])


def _founds(template: Object, cloud: str) -> bool:
    return f"infrastructure-{cloud}" in template.get("status", {}).get("providers", ())


def _spot(template: Object) -> bool:
    worker = template.get("status", {}).get("config", {}).get("worker", {})
    return any(field in worker for field in SPOT_FIELDS)


def _cloud(credential: Object) -> str:
    told = credential["metadata"].get("labels", {}).get(f"{GROUP}/cloud", "")
    return told or IDENTITIES.get(credential["spec"].get("identityRef", {}).get("kind", ""), "")


def _natural(name: str) -> list[int | str]:
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def _names(found: dict[str, Object] | dict[str, str]) -> str:
    return ", ".join(sorted(found)) or "none"


BACKEND = K0rdent
