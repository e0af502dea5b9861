"""Patches for an attempt's manifests, found by rendering them with another size or another Kubernetes version."""

from collections.abc import Callable
from typing import NamedTuple

from events.errors import Denied
from events.kube.port import Object
from schemas.placement import Attempt, Lot
from schemas.wish import Wish
from services.clouds.cluster_templates import MACHINE_DEPLOYMENT, render

VERSION_PLACEHOLDER = "${KUBERNETES_VERSION}"
NO_VERSION = "v0.0.0"
"""A version that no cluster has: templates that differ for it depend on the version."""
WORKERS = (MACHINE_DEPLOYMENT, "MachinePool")
IMMUTABLE_SUFFIX = "Template"
"""The ending of the kinds that machines are created from: providers do not allow changing them."""
Patches = list[tuple[Object, Object]]
"""Documents, each with a merge patch of what depends on the version."""

Render = Callable[[Attempt], list[Object]]


def size_patches(render: Render, attempt: Attempt) -> list[tuple[Object, Object]]:
    """Each document that depends on the number of nodes, with a merge patch of what depends on it."""
    pairs = zip(render(attempt), render(_larger(attempt)), strict=True)
    return [(document, patch) for document, other in pairs if (patch := difference(document, other))]


def _larger(attempt: Attempt) -> Attempt:
    placement = attempt.placement
    lots = tuple(_more(lot) for lot in placement.lots)
    return attempt.but(placement=placement.but(lots=lots))


def _more(lot: Lot) -> Lot:
    group = lot.group and lot.group.but(most=lot.group.most + 1)
    return lot.but(nodes=lot.nodes + 1, group=group)


def difference(one: Object, other: Object) -> Object:
    """The fields of `one` that differ in `other`; lists as a whole, as in a merge patch."""
    found: Object = {}
    for key, value in one.items():
        theirs = other.get(key)
        if isinstance(value, dict) and isinstance(theirs, dict):
            if inner := difference(value, theirs):
                found[key] = inner
        elif value != theirs:
            found[key] = value
    return found


class VersionPatches(NamedTuple):
    """What names the version, in order: a kubelet must never be newer than its API server."""

    first: Patches
    """The control plane, and everything that is no worker."""
    then: Patches
    """The workers, once all of the control plane runs the version."""


def version_patches(text: str, wish: Wish, attempt: Attempt) -> VersionPatches:
    """Found by rendering the template with another version. Raises Denied if the version cannot be changed."""
    other = wish.but(need=wish.need.but(kubernetes_version=NO_VERSION))
    pairs = zip(render(text, wish, attempt), render(text, other, attempt), strict=True)
    found = [(document, patch) for document, without in pairs if (patch := difference(document, without))]
    if not found:
        raise Denied(f"the Cluster API template does not mention {VERSION_PLACEHOLDER}: a version cannot be set")
    for document, patch in found:
        if document["kind"].endswith(IMMUTABLE_SUFFIX) or "name" in patch.get("metadata", {}):
            raise Denied(
                f"the Cluster API template mentions {VERSION_PLACEHOLDER} in a {document['kind']}, which cannot change "
                "once it is there: leave it out of that, or use a ClusterClass, or add another cluster to the Colony"
            )
    workers = [each for each in found if each[0]["kind"] in WORKERS]
    return VersionPatches([each for each in found if each not in workers], workers)
