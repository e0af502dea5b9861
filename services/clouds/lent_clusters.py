"""A cluster that exists elsewhere is lent through its kubeconfig: to one Colony at a time, and never deleted."""

from events.errors import Denied, NoCapacity
from events.kube.client import Kube, Object
from events.kube.port import part
from events.kube.resources import SECRETS
from schemas.wish import Pool
from services.clouds.claims import claim_once
from services.clouds.template_matching import POOL, TemplateChoice
from services.kubernetes.labels import GROUP

KUBECONFIG = f"{GROUP}/kubeconfig"
"""The annotation of a ClusterDeployment that names the Secret with the kubeconfig of a lent cluster."""
BAD_CONFIGURATION = "BadConfiguration"


def secret_of(credential: Object, told: str = "") -> str:
    """The Secret of a Credential's kubeconfig, in its own namespace. Raises Denied if it is another, or not `told`.

    No object of a tenant may make us read another tenant's Secrets, nor one of its own that opens no cluster.
    """
    meta, named = credential["metadata"], (credential.get("spec") or {}).get("identityRef") or {}
    kind, space, secret = (named.get(key) for key in ("kind", "namespace", "name"))
    if kind != SECRETS.kind or space not in (None, "", meta["namespace"]):
        where = f"a Secret of namespace {meta['namespace']}"
        raise Denied(
            f"the identity of Credential {meta['name']} is {kind} {space}/{secret}: must be {where}", BAD_CONFIGURATION
        )
    part(f"the Secret that Credential {meta['name']} names,", secret)
    if told not in ("", secret):
        raise Denied(
            f"{KUBECONFIG} names Secret {told}, Credential {meta['name']} {secret}: must be the same", BAD_CONFIGURATION
        )
    return str(secret)


def check_suitable(found: TemplateChoice, pool: Pool, instance: str) -> None:
    """Ensure that the cluster is what was bought, as far as its Credential says. Raises NoCapacity, Denied."""
    called, offered = f"the cluster of Credential {found.credential['metadata']['name']}", found.needed.get(POOL)
    if offered != instance:
        raise NoCapacity(f"{called} is offered as {offered}, not as {instance}")
    if pool.labels or pool.taints:
        raise Denied(f"{called} stands already: its nodes get no labels and no taints", "DoesNotFit")


async def lend(kube: Kube, deployment: Object, secret: str) -> None:
    """Ensure that only this ClusterDeployment has the cluster. Raises Denied("Taken") if another has it, TryLater."""
    if not await claim_once(kube, deployment, "cluster", {"kubeconfig": secret}):
        tenant = deployment["metadata"]["namespace"]
        raise Denied(f"the cluster that Secret {tenant}/{secret} opens is lent to another", "Taken")


def fixed_size_reason(deployment: Object) -> str:
    """Why a ClusterDeployment on existing machines cannot be resized, and what to do instead."""
    if KUBECONFIG in deployment["metadata"].get("annotations", {}):
        return "a cluster that is lent keeps its size: take it out of the Colony to release it, or add another cluster"
    return "a cluster on machines of one's own keeps those it has: add another cluster to the Colony"
