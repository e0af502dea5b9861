"""A ClusterDeployment becomes a Cluster API cluster, as k0rdent's chart would make it, and repeats what that says.

Where the chart only makes known to k0rdent a cluster that stands already, there is none, and nothing to repeat.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from events.kube.client import Object
from events.kube.resources import CLUSTERDEPLOYMENTS, CLUSTERS, CREDENTIALS, MACHINEDEPLOYMENTS
from services.sandbox.clouds.k0rdent.chart import chart, takes_in, upgrades, version, workers
from services.sandbox.clouds.model.actions import Action, Delete, PatchObject, PatchStatus, WaitUntil
from services.sandbox.clouds.model.annotations import CONTROLPLANES
from services.sandbox.clouds.model.conditions import SandboxCondition, current_condition, patch_status
from services.sandbox.clouds.model.objects import (
    add_finalizer,
    deleting,
    name,
    remove_finalizer,
    replicas,
    status,
    when,
)
from services.sandbox.clouds.model.snapshot import ClusterSnapshot, SimulationRules

FINALIZER = "k0rdent.mirantis.com/cluster-deployment"
COMPONENT = "k0rdent.mirantis.com/component"
PATIENCE = timedelta(minutes=30)
"""How long a missing cluster counts as being created."""
SUMMED = (
    "InfrastructureReady",
    "ControlPlaneInitialized",
    "ControlPlaneAvailable",
    "ControlPlaneMachinesReady",
    "WorkersAvailable",
    "WorkerMachinesReady",
    "RemoteConnectionProbe",
)
"""The Cluster's conditions that CAPIClusterSummary sums up."""
FIRST = ("CredentialReady", "HelmReleaseReady", "HelmChartReady", "TemplateReady", "Ready")
"""The initial conditions, each Unknown."""


def deployment(view: ClusterSnapshot, now: datetime, rules: SimulationRules) -> Iterator[Action]:
    """Reconcile a ClusterDeployment: the first change that is still missing."""
    del rules  # nothing here takes time: k0rdent hands on what Cluster API says
    it = view.deployment
    if it is None:
        return
    for part in (_greet(it, now), _delete(view, it, now), _live(view, it, now)):
        changes = tuple(part)
        if changes:
            yield from changes
            return


def credential(view: ClusterSnapshot, now: datetime, rules: SimulationRules) -> Iterator[Action]:
    """Mark a Credential without a status as ready; its first use shows whether it works."""
    del now, rules
    if view.credential is not None and "ready" not in status(view.credential):
        yield PatchStatus(CREDENTIALS, view.credential, {"ready": True})


def _greet(it: Object, now: datetime) -> Iterator[Action]:
    """Finalizer and label; and what k0rdent's webhook does to one without a config: a dry run."""
    if deleting(it):
        return
    if it["spec"].get("config") is None and not it["spec"].get("dryRun"):
        yield PatchObject(CLUSTERDEPLOYMENTS, it, {"spec": {"dryRun": True}})
        return
    yield from add_finalizer(CLUSTERDEPLOYMENTS, it, FINALIZER, now)
    if FINALIZER in it["metadata"].get("finalizers", ()) and COMPONENT not in it["metadata"].get("labels", {}):
        yield PatchObject(CLUSTERDEPLOYMENTS, it, {"metadata": {"labels": {COMPONENT: "kcm"}}})


def _live(view: ClusterSnapshot, it: Object, now: datetime) -> Iterator[Action]:
    if deleting(it):
        return
    conditions = _conditions(view, it)
    said = tuple(_say(view, it, conditions, now))
    if said:
        yield from said
        return
    wrong = any(each.status == "False" for each in conditions if each.type in ("TemplateReady", "CredentialReady"))
    if it["spec"].get("dryRun") or wrong:
        return
    if not _made(view):
        yield from chart(view, it)
        return
    yield from _scale(view, it)
    yield from _impatience(it, now)


def _made(view: ClusterSnapshot) -> bool:
    if takes_in(view):
        return True
    return all(each is not None for each in (view.cluster, view.infra, view.control)) and bool(view.pools)


def _scale(view: ClusterSnapshot, it: Object) -> Iterator[Action]:
    """Upgrade the release after a change of the config or the template: all of its objects at once."""
    wanted, newest = workers(it), version(view)
    for pool in view.pools:
        if (replicas(pool), pool["spec"]["template"]["spec"]["version"]) != (wanted, newest) and not deleting(pool):
            yield PatchObject(
                MACHINEDEPLOYMENTS,
                pool,
                {"spec": {"replicas": wanted, "template": {"spec": {"version": newest}}}},
            )
    if view.control is not None and view.control["spec"]["version"] != newest:
        yield PatchObject(CONTROLPLANES, view.control, {"spec": {"version": newest}})


def _impatience(it: Object, now: datetime) -> Iterator[Action]:
    since = _since(it, "CAPIClusterSummary")
    summary = current_condition(it, "CAPIClusterSummary")
    if summary and summary.status == "False" and since and now < since + PATIENCE:
        yield WaitUntil(since + PATIENCE)


def _since(it: Object, type_: str) -> datetime | None:
    found = [raw for raw in status(it).get("conditions", ()) if raw["type"] == type_]
    return when(found[0]["lastTransitionTime"]) if found else None


def _say(view: ClusterSnapshot, it: Object, conditions: Sequence[SandboxCondition], now: datetime) -> Iterator[Action]:
    conditions = [*conditions, _ready(it, conditions, now)]
    fields: Object = {"observedGeneration": it["metadata"]["generation"]}
    able = [] if deleting(it) else upgrades(view, it)
    if able or status(it).get("availableUpgrades"):
        fields["availableUpgrades"] = able
    yield from patch_status(CLUSTERDEPLOYMENTS, it, conditions, fields, now)


