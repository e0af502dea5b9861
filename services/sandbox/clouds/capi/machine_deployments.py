"""The controller of MachineDeployments, each with one MachineSet."""

from collections.abc import Iterator
from datetime import datetime

from events.kube.client import Object
from events.kube.resources import MACHINEDEPLOYMENTS, MACHINESETS
from services.sandbox.clouds.capi.rollout import current, roll, set_of
from services.sandbox.clouds.capi.scale import defaulted, generation, motion, rolling, selector
from services.sandbox.clouds.model.actions import Action, AddOwner, Create, Delete
from services.sandbox.clouds.model.annotations import CLUSTER_NAME, DEPLOYMENT_NAME
from services.sandbox.clouds.model.conditions import (
    SandboxCondition,
    current_condition,
    patch_status,
    paused,
    ready,
    up_to_date,
)
from services.sandbox.clouds.model.objects import (
    add_finalizer,
    deleting,
    label,
    name,
    owner,
    remove_finalizer,
    replicas,
    status,
)
from services.sandbox.clouds.model.snapshot import ClusterSnapshot, SimulationRules

POOL_FINALIZER = "cluster.x-k8s.io/machinedeployment"
COUNTS = ("replicas", "readyReplicas", "availableReplicas", "upToDateReplicas")


def pools(view: ClusterSnapshot, now: datetime, rules: SimulationRules) -> Iterator[Action]:
    """Reconcile every MachineDeployment of a cluster."""
    del rules
    for each in view.pools:
        yield from _pool(view, each, now)


def _pool(view: ClusterSnapshot, it: Object, now: datetime) -> Iterator[Action]:
    """The first change that is still missing."""
    greeting = (
        *defaulted(it),
        *add_finalizer(MACHINEDEPLOYMENTS, it, POOL_FINALIZER, now),
        *paused(MACHINEDEPLOYMENTS, it, now),
    )
    if greeting or not view.started or not label(it, CLUSTER_NAME):
        yield from greeting[:1]
        return
    mine = [each for each in view.sets if label(each, DEPLOYMENT_NAME) == name(it)]
    for part in (_shape(view, it, mine, now), _report_pool_status(view, it, mine, now), _pool_leaves(it, mine)):
        changes = tuple(part)
        if changes:
            yield from changes
            return


def _shape(view: ClusterSnapshot, it: Object, mine: list[Object], now: datetime) -> Iterator[Action]:
    """Create or scale the current MachineSet; those of former templates shrink machine by machine."""
    if deleting(it):
        yield from (Delete(MACHINESETS, each) for each in mine if not deleting(each))
        return
    newest = next((each for each in mine if current(it, each)), None)
    if newest is None:
        yield from _templates(view, it)
        yield Create(MACHINESETS, set_of(it, now, rolls=bool(mine)))
    elif not deleting(newest):
        yield from roll(view, it, newest, [each for each in mine if each is not newest])


def _templates(view: ClusterSnapshot, it: Object) -> Iterator[Action]:
    """Delete the pool's templates when the cluster is deleted."""
    spec = it["spec"]["template"]["spec"]
    for ref in (spec.get("infrastructureRef"), spec.get("bootstrap", {}).get("configRef")):
        if ref and view.cluster is not None:
            group = f"{ref['apiGroup']}/v1beta2"
            yield AddOwner(ref["kind"], group, view.namespace, ref["name"], owner(view.cluster, controls=False))


def _report_pool_status(view: ClusterSnapshot, it: Object, mine: list[Object], now: datetime) -> Iterator[Action]:
    own = [each for one in mine for each in view.of_set(one)]
    counted = bool(mine) and all("replicas" in status(each) for each in mine)
    have = {key: sum(status(each).get(key, 0) for each in mine) for key in COUNTS}
    old = [] if deleting(it) else [each for one in mine if not current(it, one) for each in view.of_set(one)]
    wanted = 0 if deleting(it) else replicas(it)
    going = f"Deleting {len(own)} Machines" if own else f"Deleting {len(mine)} MachineSets"
    said = [
        _pool_available(it, have["availableReplicas"], counted=counted),
        rolling(it["spec"]["template"]["spec"].get("version", ""), old),
        SandboxCondition("Remediating", "False", "NotRemediating"),
        *motion(have["replicas"], wanted),
        *_machines(it, own, creating_machines=view.creating_machines),
        SandboxCondition("Paused", "False", "NotPaused"),
        SandboxCondition("Deleting", "True", "Deleting", going)
        if deleting(it)
        else SandboxCondition("Deleting", "False", "NotDeleting"),
    ]
    fields = {"phase": _pool_phase(have["replicas"], wanted), "observedGeneration": generation(it)}
    fields |= {"selector": selector(it)} | (have if counted else {})
    yield from patch_status(MACHINEDEPLOYMENTS, it, said, fields, now)


def _pool_available(it: Object, available: int, *, counted: bool) -> SandboxCondition:
    if not counted:
        waiting = "Waiting for status.availableReplicas set"
        return SandboxCondition("Available", "Unknown", "WaitingForAvailableReplicasSet", waiting)
    least = replicas(it)
    if available >= least:
        return SandboxCondition("Available", "True", "Available")
    why = f"spec.strategy.rollout.maxUnavailable is 0, spec.replicas is {least}"
    lacking = f"{available} available replicas, at least {least} required ({why})"
    return SandboxCondition("Available", "False", "NotAvailable", lacking)


def _pool_phase(have: int, wanted: int) -> str:
    return "Running" if have == wanted else "ScalingUp" if have < wanted else "ScalingDown"


def _machines(it: Object, own: list[Object], *, creating_machines: bool) -> list[SandboxCondition]:
    now = ready("MachinesReady", own), up_to_date("MachinesUpToDate", own)
    return [current_condition(it, each.type) or each for each in now] if creating_machines else list(now)


def _pool_leaves(it: Object, mine: list[Object]) -> Iterator[Action]:
    if deleting(it) and not mine:
        yield from remove_finalizer(MACHINEDEPLOYMENTS, it, POOL_FINALIZER)
