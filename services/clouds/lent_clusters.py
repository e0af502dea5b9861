"""A cluster that stands elsewhere is lent through its kubeconfig: to one at a time, and never to be ended."""

from events.errors import Denied, NoCapacity
from events.kube.client import Kube, Object
from events.kube.port import part
from events.kube.resources import SECRETS
from schemas.wish import Pool
from services.clouds.claims import claimed
from services.clouds.template_matching import POOL, Means
from services.kubernetes.labels import GROUP

KUBECONFIG = f"{GROUP}/kubeconfig"
"""The annotation of a ClusterDeployment that names the Secret with the kubeconfig of a cluster that is lent."""
WRONG = "BadConfiguration"


def secret_of(credential: Object, told: str = "") -> str:
    """The Secret of a Credential's kubeconfig, in its own namespace. Raises Denied: it is no such, or not the one told.

    No object of a tenant may have us read another tenant's Secrets, nor one of its own that opens no cluster.
    """
    meta, named = credential["metadata"], (credential.get("spec") or {}).get("identityRef") or {}
    kind, space, secret = (named.get(key) for key in ("kind", "namespace", "name"))
    if kind != SECRETS.kind or space not in (None, "", meta["namespace"]):
        where = f"a Secret of namespace {meta['namespace']}"
        raise Denied(f"the identity of Credential {meta['name']} is {kind} {space}/{secret}: must be {where}", WRONG)
    part(f"the Secret that Credential {meta['name']} names,", secret)
    if told not in ("", secret):
        raise Denied(f"{KUBECONFIG} names Secret {told}, Credential {meta['name']} {secret}: must be the same", WRONG)
    return str(secret)


def suit(found: Means, pool: Pool, instance: str) -> None:
    """See that the cluster is what was bought, as far as its Credential says. Raises NoCapacity, Denied."""
    called, offered = f"the cluster of Credential {found.credential['metadata']['name']}", found.needed.get(POOL)
    if offered != instance:
        raise NoCapacity(f"{called} is offered as {offered}, not as {instance}")
    if pool.labels or pool.taints:
        raise Denied(f"{called} stands already: its nodes get no labels and no taints", "DoesNotFit")


async def lend(kube: Kube, deployment: Object, secret: str) -> None:
    """See that the cluster is this ClusterDeployment's alone. Raises Denied("Taken") if it is another's, TryLater."""
    if not await claimed(kube, deployment, "cluster", {"kubeconfig": secret}):
        tenant = deployment["metadata"]["namespace"]
        raise Denied(f"the cluster that Secret {tenant}/{secret} opens is lent to another", "Taken")


def unsized(deployment: Object) -> str:
    """Why what a ClusterDeployment was given has no other size, and what can be done."""
    if KUBECONFIG in deployment["metadata"].get("annotations", {}):
        return (
            "a cluster that is lent stands as it is: take it out of the Colony to give it back, or add another cluster"
        )
    return "a cluster on machines of one's own keeps those it has: add another cluster to the Colony"
