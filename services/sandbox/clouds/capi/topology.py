"""The topology controller: creates what a ClusterClass asks for and reverts manual changes to it."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from events.kube.client import Object, Resource
from events.kube.resources import CLUSTERS, MACHINEDEPLOYMENTS
from services.sandbox.clouds.model.actions import Action, Create, Delete, PatchObject
from services.sandbox.clouds.model.annotations import (
    CLOUD,
    CLUSTER_NAME,
    CONTROLPLANES,
    DEPLOYMENT_NAME,
    DEVCLUSTERS,
    FOR_CLOUD,
    INSTANCE,
    REGION,
    SPOT,
    ZONE,
)
from services.sandbox.clouds.model.objects import annotation, deleting, label, name, replicas, status
from services.sandbox.clouds.model.snapshot import ClusterSnapshot, SimulationRules

OWNED = "topology.cluster.x-k8s.io/owned"
"""The label of objects that a topology created."""


def topology(view: ClusterSnapshot, now: datetime, rules: SimulationRules) -> Iterator[Action]:
    """Reconcile a Cluster that has a topology: the first change that is still missing."""
    del now, rules
    it = view.cluster
    if it is None or deleting(it) or view.of_class is None:
        return
    for part in (_refer(view, it), _found(view, it), _head(view, it), _pools(view, it)):
        if changes := tuple(part):
            yield from changes
            return


def _refer(view: ClusterSnapshot, it: Object) -> Iterator[Action]:
    """Set the Cluster's references to its parts."""
    if it["spec"].get("infrastructureRef"):
        return
    notes = {
        CLOUD: label(view.of_class, FOR_CLOUD) if view.of_class else "",
        REGION: str(_current_variables(it).get("region", "")),
    }
    refs = {
        field: {"apiGroup": kind.group, "kind": kind.kind, "name": name(it)}
        for field, kind in (("infrastructureRef", DEVCLUSTERS), ("controlPlaneRef", CONTROLPLANES))
    }
    yield PatchObject(CLUSTERS, it, {"metadata": {"annotations": notes}, "spec": refs})


def _found(view: ClusterSnapshot, it: Object) -> Iterator[Action]:
    if view.infra is None:
        yield Create(DEVCLUSTERS, _meta(it, name(it)) | {"spec": {"backend": {"inMemory": {}}}})
    if view.control is None:
        yield Create(CONTROLPLANES, _meta(it, name(it)) | {"spec": _control(it)})


def _control(it: Object) -> Object:
    asked = it["spec"]["topology"]
    return {"replicas": asked.get("controlPlane", {}).get("replicas", 1), "version": asked["version"]}


def _head(view: ClusterSnapshot, it: Object) -> Iterator[Action]:
    if view.control is not None:
        yield from _so(CONTROLPLANES, view.control, _control(it))


def _so(resource: Resource, there: Object, wanted: Object) -> Iterator[Action]:
    """Restore fields of a spec that differ."""
    if other := {key: value for key, value in wanted.items() if there["spec"].get(key) != value}:
        yield PatchObject(resource, there, {"spec": other})


def _pools(view: ClusterSnapshot, it: Object) -> Iterator[Action]:
    """Create and scale the pools; upgrade them once the whole control plane is upgraded."""
    there = {name(each): each for each in view.pools if OWNED in each["metadata"].get("labels", {})}
    asked = {f"{name(it)}-{each['name']}": each for each in _wanted_variables(it)}
    version = status(view.control).get("version", "") if view.control else ""
    for called, pool in asked.items():
        if called not in there:
            yield Create(MACHINEDEPLOYMENTS, _pool(it, called, pool, version or it["spec"]["topology"]["version"]))
        elif not deleting(there[called]):
            yield from _sized(there[called], pool, version)
    yield from (
        Delete(MACHINEDEPLOYMENTS, there[each]) for each in there.keys() - asked.keys() if not deleting(there[each])
    )


def _sized(there: Object, pool: Object, version: str) -> Iterator[Action]:
    """Leave replicas that the topology does not set to an autoscaler."""
    wanted: Object = {"replicas": pool["replicas"]} if replicas(there) != pool.get("replicas", replicas(there)) else {}
    notes = pool.get("metadata", {}).get("annotations", {})
    if any(annotation(there, key) != value for key, value in notes.items()):
        yield PatchObject(MACHINEDEPLOYMENTS, there, {"metadata": {"annotations": notes}})
        return
    if version and there["spec"]["template"]["spec"]["version"] != version:
        wanted["template"] = {"spec": {"version": version}}
    if wanted:
        yield PatchObject(MACHINEDEPLOYMENTS, there, {"spec": wanted})


def _pool(it: Object, called: str, pool: Object, version: str) -> Object:
    variables = {**_current_variables(it), **_variables(pool.get("variables", {}).get("overrides", ()))}
    notes = {
        INSTANCE: str(variables.get("instanceType", "")),
        SPOT: str(variables.get("spot", "")).lower(),
        ZONE: str(pool.get("failureDomain", "")),
    }
    labels = {CLUSTER_NAME: name(it), DEPLOYMENT_NAME: called}
    asked, noted = (pool.get("metadata", {}).get(part, {}) for part in ("labels", "annotations"))
    machine = {
        "clusterName": name(it),
        "version": version,
        "bootstrap": {"dataSecretName": f"{called}-bootstrap"},
        "infrastructureRef": {"apiGroup": DEVCLUSTERS.group, "kind": "DevMachineTemplate", "name": called},
    }
    spec = {
        "clusterName": name(it),
        **({"replicas": pool["replicas"]} if "replicas" in pool else {}),
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": asked | labels, "annotations": notes}, "spec": machine},
    }
    made = _meta(it, called)
    return made | {"metadata": made["metadata"] | {"annotations": noted}, "spec": spec}


def _meta(it: Object, called: str) -> Object:
    labels = {CLUSTER_NAME: name(it), OWNED: ""}
    return {"metadata": {"name": called, "namespace": it["metadata"]["namespace"], "labels": labels}}


def _wanted_variables(it: Object) -> list[Object]:
    return list(it["spec"]["topology"].get("workers", {}).get("machineDeployments", ()))


def _current_variables(it: Object) -> Mapping[str, object]:
    return _variables(it["spec"]["topology"].get("variables", ()))


def _variables(listed: object) -> Mapping[str, object]:
    return {each["name"]: each["value"] for each in listed} if isinstance(listed, list) else {}
