"""Deletes a machine in stages, each of which shows in its conditions before the next begins."""

from collections.abc import Iterator
from datetime import datetime

from events.kube.client import Object
from events.kube.resources import MACHINES
from services.sandbox.clouds.capi.machine_status import FINALIZER, GATES, WAITING, everything, head, up_to_date
from services.sandbox.clouds.model.actions import Action, PatchObject, RemoveNode, WaitUntil
from services.sandbox.clouds.model.annotations import LEAVING, place
from services.sandbox.clouds.model.billing import given_back
from services.sandbox.clouds.model.conditions import SandboxCondition, current_condition, patch_status
from services.sandbox.clouds.model.objects import after, marked, name, remove_finalizer, written
from services.sandbox.clouds.model.snapshot import ClusterSnapshot, SimulationRules


def leave(view: ClusterSnapshot, it: Object, now: datetime, rules: SimulationRules) -> Iterator[Action]:
    """Delete a machine, one stage per step; each stage shows in the conditions before the next begins."""
    before = current_condition(it, "Deleting")
    reached = STAGES.index(before.reason) if before and before.reason in STAGES else -1
    said = tuple(_report_deletion(view, it, max(reached, 0), now))
    if reached < 0 or said:
        yield from said
        return
    yield from (_unplug, _unplug_done, _close)[reached](view, it, now, rules)


STAGES = ("WaitingForInfrastructureDeletion", "WaitingForBootstrapDeletion", "DeletionCompleted")
_STAGE_SAYS = ("Waiting for DevMachine to be deleted", "Waiting for KubeadmConfig to be deleted", "Deletion completed")


def _unplug(view: ClusterSnapshot, it: Object, now: datetime, rules: SimulationRules) -> Iterator[Action]:
    leaving = marked(it, LEAVING)
    if leaving is None:
        yield PatchObject(MACHINES, it, {"metadata": {"annotations": {LEAVING: written(now)}}})
    elif now < after(leaving, rules.clock.leave):
        yield WaitUntil(after(leaving, rules.clock.leave))
    else:
        if view.cluster is not None:
            yield RemoveNode(place(view.cluster), name(it))
            yield given_back(view.cluster, it, now)
        yield from _report_deletion(view, it, 1, now)


def _unplug_done(view: ClusterSnapshot, it: Object, now: datetime, rules: SimulationRules) -> Iterator[Action]:
    del rules
    yield from _report_deletion(view, it, 2, now)


def _close(view: ClusterSnapshot, it: Object, now: datetime, rules: SimulationRules) -> Iterator[Action]:
    del view, now, rules
    yield from remove_finalizer(MACHINES, it, FINALIZER)


def _report_deletion(view: ClusterSnapshot, it: Object, stage: int, now: datetime) -> Iterator[Action]:
    def kept(type_: str) -> SandboxCondition:
        return current_condition(it, type_) or SandboxCondition(type_, "Unknown", "InspectionFailed", WAITING)

    gone = f"Node {name(it)} has been deleted"
    infra = SandboxCondition("InfrastructureReady", "False", "ObjectDeleted", "DevMachine has been deleted")
    boot = SandboxCondition("BootstrapConfigReady", "False", "ObjectDeleted", "KubeadmConfig has been deleted")
    parts = [
        boot if stage > 1 else kept("BootstrapConfigReady"),
        infra if stage else kept("InfrastructureReady"),
        SandboxCondition("NodeHealthy", "False", "NodeDeleted", gone) if stage else kept("NodeHealthy"),
        SandboxCondition("NodeReady", "False", "NodeDeleted", gone) if stage else kept("NodeReady"),
    ]
    gates = [kept(gate) for gate in GATES] if head(it) else []
    fields = {"phase": "Deleting", "observedGeneration": it["metadata"].get("generation", 1)}
    leaving = SandboxCondition("Deleting", "True", STAGES[stage], _STAGE_SAYS[stage])
    yield from patch_status(MACHINES, it, everything(up_to_date(view, it), parts, gates, leaving), fields, now)
