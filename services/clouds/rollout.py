"""How many of a cluster's machines run a version, read from the objects of every Cluster API."""

from collections.abc import Sequence

from events.errors import NotFound
from events.kube.client import Kube, Object, Resource
from events.kube.resources import MACHINES
from services.clouds.cluster_object import newest_served, served
from services.clouds.leftovers import CLUSTER_NAME
from services.kubernetes.version_skew import plain

CONTROL_PLANE_LABEL = "cluster.x-k8s.io/control-plane"
"""The label of the control plane's machines, if it has any."""


async def control_plane_progress(kube: Kube, cluster: Object, version: str) -> str:
    """What of the control plane does not run the version yet, in one sentence; empty if everything does."""
    there = await _control_plane(kube, cluster)
    if there is None:
        return ""
    runs = _version(there)
    return "" if plain(runs) == version else f"the control plane gets {version}, {runs or 'nothing'} runs"


async def running_version(kube: Kube, cluster: Object) -> str:
    """The version of the control plane, as a Colony writes it; empty if it is unknown."""
    try:
        there = await _control_plane(kube, cluster)
    except NotFound:
        return ""
    return plain(_version(there)) if there is not None else ""


async def worker_progress(kube: Kube, cluster: Object, version: str) -> str:
    """How many worker machines run the version; empty if all do."""
    meta = cluster["metadata"]
    named = f"{CLUSTER_NAME}={meta['name']},!{CONTROL_PLANE_LABEL}"
    listed = await kube.list(await newest_served(kube, MACHINES), meta["namespace"], labels=named)
    return machine_progress(listed.items, version)


def machine_progress(machines: Sequence[Object], version: str) -> str:
    """How many of these machines run the version; empty if all do. Pure."""
    there = sum(plain(each["spec"].get("version", "")) == version for each in machines)
    return "" if there == len(machines) else f"{there} of {len(machines)} machines run {version}"


def _version(head: Object) -> str:
    return str(head.get("status", {}).get("version") or "")


async def _control_plane(kube: Kube, cluster: Object) -> Object | None:
    """The control plane's own object; None if the Cluster names none. Raises NotFound if it does not exist."""
    ref = cluster["spec"].get("controlPlaneRef")
    if not ref:
        return None
    group = ref.get("apiGroup") or ref["apiVersion"].partition("/")[0]
    kind = await served(kube, Resource(group, MACHINES.version, "", ref["kind"]))
    if kind is None:
        raise NotFound(f"the API server does not serve {ref['kind']} of {group}")
    return await kube.get(kind, ref["name"], cluster["metadata"]["namespace"])
