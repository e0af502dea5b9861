"""The controller of MachineSets: creates and deletes machines until their number is right."""

from collections.abc import Iterator
from datetime import datetime

from events.kube.client import Object
from events.kube.resources import MACHINES, MACHINESETS
from services.sandbox.clouds.capi.machine import MachineTemplate, unnamed
from services.sandbox.clouds.capi.rollout import SET_FINALIZER
from services.sandbox.clouds.capi.scale import generation, motion, selector
from services.sandbox.clouds.model.actions import Action, Create, Delete
from services.sandbox.clouds.model.annotations import PREEMPTED, SET_NAME, TURN
from services.sandbox.clouds.model.conditions import (
    SandboxCondition,
    current_condition,
    holds,
    patch_status,
    paused,
    ready,
    up_to_date,
)
from services.sandbox.clouds.model.objects import annotation, deleting, name, remove_finalizer, replicas, since, status
from services.sandbox.clouds.model.snapshot import ClusterSnapshot, SimulationRules


def sets(view: ClusterSnapshot, now: datetime, rules: SimulationRules) -> Iterator[Action]:
    """Reconcile every MachineSet of a cluster."""
    del rules
    for each in view.sets:
        yield from _set(view, each, now)


def _set(view: ClusterSnapshot, it: Object, now: datetime) -> Iterator[Action]:
    """The first change that is still missing."""
    own = view.of_set(it)
    for part in (
        paused(MACHINESETS, it, now),
        _report_set_status(it, own, now, creating_machines=view.creating_machines),
        _grow(view, it, own, now),
        _shrink(it, own),
        _set_leaves(it, own),
    ):
        changes = tuple(part)
        if changes:
            yield from changes
            return


def _report_set_status(it: Object, own: list[Object], now: datetime, *, creating_machines: bool) -> Iterator[Action]:
    if (creating_machines and current_condition(it, "MachinesReady")) or (
        deleting(it) and own and current_condition(it, "Deleting") is None
    ):
        return
    wanted = 0 if deleting(it) else replicas(it)
    up = [each for each in own if holds(each, "Ready")]
    going = f"Deleting {len(own)} Machines" if own else "Deletion completed"
    said = [
        SandboxCondition("Remediating", "False", "NotRemediating"),
        *motion(len(own), wanted),
        ready("MachinesReady", own),
        up_to_date("MachinesUpToDate", own),
        SandboxCondition("Paused", "False", "NotPaused"),
        SandboxCondition("Deleting", "True", "Deleting", going)
        if deleting(it)
        else SandboxCondition("Deleting", "False", "NotDeleting"),
    ]
    counts = {
        "replicas": len(own),
        "readyReplicas": len(up),
        "availableReplicas": len(up),
        "upToDateReplicas": sum(holds(each, "UpToDate") for each in own),
        "observedGeneration": generation(it),
        "selector": selector(it),
    }
    yield from patch_status(MACHINESETS, it, said, counts, now)


def _grow(view: ClusterSnapshot, it: Object, own: list[Object], now: datetime) -> Iterator[Action]:
    """Create all machines but one, then the last once those have reported, so that sums see the whole batch."""
    missing = replicas(it) - len(own)
    stable = view.control is None or _stable(view)
    if missing <= 0 or deleting(it) or not stable or any(current_condition(each, "Ready") is None for each in own):
        return
    mould = _mould(it)
    there = [*own]
    batch = sum("nodeRef" not in status(each) for each in own)
    for turn in range(batch, batch + max(1, missing - 1)):
        made = unnamed(view, mould, now, there, {TURN: str(turn)})
        there.append(made)
        yield Create(MACHINES, made)


def _mould(it: Object) -> MachineTemplate:
    template = it["spec"]["template"]
    meta = template.get("metadata", {})
    labels = meta.get("labels", {}) | {SET_NAME: name(it)}
    return MachineTemplate(it, labels, template["spec"].get("version", ""), meta.get("annotations", {}))


def _stable(view: ClusterSnapshot) -> bool:
    """The preflight check of a MachineSet: the control plane is not being created or upgraded."""
    control_plane_machines = view.control_plane_machines
    settled = not any(deleting(each) or not holds(each, "UpToDate") for each in control_plane_machines)
    return bool(control_plane_machines) and holds(control_plane_machines[0], "InfrastructureReady") and settled


def _shrink(it: Object, own: list[Object]) -> Iterator[Action]:
    wanted = 0 if deleting(it) else replicas(it)
    living = sorted((each for each in own if not deleting(each)), key=_worth)
    # Those that are going already count as gone.
    yield from (Delete(MACHINES, each) for each in living[: max(0, len(living) - wanted)])


def _worth(it: Object) -> tuple[bool, bool, float, str]:
    """The deletion order: preempted machines, then those not ready, then the newest."""
    newest = -since(it).timestamp()
    return (not annotation(it, PREEMPTED), holds(it, "Ready"), newest, name(it))


def _set_leaves(it: Object, own: list[Object]) -> Iterator[Action]:
    if deleting(it) and not own:
        yield from remove_finalizer(MACHINESETS, it, SET_FINALIZER)