def _conditions(view: ClusterSnapshot, it: Object) -> list[SandboxCondition]:
    """All conditions but Ready; Unknown at the first reconcile."""
    known = current_condition(it, "Ready") is not None
    unknown = [SandboxCondition(type_, "Unknown", "Progressing") for type_ in FIRST[:-1]]
    if it["spec"].get("dryRun"):
        unknown.pop(1)
    if not known:
        return unknown
    checks = [_credential(view, it), _release(view), _chart(view, it), _template(view, it)]
    if it["spec"].get("dryRun"):
        checks.pop(1)
    return [*checks, *_summary(view)]


def _succeeded(type_: str) -> SandboxCondition:
    return SandboxCondition(type_, "True", "Succeeded")


def _failed(type_: str, message: str) -> SandboxCondition:
    return SandboxCondition(type_, "False", "Failed", message)


def _template(view: ClusterSnapshot, it: Object) -> SandboxCondition:
    called = f"ClusterTemplate {view.namespace}/{it['spec'].get('template', '')}"
    if view.template is None:
        return _failed("TemplateReady", f"failed to get {called}: it does not exist")
    if not status(view.template).get("valid"):
        return _failed("TemplateReady", f"{called} is not marked as valid")
    return _succeeded("TemplateReady")


def _credential(view: ClusterSnapshot, it: Object) -> SandboxCondition:
    called = f"Credential {view.namespace}/{it['spec'].get('credential', '')}"
    if view.credential is None:
        return _failed("CredentialReady", f"failed to get {called}: it does not exist")
    if not status(view.credential).get("ready"):
        return _failed("CredentialReady", f"the {called} is not ready")
    return _succeeded("CredentialReady")


def _chart(view: ClusterSnapshot, it: Object) -> SandboxCondition:
    if _template(view, it).true:
        return _succeeded("HelmChartReady")
    return SandboxCondition("HelmChartReady", "Unknown", "Progressing")


def _release(view: ClusterSnapshot) -> SandboxCondition:
    if _made(view):
        return SandboxCondition("HelmReleaseReady", "True", "InstallSucceeded", "Helm install succeeded")
    return SandboxCondition("HelmReleaseReady", "Unknown", "Progressing")


def _summary(view: ClusterSnapshot) -> list[SandboxCondition]:
    """The summary condition; absent until the Cluster exists, and Ready can be true without it."""
    if view.cluster is None:
        return []
    of = [(type_, current_condition(view.cluster, type_)) for type_ in SUMMED]
    bad = [f"{type_}: {one.message or one.reason}" for type_, one in of if one and one.status == "False"]
    unsure = [
        f"{type_}: {one.message if one else 'Condition not yet reported'}"
        for type_, one in of
        if one is None or one.status == "Unknown"
    ]
    if bad:
        return [
            SandboxCondition("CAPIClusterSummary", "False", "IssuesReported", "\n".join(f"* {each}" for each in bad))
        ]
    if unsure:
        return [
            SandboxCondition(
                "CAPIClusterSummary", "Unknown", "UnknownReported", "\n".join(f"* {each}" for each in unsure)
            )
        ]
    return [SandboxCondition("CAPIClusterSummary", "True", "InfoReported")]


def _ready(it: Object, conditions: Sequence[SandboxCondition], now: datetime) -> SandboxCondition:
    leaving = next((one for one in conditions if one.type == "Deleting" and one.true), None)
    if leaving:
        return SandboxCondition("Ready", "False", "Deleting", leaving.message)
    others = [one for one in conditions if one.type != "Deleting"]
    failed = [one for one in others if one.status == "False" and one.type != "CAPIClusterSummary"]
    summary = next((one for one in others if one.type == "CAPIClusterSummary" and one.status == "False"), None)
    if failed:
        return SandboxCondition("Ready", "False", "Failed", ". ".join(one.message for one in failed))
    if summary:
        since = _since(it, "CAPIClusterSummary")
        late = since is not None and now >= since + PATIENCE
        return SandboxCondition("Ready", "False", "Failed" if late else "Progressing", summary.message)
    unknown = [one.message for one in others if one.status == "Unknown"]
    if unknown:
        return SandboxCondition("Ready", "Unknown", "Progressing", ". ".join(filter(None, unknown)))
    return SandboxCondition("Ready", "True", "Succeeded", "Object is ready")


def _delete(view: ClusterSnapshot, it: Object, now: datetime) -> Iterator[Action]:
    if not deleting(it):
        return
    waiting = f"waiting for Cluster {view.namespace}/{name(it)} to be deleted" if view.cluster else ""
    conditions = [one for one in _conditions(view, it) if one.type != "CAPIClusterSummary" or view.cluster]
    if it["spec"].get("cleanupOnDeletion"):
        conditions.append(_succeeded("CloudResourcesDeletedCondition"))
    conditions.append(
        SandboxCondition("Deleting", "True", "Deleting", waiting)
        if waiting
        else SandboxCondition("Deleting", "True", "Succeeded")
    )
    said = tuple(_say(view, it, conditions, now))
    if said:
        yield from said
    elif view.cluster is None:
        yield from remove_finalizer(CLUSTERDEPLOYMENTS, it, FINALIZER)
    elif not deleting(view.cluster):
        yield Delete(CLUSTERS, view.cluster)
