"""Machines and clusters that exist once are each claimed by a ConfigMap that the ClusterDeployment using it owns."""

from collections.abc import Iterable, Mapping
from hashlib import sha256

from events.errors import Denied, NoCapacity, NotFound, TryLater
from events.kube.client import Kube, Object
from events.kube.resources import CLUSTERDEPLOYMENTS, CONFIGMAPS
from schemas.placement import Lot
from services.clouds.template_matching import MACHINES, POOL
from services.kubernetes.labels import ATTEMPT, CLUSTER, UID

OWNER_LABELS = (CLUSTER, UID, ATTEMPT)


async def claim_once(kube: Kube, deployment: Object, kind: str, thing: Mapping[str, str]) -> bool:
    """Whether the thing is this attempt's, by a claim made now or earlier; its values name it.

    Raises TryLater while a claim of it is being deleted.
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
            raise TryLater(f"{gone.message}: it was released just now", 0.5) from gone
        return all(there.get("labels", {}).get(mark) == meta["labels"][mark] for mark in OWNER_LABELS)
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


def machines_offered_as(needed: Object, lot: Lot) -> list[Object]:
    """The machines of a lot, as a Credential lists them. Raises Denied if the list is invalid."""
    machines = needed.get(MACHINES)
    if not isinstance(machines, list) or not all(isinstance(each, dict) and each.get("address") for each in machines):
        raise Denied(f"{MACHINES} must be a list, each with an address and a {POOL} of the catalog", "BadConfiguration")
    return [each for each in machines if each.get(POOL) == lot.instance]


async def claim_machines(kube: Kube, deployment: Object, machines: Iterable[Object], nodes: int) -> list[Object]:
    """Claim that many machines for this ClusterDeployment alone, as long as it exists. Raises NoCapacity."""
    own = await _claimed_addresses(kube, deployment)
    taken: list[Object] = []
    for machine in sorted(machines, key=lambda each: _address(each) not in own):
        if len(taken) < nodes and await claim_once(kube, deployment, "machine", {"address": _address(machine)}):
            taken.append({key: value for key, value in machine.items() if key != POOL})
    if len(taken) < nodes:
        raise NoCapacity(f"{len(taken)} of {nodes} machines are free")
    return taken


def _address(machine: Object) -> str:
    return f"{machine['address']}:{machine.get('port', 22)}"


async def _claimed_addresses(kube: Kube, deployment: Object) -> set[str]:
    """The addresses it has claimed already: they come first, so that it holds no more than it uses."""
    marks = ",".join(f"{mark}={deployment['metadata']['labels'][mark]}" for mark in OWNER_LABELS)
    found = await kube.list(CONFIGMAPS, deployment["metadata"]["namespace"], labels=marks)
    return {str(each.get("data", {}).get("address")) for each in found.items}
