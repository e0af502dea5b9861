"""Rolls a changed MachineDeployment out: a new MachineSet replaces the old one machine by machine."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from events.kube.client import Object
from events.kube.resources import MACHINESETS
from services.sandbox.clouds.model.actions import Action, Delete, PatchObject
from services.sandbox.clouds.model.annotations import CLUSTER_NAME, DEPLOYMENT_NAME, SINCE
from services.sandbox.clouds.model.conditions import holds
from services.sandbox.clouds.model.objects import deleting, name, owner, replicas, suffix, written
from services.sandbox.clouds.model.snapshot import ClusterSnapshot

SET_FINALIZER = "cluster.x-k8s.io/machineset"
REPLACES = ("version", "bootstrap", "infrastructureRef", "failureDomain")
"""The fields of a pool's template that need new machines."""
SURGE = 1
"""Extra machines during a rollout (maxSurge); none is missing meanwhile: Cluster API's default."""


def current(it: Object, of: Object) -> bool:
    """Whether a MachineSet has the pool's current template."""
    has, wanted = of["spec"]["template"]["spec"], it["spec"]["template"]["spec"]
    return all(has.get(key) == wanted.get(key) for key in REPLACES)


def roll(view: ClusterSnapshot, it: Object, newest: Object, old: Sequence[Object]) -> Iterator[Action]:
    """The next change: one new machine more, one old machine less, or the deletion of an empty MachineSet."""
    if replicas(newest) != (wanted := _wanted(view, it, newest, old)):
        yield PatchObject(MACHINESETS, newest, {"spec": {"replicas": wanted}})
        return
    up = sum(holds(each, "Ready") and not deleting(each) for each in view.of_set(newest))
    going = [each for each in old if not deleting(each)]
    full = next((each for each in going if replicas(each)), None)
    if full is not None and up + sum(map(replicas, going)) > replicas(it):
        yield PatchObject(MACHINESETS, full, {"spec": {"replicas": replicas(full) - 1}})
    elif empty := [each for each in going if not replicas(each) and not view.of_set(each)]:
        yield Delete(MACHINESETS, empty[0])


def _wanted(view: ClusterSnapshot, it: Object, newest: Object, old: Sequence[Object]) -> int:
    """The size of the new MachineSet at this point."""
    there = sum(max(replicas(each), len(view.of_set(each))) for each in old)
    room = replicas(it) + SURGE - there if there else replicas(it)
    return min(replicas(it), max(replicas(newest), room))


def set_of(it: Object, now: datetime, *, rolls: bool) -> Object:
    """A pool's MachineSet: as large as the pool, or empty where it replaces another."""
    template = it["spec"]["template"]
    of = [template["spec"].get(key) for key in REPLACES] if rolls else ["set"]
    mark = suffix(it["metadata"]["uid"], *of)
    labels = {
        CLUSTER_NAME: it["spec"]["clusterName"],
        DEPLOYMENT_NAME: name(it),
        "machine-template-hash": mark,
    }
    meta = template.get("metadata", {})
    mould = {"metadata": meta | {"labels": meta.get("labels", {}) | labels}, "spec": template["spec"]}
    return {
        "metadata": {
            "name": f"{name(it)}-{mark}",
            "namespace": it["metadata"]["namespace"],
            "labels": labels,
            "annotations": {"machinedeployment.clusters.x-k8s.io/revision": "1", SINCE: written(now)},
            "finalizers": [SET_FINALIZER],
            "ownerReferences": [owner(it)],
        },
        "spec": {
            "clusterName": it["spec"]["clusterName"],
            "replicas": 0 if rolls else replicas(it),
            "selector": {"matchLabels": labels},
            "template": mould,
        },
    }
