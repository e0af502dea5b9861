"""What people would lose with a namespace is looked for among all kinds, for with it goes whatever is in it."""

from events.errors import NotFound
from events.kube.client import Kube, Object, Resource
from events.kube.resources import served

PASSING = frozenset({"Endpoints", "Event", "Lease"})
"""Kinds that hold nobody's work, and come again by themselves where they are needed."""
GIVEN = frozenset({("ServiceAccount", "default"), ("ConfigMap", "kube-root-ca.crt")})
"""What Kubernetes puts into every namespace itself."""
TOKEN = "kubernetes.io/service-account-token"  # noqa: S105 - a type of Secret
"""Made of a ServiceAccount, and gone with it."""


async def within(kube: Kube, namespace: Object) -> list[Object]:
    """All in it that was made for its own sake, and is not going."""
    name = namespace["metadata"]["name"]
    kinds = [kind for kind in await served(kube, "list", "delete") if kind.namespaced and kind.kind not in PASSING]
    return [each for kind in kinds for each in await _listed(kube, kind, name) if _matters(each)]


async def _listed(kube: Kube, kind: Resource, namespace: str) -> tuple[Object, ...]:
    try:
        return (await kube.list(kind, namespace)).items
    except NotFound:  # its kind is served no more
        return ()


def _matters(each: Object) -> bool:
    meta = each["metadata"]
    follows = meta.get("ownerReferences") or "deletionTimestamp" in meta or each.get("type") == TOKEN
    return not follows and (each["kind"], meta["name"]) not in GIVEN
