"""The infrastructure cluster is the first to be there and the last to go."""

from collections.abc import Iterator
from datetime import datetime

from events.kube.client import Object
from services.sandbox.clouds.model.actions import Change, Edit
from services.sandbox.clouds.model.annotations import CLUSTER_NAME, DEVCLUSTERS
from services.sandbox.clouds.model.conditions import Told, paused, tell, told
from services.sandbox.clouds.model.objects import deleting, greet, label, let_go, status
from services.sandbox.clouds.model.snapshot import Laws, View

FINALIZER = "dockercluster.infrastructure.cluster.x-k8s.io"
"""DevCluster shares its controller with DockerCluster."""
ENDPOINT = {"host": "127.0.0.1", "port": 6443}


def infra(view: View, now: datetime, laws: Laws) -> Iterator[Change]:
    """One look at a DevCluster."""
    it = view.infra
    if it is None:
        return
    if deleting(it):
        if not view.meant(laws.faults.stuck):
            yield from let_go(DEVCLUSTERS, it, FINALIZER)
        return
    greeting = (*greet(DEVCLUSTERS, it, FINALIZER, now), *paused(DEVCLUSTERS, it, now))
    yield from greeting[:1]
    if not greeting and view.started and label(it, CLUSTER_NAME):
        yield from _provision(it, now, laws.faults.denial(view.cloud))


def _provision(it: Object, now: datetime, denial: str) -> Iterator[Change]:
    if status(it).get("initialization", {}).get("provisioned"):
        return
    said = [Told("Paused", "False", "NotPaused")]
    if denial:
        yield from tell(DEVCLUSTERS, it, [*said, Told("Ready", "False", "NotReady", denial)], {}, now)
        return
    if not it["spec"].get("controlPlaneEndpoint"):
        yield Edit(DEVCLUSTERS, it, {"spec": {"controlPlaneEndpoint": ENDPOINT}})
        return
    if told(it, "Ready"):
        said.append(Told("Ready", "True", "Ready"))
    yield from tell(DEVCLUSTERS, it, said, {"initialization": {"provisioned": True}}, now)
