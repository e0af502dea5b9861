"""Which machines a fault meets is chosen once and kept on the Cluster, so that it never meets their successors."""

from collections.abc import Iterator
from datetime import datetime

from events.kube.client import Object
from events.kube.resources import CLUSTERS, MACHINES
from services.sandbox.clouds.model.actions import AddNode, Change, Patch, RemoveNode
from services.sandbox.clouds.model.annotations import BROKEN, DARK, PREEMPTED, place
from services.sandbox.clouds.model.billing import given_back
from services.sandbox.clouds.model.node import broken, node, silent
from services.sandbox.clouds.model.objects import annotation, deleting, name, status, written
from services.sandbox.clouds.model.snapshot import Rules, View


def choose_targets(view: View, now: datetime, rules: Rules) -> Iterator[Change]:
    """One look at what has befallen a cluster's machines."""
    del now
    if view.cluster is None or deleting(view.cluster):
        return
    for key, patterns in ((PREEMPTED, rules.faults.preempted), (DARK, rules.faults.dark)):
        met = view.met(key)
        lacking = view.count(patterns) - len(met)
        if lacking > 0 and (more := _next(view)[:lacking]):
            yield Patch(CLUSTERS, view.cluster, {"metadata": {"annotations": {key: ",".join([*met, *more])}}})
            return


def _next(view: View) -> list[str]:
    """Workers that nothing has befallen yet, in the order of the alphabet."""
    met = {*view.met(PREEMPTED), *view.met(DARK)}
    free = [each for each in view.workers if "nodeRef" in status(each) and _uid(each) not in met]
    return [_uid(each) for each in sorted(free, key=name)]


def _uid(of: Object) -> str:
    """What its successor of the same name does not bear."""
    return str(of["metadata"]["uid"])


def apply_fault(view: View, it: Object, now: datetime, rules: Rules) -> Iterator[Change]:
    """What was chosen for one machine happens to it; exactly one thing."""
    if "nodeRef" not in status(it) or annotation(it, PREEMPTED) or view.cluster is None:
        return
    for part in (_lose(view, it, now), _change(view, it, now, rules)):
        if changes := tuple(part):
            yield from changes
            return


def _lose(view: View, it: Object, now: datetime) -> Iterator[Change]:
    """The cloud takes it back."""
    if _uid(it) in view.met(PREEMPTED) and view.cluster is not None:
        yield RemoveNode(place(view.cluster), name(it))
        yield given_back(view.cluster, it, now)
        yield Patch(MACHINES, it, {"metadata": {"annotations": {PREEMPTED: written(now)}}})


def _change(view: View, it: Object, now: datetime, rules: Rules) -> Iterator[Change]:
    """Its Node shows as many GPUs as work, and whether its kubelet is still heard."""
    dark, missing = silent(view, it, rules), str(broken(view, it, rules))
    if (annotation(it, BROKEN, "0"), bool(annotation(it, DARK))) == (missing, dark) or view.cluster is None:
        return
    yield AddNode(place(view.cluster), node(view, it, rules, now))
    at = (annotation(it, DARK) or written(now)) if dark else None
    yield Patch(MACHINES, it, {"metadata": {"annotations": {BROKEN: missing, DARK: at}}})
