"""The controllers of Deployments, ReplicaSets, DaemonSets and StatefulSets."""

from collections.abc import Iterator
from datetime import datetime

import msgspec

from events.kube.client import Object, Resource
from events.kube.resources import DEPLOYMENTS, PODS
from services.kubernetes.scheduling import admits
from services.sandbox.clouds.model.actions import Action, Create, Delete, PatchObject, PatchStatus
from services.sandbox.clouds.model.objects import deleting, name, owner, replicas, stamp, status, suffix
from services.sandbox.clouds.workloads.pod_owner import free_names, keep, pod
from services.sandbox.clouds.workloads.view import DAEMONSETS, REPLICASETS, STATEFULSETS, Inside, over, ready, running

HASH = "pod-template-hash"
_EVERYWHERE = [{"operator": "Exists", "key": f"node.kubernetes.io/{why}"} for why in ("not-ready", "unschedulable")]


def sets(view: Inside, now: datetime) -> Iterator[Action]:
    """Reconcile each of them."""
    looks = ((DEPLOYMENTS, _deployment), (REPLICASETS, _replicaset), (DAEMONSETS, _daemonset))
    for resource, look in (*looks, (STATEFULSETS, _statefulset)):
        for each in view.all(resource):
            if not deleting(each):
                yield from look(view, each, now)


def _report_status(resource: Resource, it: Object, said: Object) -> Iterator[Action]:
    said = {"observedGeneration": it["metadata"].get("generation", 1)} | said
    differing = {key: value for key, value in said.items() if status(it).get(key) != value}
    if differing:
        yield PatchStatus(resource, it, differing)


def _deployment(view: Inside, it: Object, now: datetime) -> Iterator[Action]:
    mark = suffix(msgspec.json.encode(it["spec"]["template"], order="deterministic").decode())
    own = view.own(REPLICASETS, it)
    current = next((each for each in own if each["metadata"]["labels"].get(HASH) == mark), None)
    if current is None:
        yield Create(REPLICASETS, _revision(it, mark))
        return
    if replicas(current) != replicas(it):
        yield PatchObject(REPLICASETS, current, {"spec": {"replicas": replicas(it)}})
    up = int(status(current).get("availableReplicas", 0))
    if up >= replicas(it):  # the new ones run: the old ones may go
        old = (each for each in own if each is not current and replicas(each))
        yield from (PatchObject(REPLICASETS, each, {"spec": {"replicas": 0}}) for each in old)
    yield from _report_status(DEPLOYMENTS, it, _progress(it, own, current, now))


def _revision(it: Object, mark: str) -> Object:
    template = it["spec"]["template"]
    meta = template.get("metadata") or {}
    labels = (meta.get("labels") or {}) | {HASH: mark}
    selector = it["spec"]["selector"]
    matching = selector | {"matchLabels": (selector.get("matchLabels") or {}) | {HASH: mark}}
    return {
        "metadata": {
            "name": f"{name(it)}-{mark}",
            "namespace": it["metadata"]["namespace"],
            "labels": labels,
            "ownerReferences": [owner(it)],
        },
        "spec": {
            "replicas": replicas(it),
            "selector": matching,
            "template": {"metadata": meta | {"labels": labels}, "spec": template["spec"]},
        },
    }


def _progress(it: Object, own: list[Object], current: Object, now: datetime) -> Object:
    def total(key: str) -> int:
        return sum(int(status(each).get(key, 0)) for each in own)

    up = total("availableReplicas")
    enough = up >= replicas(it)
    rolled = int(status(current).get("availableReplicas", 0)) >= replicas(it)
    conditions = (
        ("Available", enough, "MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable"),
        ("Progressing", True, "NewReplicaSetAvailable" if rolled else "ReplicaSetUpdated"),
    )
    return {
        "replicas": total("replicas"),
        "updatedReplicas": int(status(current).get("replicas", 0)),
        "readyReplicas": up,
        "availableReplicas": up,
        "unavailableReplicas": max(0, replicas(it) - up),
        "conditions": [_condition(it, *each, now) for each in conditions],
    }


