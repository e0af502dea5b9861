"""The controller of Machines: one Machine, one virtual machine, one Node."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count

from events.kube.client import Object
from events.kube.resources import MACHINES
from services.sandbox.clouds.capi.fault_targets import apply_fault
from services.sandbox.clouds.capi.machine_deletion import leave
from services.sandbox.clouds.capi.machine_status import FINALIZER, GATES, head, may_boot, refusal, report_status
from services.sandbox.clouds.model.actions import Action, AddNode, PatchObject, PatchStatus, WaitUntil
from services.sandbox.clouds.model.annotations import CLUSTER_NAME, CONTROL_PLANE, SINCE, STARTED, TURN, place
from services.sandbox.clouds.model.billing import bought
from services.sandbox.clouds.model.conditions import holds, paused
from services.sandbox.clouds.model.node import node
from services.sandbox.clouds.model.objects import (
    after,
    annotation,
    deleting,
    marked,
    name,
    owner,
    status,
    suffix,
    written,
)
from services.sandbox.clouds.model.snapshot import ClusterSnapshot, SimulationRules


@dataclass(frozen=True)
class MachineTemplate:
    """The fields that all machines of one owner share."""

    owner: Object
    labels: dict[str, str]
    version: str = ""
    notes: dict[str, str] = field(default_factory=dict)


def machine(
    view: ClusterSnapshot, of: MachineTemplate, number: int, now: datetime, notes: dict[str, str] | None = None
) -> Object:
    """A new Machine; the name follows from owner and number."""
    called = f"{name(of.owner)}-{suffix(of.owner['metadata']['uid'], number)}"
    infra = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachine", "name": called}
    bootstrap = {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfig", "name": called}
    gates = {"readinessGates": [{"conditionType": gate} for gate in GATES]} if CONTROL_PLANE in of.labels else {}
    return {
        "metadata": {
            "name": called,
            "namespace": view.namespace,
            "labels": {CLUSTER_NAME: view.name} | of.labels,
            "annotations": {SINCE: written(now)} | of.notes | (notes or {}),
            "finalizers": [FINALIZER],
            "ownerReferences": [owner(of.owner)],
        },
        "spec": {
            "clusterName": view.name,
            "bootstrap": {"configRef": bootstrap},
            "infrastructureRef": infra,
            "version": of.version,
        }
        | gates,
    }


def unnamed(
    view: ClusterSnapshot,
    of: MachineTemplate,
    now: datetime,
    there: Iterable[Object],
    notes: dict[str, str] | None = None,
) -> Object:
    """A new Machine under the first free name of its owner."""
    taken = {name(each) for each in there}
    numbered = (machine(view, of, number, now, notes) for number in count())
    return next(made for made in numbered if name(made) not in taken)


def machines(view: ClusterSnapshot, now: datetime, rules: SimulationRules) -> Iterator[Action]:
    """Reconcile every Machine of a cluster."""
    for each in view.machines:
        look = leave if deleting(each) else _live
        yield from look(view, each, now, rules)


def _live(view: ClusterSnapshot, it: Object, now: datetime, rules: SimulationRules) -> Iterator[Action]:
    """The first change that is still missing."""
    for part in (
        paused(MACHINES, it, now),
        report_status(view, it, now, rules),
        _order(view, it, now),
        _boot(view, it, now, rules),
        _join(view, it, now, rules),
        apply_fault(view, it, now, rules),
    ):
        changes = tuple(part)
        if changes:
            yield from changes
            return


def _order(view: ClusterSnapshot, it: Object, now: datetime) -> Iterator[Action]:
    """Request the machine once its boot data exists."""
    if may_boot(view, it) and not marked(it, STARTED):
        data = {"bootstrap": {"dataSecretName": name(it)}}
        yield PatchObject(MACHINES, it, {"spec": data, "metadata": {"annotations": {STARTED: written(now)}}})


def _boot(view: ClusterSnapshot, it: Object, now: datetime, rules: SimulationRules) -> Iterator[Action]:
    started = marked(it, STARTED)
    if started is None or it["spec"].get("providerID") or refusal(view, it, rules):
        return
    due = after(started, _turn(it, rules) - rules.clock.node / 2)
    if now < due:
        yield WaitUntil(due)
        return
    if view.cluster is not None:
        yield bought(view, it, now)
    yield PatchObject(MACHINES, it, {"spec": {"providerID": f"in-memory://{name(it)}"}})


def _turn(it: Object, rules: SimulationRules) -> float:
    return (int(annotation(it, TURN, "0")) + 1) * rules.clock.node


def _join(view: ClusterSnapshot, it: Object, now: datetime, rules: SimulationRules) -> Iterator[Action]:
    """Add the machine's Node once the cluster's API answers."""
    started = marked(it, STARTED)
    if started is None or not it["spec"].get("providerID") or "nodeRef" in status(it) or view.cluster is None:
        return
    if not (view.initialised or (head(it) and holds(view.cluster, "RemoteConnectionProbe"))):
        return
    due = after(started, _turn(it, rules))
    if now < due:
        yield WaitUntil(due)
        return
    yield AddNode(place(view.cluster), node(view, it, rules, now))
    yield PatchStatus(MACHINES, it, {"nodeRef": {"name": name(it)}})
