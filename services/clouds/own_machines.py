"""Own machines, reached over SSH, are claimed one by one before k0rdent may touch them: none is ever promised twice."""

from collections.abc import Iterable

from events.errors import Denied, NoCapacity
from events.kube.client import Kube, Object
from events.kube.resources import CONFIGMAPS
from schemas.placement import Lot
from services.clouds.claims import WHOSE, claimed
from services.clouds.template_matching import MACHINES, POOL


def listed(needed: Object, lot: Lot) -> list[Object]:
    """The machines of what was bought, as a Credential names them. Raises Denied where that is nonsense."""
    machines = needed.get(MACHINES)
    if not isinstance(machines, list) or not all(isinstance(each, dict) and each.get("address") for each in machines):
        raise Denied(f"{MACHINES} must be a list, each with an address and a {POOL} of the catalog", "BadConfiguration")
    return [each for each in machines if each.get(POOL) == lot.instance]


async def claim(kube: Kube, deployment: Object, machines: Iterable[Object], nodes: int) -> list[Object]:
    """So many machines that belong to this ClusterDeployment alone, as long as it is there. Raises NoCapacity."""
    own = await _addresses(kube, deployment)
    taken: list[Object] = []
    for machine in sorted(machines, key=lambda each: _address(each) not in own):
        if len(taken) < nodes and await claimed(kube, deployment, "machine", {"address": _address(machine)}):
            taken.append({key: value for key, value in machine.items() if key != POOL})
    if len(taken) < nodes:
        raise NoCapacity(f"{len(taken)} of {nodes} machines are free")
    return taken


def _address(machine: Object) -> str:
    return f"{machine['address']}:{machine.get('port', 22)}"


async def _addresses(kube: Kube, deployment: Object) -> set[str]:
    """What it has claimed before: those come first, lest it hold more than it uses."""
    marks = ",".join(f"{mark}={deployment['metadata']['labels'][mark]}" for mark in WHOSE)
    found = await kube.list(CONFIGMAPS, deployment["metadata"]["namespace"], labels=marks)
    return {str(each.get("data", {}).get("address")) for each in found.items}