def _condition(it: Object, type_: str, so: bool, reason: str, now: datetime) -> Object:  # noqa: FBT001 - a row of a table
    wanted = {"type": type_, "status": "True" if so else "False", "reason": reason, "message": ""}
    for one in status(it).get("conditions", ()):
        if wanted.items() <= one.items():
            return dict(one)
    return wanted | {"lastTransitionTime": stamp(now), "lastUpdateTime": stamp(now)}


def _counts(own: list[Object]) -> tuple[int, int]:
    living = [each for each in own if not over(each) and not deleting(each)]
    return len(living), sum(map(running, living))


def _replicaset(view: Inside, it: Object, now: datetime) -> Iterator[Action]:
    del now
    own = view.own(PODS, it)
    names = free_names(it, {name(each) for each in own})
    yield from keep(own, replicas(it), names, lambda called: pod(it, called, {}, {}, {}))
    have, up = _counts(own)
    said = {"replicas": have, "fullyLabeledReplicas": have, "readyReplicas": up, "availableReplicas": up}
    yield from _report_status(REPLICASETS, it, said)


def _statefulset(view: Inside, it: Object, now: datetime) -> Iterator[Action]:
    """Create pods one after another, by their ordinals; a name is free once its last pod is deleted."""
    del now
    mine = view.own(PODS, it)
    own = [each for each in mine if not deleting(each)]
    have, up = _counts(own)
    taken = {name(each) for each in mine}
    wanted = [f"{name(it)}-{number}" for number in range(replicas(it))]
    missing = [called for called in wanted if called not in taken]
    yield from (Delete(PODS, each) for each in own if over(each) or name(each) not in wanted)
    if missing and up == have:
        number = missing[0].rpartition("-")[2]
        labels = {"apps.kubernetes.io/pod-index": number, "statefulset.kubernetes.io/pod-name": missing[0]}
        yield Create(PODS, pod(it, missing[0], labels, {}, {"hostname": missing[0]}))
    mark = f"{name(it)}-{suffix(it['metadata']['uid'])}"
    counts = {"replicas": have, "readyReplicas": up, "availableReplicas": up}
    updated = {"updatedReplicas": have, "currentReplicas": have, "currentRevision": mark, "updateRevision": mark}
    yield from _report_status(STATEFULSETS, it, counts | updated)


def _daemonset(view: Inside, it: Object, now: datetime) -> Iterator[Action]:
    """One pod on every node that its selector allows."""
    del now
    spec = it["spec"]["template"]["spec"]
    own = [each for each in view.own(PODS, it) if not deleting(each)]
    wanted = {name(node) for node in view.nodes if ready(node) and _may(spec, node)}
    at = {each["spec"].get("nodeName", ""): each for each in own if not over(each)}
    leaving = {each["spec"].get("nodeName", "") for each in view.own(PODS, it) if deleting(each)}
    yield from (Delete(PODS, each) for each in own if over(each) or each["spec"].get("nodeName") not in wanted)
    for node in sorted(wanted - at.keys() - leaving):
        called = f"{name(it)}-{suffix(it['metadata']['uid'], node)}"
        tolerations = [*(spec.get("tolerations") or ()), *_EVERYWHERE]
        yield Create(PODS, pod(it, called, {}, {}, {"nodeName": node, "tolerations": tolerations}))
    up = sum(running(each) for place, each in at.items() if place in wanted)
    have = len(wanted & at.keys())
    counts = {"desiredNumberScheduled": len(wanted), "currentNumberScheduled": have, "numberMisscheduled": 0}
    ready_ = {"numberReady": up, "numberAvailable": up, "updatedNumberScheduled": have}
    yield from _report_status(DAEMONSETS, it, counts | ready_ | {"numberUnavailable": len(wanted) - up})


def _may(spec: Object, node: Object) -> bool:
    return admits(spec, node["metadata"].get("labels", {}), node["spec"].get("taints", ()), name(node))
