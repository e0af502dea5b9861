"""The Cluster's controller adds up what all others say, and takes a cluster down in its order."""

from collections.abc import Iterator
from datetime import datetime

from events.kube.client import Object
from events.kube.resources import CLUSTERS, MACHINEDEPLOYMENTS
from services.sandbox.clouds.capi.cluster_status import speak, stage
from services.sandbox.clouds.model.actions import Change, Drop, Edit, End, Wait
from services.sandbox.clouds.model.annotations import CLUSTER_NAME, CONTROLPLANES, DEVCLUSTERS, place
from services.sandbox.clouds.model.conditions import paused, told
from services.sandbox.clouds.model.objects import after, deleting, greet, label, let_go, name, owned, owner, since
from services.sandbox.clouds.model.snapshot import Laws, View

FINALIZER = "cluster.cluster.x-k8s.io"


def cluster(view: View, now: datetime, laws: Laws) -> Iterator[Change]:
    """One look at a Cluster."""
    it = view.cluster
    if it is None:
        return
    yield from greet(CLUSTERS, it, FINALIZER, now)
    if FINALIZER not in it["metadata"].get("finalizers", ()):
        return
    yield from paused(CLUSTERS, it, now)
    if told(it, "Paused") is None:
        return
    settled = after(since(it), laws.clock.settle)
    if not view.started and now < settled and not deleting(it):
        yield Wait(settled)
        return
    yield from _reconcile(view, it, now, laws)


def _reconcile(view: View, it: Object, now: datetime, laws: Laws) -> Iterator[Change]:
    """Exactly one thing: the first that is not yet so."""
    for part in (_adopt(view, it), _take_down(view, it), speak(view, it, now, laws), _finish(view, it)):
        changes = tuple(part)
        if changes:
            yield from changes
            return


def _adopt(view: View, it: Object) -> Iterator[Change]:
    if deleting(it):
        return
    parts = ((CONTROLPLANES, view.control), (DEVCLUSTERS, view.infra))
    pools = ((MACHINEDEPLOYMENTS, pool) for pool in view.pools)
    for resource, each in (*parts, *pools):
        if each is not None and not (owned(each, it) and label(each, CLUSTER_NAME)):
            held = [one for one in each["metadata"].get("ownerReferences", []) if one["uid"] != it["metadata"]["uid"]]
            owners = [*held, owner(it, controls=resource is not MACHINEDEPLOYMENTS)]
            meta = {"ownerReferences": owners, "labels": {CLUSTER_NAME: name(it)}}
            yield Edit(resource, each, {"metadata": meta})


def _take_down(view: View, it: Object) -> Iterator[Change]:
    """Workers, then the control plane, then what they stood on."""
    if not deleting(it):
        return
    if stage(view) == "WaitingForWorkersDeletion":
        yield from (End(MACHINEDEPLOYMENTS, pool) for pool in view.pools if not deleting(pool))
    elif view.control is not None and not deleting(view.control):
        yield End(CONTROLPLANES, view.control)
    elif view.control is None and view.infra is not None and not deleting(view.infra):
        yield End(DEVCLUSTERS, view.infra)


def _finish(view: View, it: Object) -> Iterator[Change]:
    if deleting(it) and stage(view) == "DeletionCompleted":
        yield Drop(place(it))
        yield from let_go(CLUSTERS, it, FINALIZER)
