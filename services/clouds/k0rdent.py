"""Founds clusters through k0rdent: a ClusterDeployment on a discovered ClusterTemplate."""

import re
from collections.abc import Iterable
from typing import ClassVar

import msgspec
import yaml

from events.faults import Denied, NotFound
from events.kinds import CLUSTERDEPLOYMENTS, CLUSTERTEMPLATES, CREDENTIALS
from events.kube import Kube, Object, Resource
from schemas.cluster import NOT_INSTALLED, Attempt, InfraSeen
from schemas.wish import Wish
from services.clouds.conditions import ABSENT, conditions, failure
from services.clouds.kept import Kept
from services.clouds.objects import alter, ensure, identity, installed, leftovers
from services.clouds.port import GROUP, labels, owner
from services.clouds.values import CHARTS, Config, buys_spot, config, over

IDENTITIES = {
    "AWSClusterStaticIdentity": "aws",
    "AWSClusterRoleIdentity": "aws",
    "AzureClusterIdentity": "azure",
}
"""Which cloud a Credential is for, by the kind of its identity; others say so by the label ``alate.dev/cloud``."""
CONFIG = f"{GROUP}/config"
"""The annotation of a Credential that holds, as YAML, what else its clusters need: a project, a subscription."""


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
        _one_pool(len(wish.need.pools))
        await installed(self._kube, CLUSTERDEPLOYMENTS)
        templates, credentials = await self._means(wish)
        if not templates.keys() & credentials.keys():
            templates, credentials = await self._means(wish, anew=True)
        found = {cloud: buys_spot(cloud, _values(templates[cloud])) for cloud in templates if cloud in credentials}
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
        _one_pool(len(placement.lots))
        templates, credentials = await self._means(wish)
        if placement.cloud not in templates.keys() & credentials.keys():
            templates, credentials = await self._means(wish, anew=True)
        if placement.cloud not in templates.keys() & credentials.keys():
            raise Denied(f"no template or credential for {placement.cloud} any more", NOT_INSTALLED)
        template, credential = templates[placement.cloud], credentials[placement.cloud]
        spec = {
            "template": template["metadata"]["name"],
            "credential": credential["metadata"]["name"],
            "dryRun": False,
            "propagateCredentials": True,
            "cleanupOnDeletion": True,
            # Never left out: without a config, k0rdent's webhook makes it a dry run.
            "config": over(_needed(credential), config(wish, attempt, _values(template))),
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

    async def _means(self, wish: Wish, *, anew: bool = False) -> tuple[dict[str, Object], dict[str, Object]]:
        """What there is to found with: the newest fitting template and a ready credential of each cloud."""
        try:
            templates = await self._templates.of(wish.tenant, anew=anew)
            credentials = await self._credentials.of(wish.tenant, anew=anew)
        except NotFound as missing:
            raise Denied("k0rdent is not installed: the API server has no ClusterTemplates", NOT_INSTALLED) from missing
        return _newest(templates, wish.need.template), _ready(credentials)


def _newest(templates: Iterable[Object], name: str) -> dict[str, Object]:
    valid = [each for each in templates if each.get("status", {}).get("valid") and _wanted(each, name)]
    newest = sorted(valid, key=lambda template: _natural(template["metadata"]["name"]))
    return {cloud: template for template in newest for cloud in CHARTS if _founds(template, cloud)}


def _ready(credentials: Iterable[Object]) -> dict[str, Object]:
    ready = [each for each in credentials if each.get("status", {}).get("ready")]
    return {cloud: each for each in ready if (cloud := _cloud(each))}


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


def _one_pool(pools: int) -> None:
    if pools > 1:
        raise Denied("k0rdent's templates make one pool a cluster: use one pool, or the backend capi", "OnePool")


def _needed(credential: Object) -> Config:
    """What a credential's clusters are told beside what was bought. Raises Denied if that is no mapping."""
    text = credential["metadata"].get("annotations", {}).get(CONFIG, "")
    try:
        found = yaml.safe_load(text) or {}
    except yaml.YAMLError:
        found = None
    if not isinstance(found, dict):
        called = credential["metadata"]["name"]
        raise Denied(f"the annotation {CONFIG} of Credential {called} must be a mapping as YAML", "BadConfiguration")
    return found


def _values(template: Object) -> Config:
    """The values of its chart, which are all that it can be told; empty if it does not say."""
    values: Config = template.get("status", {}).get("config") or {}
    return values


def _wanted(template: Object, name: str) -> bool:
    """The one that was named, or any whose control plane runs on machines of its own."""
    return bool(template["metadata"]["name"] == name if name else "-standalone-cp-" in template["metadata"]["name"])


def _founds(template: Object, cloud: str) -> bool:
    return f"infrastructure-{cloud}" in template.get("status", {}).get("providers", ())


def _cloud(credential: Object) -> str:
    told = credential["metadata"].get("labels", {}).get(f"{GROUP}/cloud", "")
    return told or IDENTITIES.get(credential["spec"].get("identityRef", {}).get("kind", ""), "")


def _natural(name: str) -> list[int | str]:
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def _names(found: dict[str, Object]) -> str:
    return ", ".join(sorted(found)) or "none"


BACKEND = K0rdent
