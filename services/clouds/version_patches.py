"""What of an attempt's manifests hangs on the version of Kubernetes, and in which order it may change."""

from typing import NamedTuple

import msgspec

from events.errors import Denied
from events.kube.port import Object
from schemas.placement import Attempt
from schemas.wish import Wish
from services.clouds.manifests import render
from services.clouds.replica_patches import differing

MARK = "${KUBERNETES_VERSION}"
NO_VERSION = "v0.0.0"
"""Nobody asks for it: whatever is not the same with it hangs on the version."""
WORKERS = ("MachineDeployment", "MachinePool")
FIXED = "Template"
"""How the kinds end that machines are made from: providers let none of these change."""

Patches = list[tuple[Object, Object]]
"""Documents, each with a merge patch of what hangs on the version."""


class Versioned(NamedTuple):
    """What says the version: a kubelet may never be newer than the API server that it speaks to."""

    first: Patches
    """The control plane, and whatever else is nobody's worker."""
    then: Patches
    """The workers, once all of the control plane runs it."""


def versioned(text: str, wish: Wish, attempt: Attempt) -> Versioned:
    """By rendering a template with another version. Raises Denied where that cannot be changed."""
    other = msgspec.structs.replace(wish, need=msgspec.structs.replace(wish.need, kubernetes_version=NO_VERSION))
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
