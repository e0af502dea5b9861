"""Own machines, reached over SSH, are claimed one by one before k0rdent may touch them: none is ever promised twice."""

from collections.abc import Iterable
from hashlib import sha256

from events.faults import Denied, NoCapacity, NotFound, TryLater
from events.kinds import CLUSTERDEPLOYMENTS, CONFIGMAPS
from events.kube import Kube, Object
from schemas.placement import Lot
from services.clouds.marks import ATTEMPT, CLUSTER, UID
from services.clouds.means import MACHINES

POOL = "pool"
"""Says, of each, as which of the catalog's own nodes it is offered; k0rdent is not told."""
WHOSE = (CLUSTER, UID, ATTEMPT)


def listed(needed: Object, lot: Lot) -> list[Object]:
    """The machines of what was bought, as a Credential names them. Raises Denied where that is nonsense."""
    machines = needed.get(MACHINES)
    if not isinstance(machines, list) or not all(isinstance(each, dict) and each.get("address") for each in machines):
        raise Denied(f"{MACHINES} must be a list, each with an address and a {POOL} of the catalog", "BadConfiguration")
    return [each for each in machines if each.get(POOL) == lot.instance]


async def claim(kube: Kube, deployment: Object, machines: Iterable[Object], nodes: int) -> list[Object]:
    """So many machines that belong to this ClusterDeployment alone, as long as it is there. Raises NoCapacity."""
    own = await _addresses(kube, deployment)
    claimed: list[Object] = []
    for machine in sorted(machines, key=lambda each: _address(each) not in own):
        if len(claimed) < nodes and await _claimed(kube, _claim(deployment, machine)):
            claimed.append({key: value for key, value in machine.items() if key != POOL})
    if len(claimed) < nodes:
        raise NoCapacity(f"{len(claimed)} of {nodes} machines are free")
    return claimed


def _claim(deployment: Object, machine: Object) -> Object:
    """A ConfigMap by the machine's address: there can be but one, and it goes with the ClusterDeployment."""
    meta = deployment["metadata"]
    address = _address(machine)
    owner = {"apiVersion": CLUSTERDEPLOYMENTS.api_version, "kind": CLUSTERDEPLOYMENTS.kind}
    return {
        "metadata": {
            "name": f"alate-machine-{sha256(address.encode()).hexdigest()[:16]}",
            "namespace": meta["namespace"],
            "labels": meta["labels"],
            "ownerReferences": [owner | {"name": meta["name"], "uid": meta["uid"]}],
        },
        "data": {"address": address},
    }


def _address(machine: Object) -> str:
    return f"{machine['address']}:{machine.get('port', 22)}"


async def _addresses(kube: Kube, deployment: Object) -> set[str]:
    """What it has claimed before: those come first, lest it hold more than it uses."""
    marks = ",".join(f"{mark}={deployment['metadata']['labels'][mark]}" for mark in WHOSE)
    found = await kube.list(CONFIGMAPS, deployment["metadata"]["namespace"], labels=marks)
    return {str(each.get("data", {}).get("address")) for each in found.items}


async def _claimed(kube: Kube, wanted: Object) -> bool:
    """Whether the machine is this attempt's, by a claim made now or before."""
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
