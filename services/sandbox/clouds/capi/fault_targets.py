"""Chooses the machines that a fault meets, once; the Cluster records them, so that their successors are spared."""

from collections.abc import Iterator
from datetime import datetime

from events.kube.client import Object
from events.kube.resources import CLUSTERS, MACHINES
from services.sandbox.clouds.model.actions import Action, AddNode, PatchObject, RemoveNode
from services.sandbox.clouds.model.annotations import BROKEN, DARK, PREEMPTED, place
from services.sandbox.clouds.model.billing import given_back
from services.sandbox.clouds.model.node import broken, node, silent
from services.sandbox.clouds.model.objects import annotation, deleting, name, status, written
from services.sandbox.clouds.model.snapshot import ClusterSnapshot, SimulationRules


def choose_targets(view: ClusterSnapshot, now: datetime, rules: SimulationRules) -> Iterator[Action]:
    """Choose the targets of each fault that is requested."""
    del now
    if view.cluster is None or deleting(view.cluster):
        return
    for key, patterns in ((PREEMPTED, rules.faults.preempted), (DARK, rules.faults.dark)):
        met = view.met(key)
        lacking = view.count(patterns) - len(met)
        if lacking > 0 and (more := _next(view)[:lacking]):
            yield PatchObject(CLUSTERS, view.cluster, {"metadata": {"annotations": {key: ",".join([*met, *more])}}})
            return


def _next(view: ClusterSnapshot) -> list[str]:
    """Workers without a fault, in alphabetical order."""
    met = {*view.met(PREEMPTED), *view.met(DARK)}
    free = [each for each in view.workers if "nodeRef" in status(each) and _uid(each) not in met]
    return [_uid(each) for each in sorted(free, key=name)]


def _uid(of: Object) -> str:
    """The uid that tells an object from its successor of the same name."""
    return str(of["metadata"]["uid"])


def apply_fault(view: ClusterSnapshot, it: Object, now: datetime, rules: SimulationRules) -> Iterator[Action]:
    """Apply the fault that was chosen for a machine: the first change that is still missing."""
    if "nodeRef" not in status(it) or annotation(it, PREEMPTED) or view.cluster is None:
        return
    for part in (_lose(view, it, now), _change(view, it, now, rules)):
        if changes := tuple(part):
            yield from changes
            return


def _lose(view: ClusterSnapshot, it: Object, now: datetime) -> Iterator[Action]:
    """Preempt the machine."""
    if _uid(it) in view.met(PREEMPTED) and view.cluster is not None:
        yield RemoveNode(place(view.cluster), name(it))
        yield given_back(view.cluster, it, now)
        yield PatchObject(MACHINES, it, {"metadata": {"annotations": {PREEMPTED: written(now)}}})


def _change(view: ClusterSnapshot, it: Object, now: datetime, rules: SimulationRules) -> Iterator[Action]:
    """Update the Node's GPU count and readiness."""
    dark, missing = silent(view, it, rules), str(broken(view, it, rules))
    if (annotation(it, BROKEN, "0"), bool(annotation(it, DARK))) == (missing, dark) or view.cluster is None:
        return
    yield AddNode(place(view.cluster), node(view, it, rules, now))
    at = (annotation(it, DARK) or written(now)) if dark else None
    yield PatchObject(MACHINES, it, {"metadata": {"annotations": {BROKEN: missing, DARK: at}}})
