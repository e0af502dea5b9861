"""Patches for an attempt's manifests, found by rendering them with another size or another Kubernetes version."""

from collections.abc import Callable
from typing import NamedTuple

from events.errors import Denied
from events.kube.port import Object
from schemas.placement import Attempt, Lot
from schemas.wish import Wish
from services.clouds.manifests import MACHINE_DEPLOYMENT, render

MARK = "${KUBERNETES_VERSION}"
NO_VERSION = "v0.0.0"
"""Nobody asks for it: whatever is not the same with it hangs on the version."""
WORKERS = (MACHINE_DEPLOYMENT, "MachinePool")
FIXED = "Template"
"""How the kinds end that machines are made from: providers let none of these change."""
Patches = list[tuple[Object, Object]]
"""Documents, each with a merge patch of what hangs on the version."""

Render = Callable[[Attempt], list[Object]]


def sized(render: Render, attempt: Attempt) -> list[tuple[Object, Object]]:
    """Each document that says how many nodes there are, or may be, with a merge patch of that and nothing else."""
    pairs = zip(render(attempt), render(_larger(attempt)), strict=True)
    return [(document, patch) for document, other in pairs if (patch := differing(document, other))]


def _larger(attempt: Attempt) -> Attempt:
    placement = attempt.placement
    lots = tuple(_more(lot) for lot in placement.lots)
    return attempt.but(placement=placement.but(lots=lots))


def _more(lot: Lot) -> Lot:
    group = lot.group and lot.group.but(most=lot.group.most + 1)
    return lot.but(nodes=lot.nodes + 1, group=group)


def differing(one: Object, other: Object) -> Object:
    """The fields of `one` that differ in `other`; lists as a whole, as a merge patch has them."""
    found: Object = {}
    for key, value in one.items():
        theirs = other.get(key)
        if isinstance(value, dict) and isinstance(theirs, dict):
            if inner := differing(value, theirs):
                found[key] = inner
        elif value != theirs:
            found[key] = value
    return found


class Versioned(NamedTuple):
    """What says the version: a kubelet may never be newer than the API server that it speaks to."""

    first: Patches
    """The control plane, and whatever else is nobody's worker."""
    then: Patches
    """The workers, once all of the control plane runs it."""


def versioned(text: str, wish: Wish, attempt: Attempt) -> Versioned:
    """By rendering a template with another version. Raises Denied where that cannot be changed."""
    other = wish.but(need=wish.need.but(kubernetes_version=NO_VERSION))
    pairs = zip(render(text, wish, attempt), render(text, other, attempt), strict=True)
    found = [(document, patch) for document, without in pairs if (patch := differing(document, without))]
    if not found:
        raise Denied(f"the Cluster API template does not mention {MARK}: a version cannot be set")
    for document, patch in found:
        if document["kind"].endswith(FIXED) or "name" in patch.get("metadata", {}):
            raise Denied(
                f"the Cluster API template mentions {MARK} in a {document['kind']}, which cannot change once it is "
                "there: leave it out of that, or use a ClusterClass, or add another cluster to the Colony"
            )
    workers = [each for each in found if each[0]["kind"] in WORKERS]
    return Versioned([each for each in found if each not in workers], workers)
