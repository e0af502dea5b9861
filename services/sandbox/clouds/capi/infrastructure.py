"""The controller of the infrastructure cluster, which is created first and deleted last."""

from collections.abc import Iterator
from datetime import datetime

from events.kube.client import Object
from services.sandbox.clouds.model.actions import Action, PatchObject
from services.sandbox.clouds.model.annotations import CLUSTER_NAME, DEVCLUSTERS
from services.sandbox.clouds.model.conditions import SandboxCondition, current_condition, patch_status, paused
from services.sandbox.clouds.model.objects import add_finalizer, deleting, label, remove_finalizer, status
from services.sandbox.clouds.model.snapshot import ClusterSnapshot, SimulationRules

FINALIZER = "dockercluster.infrastructure.cluster.x-k8s.io"
"""DevCluster shares its controller with DockerCluster."""
ENDPOINT = {"host": "127.0.0.1", "port": 6443}


def infra(view: ClusterSnapshot, now: datetime, rules: SimulationRules) -> Iterator[Action]:
    """Reconcile a DevCluster."""
    it = view.infra
    if it is None:
        return
    if deleting(it):
        if not view.meant(rules.faults.stuck):
            yield from remove_finalizer(DEVCLUSTERS, it, FINALIZER)
        return
    greeting = (*add_finalizer(DEVCLUSTERS, it, FINALIZER, now), *paused(DEVCLUSTERS, it, now))
    yield from greeting[:1]
    if not greeting and view.started and label(it, CLUSTER_NAME):
        yield from _provision(it, now, rules.faults.denial(view.cloud))


def _provision(it: Object, now: datetime, denial: str) -> Iterator[Action]:
    if status(it).get("initialization", {}).get("provisioned"):
        return
    said = [SandboxCondition("Paused", "False", "NotPaused")]
    if denial:
        yield from patch_status(
            DEVCLUSTERS, it, [*said, SandboxCondition("Ready", "False", "NotReady", denial)], {}, now
        )
        return
    if not it["spec"].get("controlPlaneEndpoint"):
        yield PatchObject(DEVCLUSTERS, it, {"spec": {"controlPlaneEndpoint": ENDPOINT}})
        return
    if current_condition(it, "Ready"):
        said.append(SandboxCondition("Ready", "True", "Ready"))
    yield from patch_status(DEVCLUSTERS, it, said, {"initialization": {"provisioned": True}}, now)
