"""How far a cluster's machines have come to a version is read off the objects that every Cluster API has of them."""

from collections.abc import Sequence

from events.errors import NotFound
from events.kube.client import Kube, Object, Resource
from events.kube.resources import MACHINES
from services.clouds.cluster_object import newest, served
from services.clouds.leftovers import CLUSTER_NAME
from services.kubernetes.version_skew import plain

HEAD = "cluster.x-k8s.io/control-plane"
"""The label of the control plane's machines, where it has any."""


async def control_plane(kube: Kube, cluster: Object, version: str) -> str:
    """What of the control plane is not of the version yet, in one sentence; empty if nothing is."""
    there = await _referred(kube, cluster)
    if there is None:
        return ""
    runs = _version(there)
    return "" if plain(runs) == version else f"the control plane gets {version}, {runs or 'nothing'} runs"


async def running(kube: Kube, cluster: Object) -> str:
    """The version of the control plane, as a Colony writes it; empty where none is told."""
    try:
        there = await _referred(kube, cluster)
    except NotFound:
        return ""
    return plain(_version(there)) if there is not None else ""


async def workers(kube: Kube, cluster: Object, version: str) -> str:
    """How many worker machines are of the version; empty if all are."""
    meta = cluster["metadata"]
    named = f"{CLUSTER_NAME}={meta['name']},!{HEAD}"
    listed = await kube.list(await newest(kube, MACHINES), meta["namespace"], labels=named)
    return counted(listed.items, version)


def counted(machines: Sequence[Object], version: str) -> str:
    """The same of these. Pure."""
    there = sum(plain(each["spec"].get("version", "")) == version for each in machines)
    return "" if there == len(machines) else f"{there} of {len(machines)} machines run {version}"


def _version(head: Object) -> str:
    return str(head.get("status", {}).get("version") or "")


async def _referred(kube: Kube, cluster: Object) -> Object | None:
    """The control plane's own object; None where the Cluster has none. Raises NotFound where it is not there."""
    ref = cluster["spec"].get("controlPlaneRef")
    if not ref:
        return None
    group = ref.get("apiGroup") or ref["apiVersion"].partition("/")[0]
    kind = await served(kube, Resource(group, MACHINES.version, "", ref["kind"]))
    if kind is None:
        raise NotFound(f"the API server does not serve {ref['kind']} of {group}")
    return await kube.get(kind, ref["name"], cluster["metadata"]["namespace"])
