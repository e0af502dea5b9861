"""Describes existing machines and clusters of exalsius as a catalog of alate."""

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from shlex import quote
from typing import NamedTuple

from events.kube.port import Object
from schemas.accelerators import canonical
from schemas.wish import cluster_name
from services.cli.migrate.exalsius_reader import (
    CONFIG,
    NETWORKED,
    SPEC,
    ConvertedCluster,
    ExistingSite,
    NotConvertible,
    network,
    within,
)
from services.clouds.template_matching import CONFIG as ANNOTATION
from services.clouds.template_matching import MACHINES, POOL
from services.kubernetes.labels import GROUP

REMOTE, ADOPTED = "remote-cluster-", "adopted-cluster-"
"""How k0rdent's templates for machines reached over SSH begin, and those for clusters that stand already."""
UNTOLD = (
    "what accelerators it has is told by status.gpuInventory alone, where they are of one kind and every node has as "
    "many: take the Colony with its status (kubectl get -o yaml)"
)
OR_SAID = ", or give --accelerator and --per-node"
PATHS = frozenset({f"{SPEC}.template", f"{SPEC}.credential", "clusterName", f"{CONFIG}.{MACHINES}"})
WHY = {
    f"{CONFIG}.controlPlaneNumber": "its control plane has as many pods as its template says",
    f"{SPEC}.propagateCredentials": "there is no cloud whose credentials it could get",
    f"{SPEC}.cleanupOnDeletion": "machines of one's own are always cleaned up, clusters that stand already never",
}


class Accelerators(NamedTuple):
    """What a person says of machines whose accelerators nobody else tells."""

    accelerator: str = ""
    per_node: int = 0


NOTHING = Accelerators()


def carried(colony: Object, written: Object, given: Accelerators) -> ConvertedCluster:
    """A cluster on machines of one's own, or one that is lent whole. Raises NotConvertible."""
    spec, meta = within(written, SPEC), within(colony, "metadata")
    credential, template = spec.get("credential"), str(spec.get("template"))
    if not isinstance(credential, str) or not credential:
        raise NotConvertible(f"{SPEC}.credential", "it is missing, and says how to get in")
    called = cluster_name(str(meta.get("name")), str(written.get("clusterName")))
    machines = _machines(spec) if template.startswith(REMOTE) else []
    gpus = _given(given, machines) or _reported(colony, called, machines)
    cluster = {
        "name": written.get("clusterName", ""),
        "backend": "k0rdent",
        "template": template,
        "clouds": [credential],
        **(network(within(spec, "config")) if machines else {}),
        "pools": [{"name": "gpu", "spot": "never", **gpus.as_("acceleratorsPerNode")}],
    }
    here = {MACHINES: [each | {POOL: called} for each in machines]} if machines else {POOL: called}
    place = ExistingSite(
        str(meta.get("namespace") or "default"), credential, {"name": called, **gpus.as_("accelerators")}, here
    )
    return ConvertedCluster(cluster, PATHS | NETWORKED if machines else PATHS, _fixed(machines), WHY, place)


def _fixed(machines: list[Object]) -> dict[str, object]:
    return {f"{SPEC}.dryRun": False, f"{SPEC}.propagateCredentials": False, f"{SPEC}.cleanupOnDeletion": bool(machines)}


class _Gpus(NamedTuple):
    accelerator: str
    per_node: int
    nodes: int

    def as_(self, each: str) -> Object:
        """As a pool has it, or a catalog: they call the number in each node differently."""
        return {"accelerator": self.accelerator, each: self.per_node, "nodes": self.nodes}


def _machines(spec: Object) -> list[Object]:
    found = within(spec, "config").get(MACHINES)
    if not isinstance(found, list) or not found or not all(isinstance(m, dict) and m.get("address") for m in found):
        raise NotConvertible(f"{CONFIG}.{MACHINES}", "there must be machines, each with an address")
    return found


def _given(given: Accelerators, machines: list[Object]) -> _Gpus | None:
    return _Gpus(*given, len(machines)) if machines and all(given) else None


def _reported(colony: Object, called: str, machines: list[Object]) -> _Gpus:
    """As their inventory has it: every node has as many. Raises NotConvertible."""
    listed = within(colony, "status", "gpuInventory", called).get("offerings")
    only = listed[0] if isinstance(listed, list) and len(listed) == 1 and isinstance(listed[0], dict) else {}
    total, nodes = only.get("total"), len(machines) or only.get("nodes")
    model = canonical(str(only.get("model", "")))
    if not model or not isinstance(total, int) or not isinstance(nodes, int) or nodes < 1 or total % nodes:
        raise NotConvertible(
            f"{CONFIG}.{MACHINES}" if machines else f"{SPEC}.template", UNTOLD + (OR_SAID if machines else "")
        )
    return _Gpus(model, total // nodes, nodes)


def steps(places: Iterable[ExistingSite]) -> Iterator[str]:
    """What a person has to do, so that clusters find their places: a catalog and a Credential for each cloud."""
    by = attrgetter("namespace", "credential")
    places = sorted(places, key=by)
    for (namespace, credential), each in groupby(places, key=by):
        here = list(each)
        machines = [machine for one in here for machine in one.config.get(MACHINES, ())]
        config = {MACHINES: machines} if machines else here[0].config
        kubectl = f"kubectl -n {quote(namespace)}"
        yield f"write a catalog {credential}.yaml: {json.dumps({'pools': [one.pool for one in here]})}"
        yield f"{kubectl} label credential {quote(credential)} {GROUP}/cloud={quote(credential)}"
        yield f"{kubectl} annotate credential {quote(credential)} {quote(f'{ANNOTATION}={json.dumps(config)}')}"
    if catalogs := ",".join(dict.fromkeys(f"{place.credential}.yaml" for place in places)):
        yield f"add {catalogs} to what ALATE_CATALOG names for the inventory, and start that anew"
