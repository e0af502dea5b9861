"""The controller of Cluster objects: sums up their parts and deletes them in order."""

from collections.abc import Iterator
from datetime import datetime

from events.kube.client import Object
from events.kube.resources import CLUSTERS, MACHINEDEPLOYMENTS
from services.sandbox.clouds.capi.cluster_status import report_status, stage
from services.sandbox.clouds.model.actions import Action, Delete, PatchObject, StopApi, WaitUntil
from services.sandbox.clouds.model.annotations import CLUSTER_NAME, CONTROLPLANES, DEVCLUSTERS, place
from services.sandbox.clouds.model.conditions import current_condition, paused
from services.sandbox.clouds.model.objects import (
    add_finalizer,
    after,
    deleting,
    label,
    name,
    owned,
    owner,
    remove_finalizer,
    since,
)
from services.sandbox.clouds.model.snapshot import ClusterSnapshot, SimulationRules

FINALIZER = "cluster.cluster.x-k8s.io"


def cluster(view: ClusterSnapshot, now: datetime, rules: SimulationRules) -> Iterator[Action]:
    """Reconcile a Cluster."""
    it = view.cluster
    if it is None:
        return
    yield from add_finalizer(CLUSTERS, it, FINALIZER, now)
    if FINALIZER not in it["metadata"].get("finalizers", ()):
        return
    yield from paused(CLUSTERS, it, now)
    if current_condition(it, "Paused") is None:
        return
    settled = after(since(it), rules.clock.settle)
    if not view.started and now < settled and not deleting(it):
        yield WaitUntil(settled)
        return
    yield from _reconcile(view, it, now, rules)


def _reconcile(view: ClusterSnapshot, it: Object, now: datetime, rules: SimulationRules) -> Iterator[Action]:
    """The first change that is still missing."""
    for part in (_adopt(view, it), _take_down(view, it), report_status(view, it, now, rules), _finish(view, it)):
        changes = tuple(part)
        if changes:
            yield from changes
            return


def _adopt(view: ClusterSnapshot, it: Object) -> Iterator[Action]:
    if deleting(it):
        return
    parts = ((CONTROLPLANES, view.control), (DEVCLUSTERS, view.infra))
    pools = ((MACHINEDEPLOYMENTS, pool) for pool in view.pools)
    for resource, each in (*parts, *pools):
        if each is not None and not (owned(each, it) and label(each, CLUSTER_NAME)):
            held = [one for one in each["metadata"].get("ownerReferences", []) if one["uid"] != it["metadata"]["uid"]]
            owners = [*held, owner(it, controls=resource is not MACHINEDEPLOYMENTS)]
            meta = {"ownerReferences": owners, "labels": {CLUSTER_NAME: name(it)}}
            yield PatchObject(resource, each, {"metadata": meta})


def _take_down(view: ClusterSnapshot, it: Object) -> Iterator[Action]:
    """Delete the workers, then the control plane, then the infrastructure."""
    if not deleting(it):
        return
    if stage(view) == "WaitingForWorkersDeletion":
        yield from (Delete(MACHINEDEPLOYMENTS, pool) for pool in view.pools if not deleting(pool))
    elif view.control is not None and not deleting(view.control):
        yield Delete(CONTROLPLANES, view.control)
    elif view.control is None and view.infra is not None and not deleting(view.infra):
        yield Delete(DEVCLUSTERS, view.infra)


def _finish(view: ClusterSnapshot, it: Object) -> Iterator[Action]:
    if deleting(it) and stage(view) == "DeletionCompleted":
        yield StopApi(place(it))
        yield from remove_finalizer(CLUSTERS, it, FINALIZER)
