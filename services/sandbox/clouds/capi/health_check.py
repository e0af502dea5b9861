"""The controller of MachineHealthChecks: replaces broken machines unless too many of them are broken."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from events.kube.client import Object
from events.kube.resources import MACHINEHEALTHCHECKS, MACHINES
from services.sandbox.clouds.capi.scale import generation
from services.sandbox.clouds.model.actions import Action, Delete, WaitUntil
from services.sandbox.clouds.model.annotations import DARK, PREEMPTED
from services.sandbox.clouds.model.conditions import SandboxCondition, patch_status, paused
from services.sandbox.clouds.model.objects import after, deleting, marked, name, since, status, when
from services.sandbox.clouds.model.snapshot import ClusterSnapshot, SimulationRules

START_UP = 600
"""Seconds until a machine without a Node is replaced: Cluster API's default."""
OPERATORS: dict[str, Callable[[str | None, Sequence[str]], bool]] = {
    "Exists": lambda found, _: found is not None,
    "DoesNotExist": lambda found, _: found is None,
    "In": lambda found, wanted: found in wanted,
    "NotIn": lambda found, wanted: found not in wanted,
}


class MachineHealth(NamedTuple):
    """A machine's health, as a check sees it."""

    machine: Object
    healthy: bool
    due: datetime | None
    """When to replace it; None: it is healthy."""


def health(view: ClusterSnapshot, now: datetime, rules: SimulationRules) -> Iterator[Action]:
    """Reconcile every MachineHealthCheck of a cluster."""
    del rules
    for each in view.checks:
        if view.initialised and not deleting(each) and view.cluster is not None and not deleting(view.cluster):
            yield from _check(view, each, now)


def _check(view: ClusterSnapshot, it: Object, now: datetime) -> Iterator[Action]:
    """The first change that is still missing."""
    judged = [_judged(view, it, each) for each in view.machines if _selects(it, each)]
    broken = [each.machine for each in judged if each.due and each.due <= now]
    rest = len(judged) - sum(each.healthy for each in judged)
    allowed = _limit(it, len(judged)) - rest
    for part in (
        paused(MACHINEHEALTHCHECKS, it, now),
        _report_status(it, judged, broken, allowed, now),
        _replace(broken, allowed),
    ):
        if changes := tuple(part):
            yield from changes
            return
    yield from (WaitUntil(each.due) for each in judged if each.due and each.due > now)


def _judged(view: ClusterSnapshot, it: Object, machine: Object) -> MachineHealth:
    """As Cluster API does: a deleted Node counts at once, everything else after its time-out."""
    checks = it["spec"].get("checks", {})
    taken, dark = marked(machine, PREEMPTED), marked(machine, DARK)
    if deleting(machine):
        return MachineHealth(machine, healthy=False, due=None)
    if taken:
        return MachineHealth(machine, healthy=False, due=taken)
    if "nodeRef" not in status(machine):
        limit = checks.get("nodeStartupTimeoutSeconds", START_UP)
        return MachineHealth(machine, healthy=False, due=after(_begun(view, machine), limit) if limit else None)
    limits = [each["timeoutSeconds"] for each in checks.get("unhealthyNodeConditions", ()) if _meets_dark(each)]
    due = after(dark, min(limits)) if dark and limits else None
    return MachineHealth(machine, healthy=due is None, due=due)


def _meets_dark(condition: Object) -> bool:
    """Whether an unhealthy condition of the check matches what a silent Node shows."""
    return (condition["type"], condition["status"]) == ("Ready", "Unknown")


def _begun(view: ClusterSnapshot, machine: Object) -> datetime:
    """When the control plane was ready for machines to join."""
    conditions = status(view.cluster).get("conditions", ()) if view.cluster else ()
    times = [when(each["lastTransitionTime"]) for each in conditions if each["type"] == "ControlPlaneInitialized"]
    return max((since(machine), *times))


def _limit(it: Object, expected: int) -> int:
    """The most machines that may be unhealthy before replacement stops."""
    most = it["spec"].get("remediation", {}).get("triggerIf", {}).get("unhealthyLessThanOrEqualTo", "100%")
    return expected * int(most.removesuffix("%")) // 100 if isinstance(most, str) else int(most)


def _selects(it: Object, machine: Object) -> bool:
    labels, selector = machine["metadata"].get("labels", {}), it["spec"].get("selector", {})
    pairs = selector.get("matchLabels", {}).items()
    terms = selector.get("matchExpressions", ())
    return all(labels.get(key) == value for key, value in pairs) and all(
        OPERATORS[each["operator"]](labels.get(each["key"]), each.get("values", ())) for each in terms
    )


def _report_status(
    it: Object, judged: Sequence[MachineHealth], broken: Sequence[Object], allowed: int, now: datetime
) -> Iterator[Action]:
    """Report its counts, once machines that only start no longer change them."""
    if not broken and any("nodeRef" not in status(each.machine) for each in judged):
        return
    said = [
        SandboxCondition("RemediationAllowed", "True", "RemediationAllowed")
        if allowed >= 0
        else SandboxCondition(
            "RemediationAllowed", "False", "TooManyUnhealthy", f"{len(broken)} of {len(judged)} are unhealthy"
        ),
        SandboxCondition("Paused", "False", "NotPaused"),
    ]
    fields = {
        "expectedMachines": len(judged),
        "currentHealthy": sum(each.healthy for each in judged),
        "remediationsAllowed": max(allowed, 0),
        "targets": sorted(name(each.machine) for each in judged),
        "observedGeneration": generation(it),
    }
    yield from patch_status(MACHINEHEALTHCHECKS, it, said, fields, now)


def _replace(broken: Sequence[Object], allowed: int) -> Iterator[Action]:
    """Delete them; their MachineSet creates others."""
    if allowed >= 0:
        yield from (Delete(MACHINES, each) for each in broken)
