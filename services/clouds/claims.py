"""What there is but once is claimed by a ConfigMap of its name, which goes with the ClusterDeployment that holds it."""

from collections.abc import Mapping
from hashlib import sha256

from events.errors import Denied, NotFound, TryLater
from events.kube.client import Kube, Object
from events.kube.resources import CLUSTERDEPLOYMENTS, CONFIGMAPS
from services.clouds.labels import ATTEMPT, CLUSTER, UID

WHOSE = (CLUSTER, UID, ATTEMPT)


async def claimed(kube: Kube, deployment: Object, kind: str, thing: Mapping[str, str]) -> bool:
    """Whether a thing of a kind is this attempt's, by a claim made now or before; its values name it.

    Raises TryLater while a claim of it is going.
    """
    wanted = _claim(deployment, kind, thing)
    meta = wanted["metadata"]
    try:
        await kube.create(CONFIGMAPS, wanted)
    except Denied as denied:
        if denied.reason != "AlreadyExists":
            raise
        try:
            there = (await kube.get(CONFIGMAPS, meta["name"], meta["namespace"]))["metadata"]
        except NotFound as gone:
            raise TryLater(f"{gone.message}: it was let go just now", 0.5) from gone
        return all(there.get("labels", {}).get(mark) == meta["labels"][mark] for mark in WHOSE)
    return True


def _claim(deployment: Object, kind: str, thing: Mapping[str, str]) -> Object:
    meta = deployment["metadata"]
    owner = {"apiVersion": CLUSTERDEPLOYMENTS.api_version, "kind": CLUSTERDEPLOYMENTS.kind}
    digest = sha256("".join(thing.values()).encode()).hexdigest()[:16]
    return {
        "metadata": {
            "name": f"alate-{kind}-{digest}",
            "namespace": meta["namespace"],
            "labels": meta["labels"],
            "ownerReferences": [owner | {"name": meta["name"], "uid": meta["uid"]}],
        },
        "data": dict(thing),
    }
