"""When an object of each kind counts as ready, by statuses as real controllers write them."""

import pytest

from services.addons.objects.health import health
from services.addons.objects.readiness import READY, ObjectHealth, Readiness

GROUPS = {
    "Deployment": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1", "ReplicaSet": "apps/v1",
    "Job": "batch/v1", "CustomResourceDefinition": "apiextensions.k8s.io/v1", "Ingress": "networking.k8s.io/v1",
    "APIService": "apiregistration.k8s.io/v1", "PodDisruptionBudget": "policy/v1", "ClusterPolicy": "nvidia.com/v1",
    "HorizontalPodAutoscaler": "autoscaling/v2", "GitRepository": "source.toolkit.fluxcd.io/v1",
}  # fmt: skip


def seen(kind, status=None, spec=None, generation=1, **meta):
    metadata = {"name": "x", "generation": generation, **meta}
    head = {"apiVersion": GROUPS.get(kind, "v1"), "kind": kind, "metadata": metadata, "spec": spec or {}}
    return head | ({} if status is None else {"status": status})


def condition(kind, status="True", **more):
    return {"conditions": [{"type": kind, "status": status, **more}]}


def rolled(number=1, **more):
    names = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    return {"observedGeneration": 1, **dict.fromkeys(names, number), **more}


def of_set(number=1, **more):
    return rolled(number, **{"currentRevision": "x-1", "updateRevision": "x-1", **more})


def daemons(number, **more):
    names = ("desiredNumberScheduled", "currentNumberScheduled", "updatedNumberScheduled", "numberAvailable")
    return {"observedGeneration": 1, **dict.fromkeys(names, number), **more}


ON_DELETE = {"updateStrategy": {"type": "OnDelete"}}
PARTITION = {"replicas": 3, "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}}
BALANCED = {"type": "LoadBalancer"}
LATE = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "has timed out"}
HOOK = {"annotations": {"helm.sh/hook": "post-install"}}
REPLACED = {"currentRevision": "x-1", "updateRevision": "x-2"}

WELL = [
    seen("ConfigMap"),
    seen("Deployment", rolled()),
    seen("Deployment", rolled(3), {"replicas": 3}),
    seen("Deployment", {"observedGeneration": 1}, {"replicas": 0}),
    seen("StatefulSet", of_set(2, observedGeneration=2), {"replicas": 2}),
    seen("StatefulSet", of_set(3, updatedReplicas=1, **REPLACED), PARTITION),
    seen("StatefulSet", of_set(1, updatedReplicas=0, **REPLACED), ON_DELETE),
    seen("DaemonSet", daemons(2)),
    seen("DaemonSet", daemons(0)),
    seen("DaemonSet", daemons(2, updatedNumberScheduled=0), ON_DELETE),
    seen("ReplicaSet", rolled()),
    seen("Job", {"active": 1}),
    seen("Job", {}, {"suspend": True}),
    seen("Job", {"succeeded": 1, **condition("Complete")}),
    seen("Job", condition("Complete"), **HOOK),
    seen("Pod", {"phase": "Running", **condition("Ready")}),
    seen("Pod", {"phase": "Succeeded"}),
    seen("PersistentVolumeClaim", {"phase": "Bound"}),
    seen("Namespace", {"phase": "Active"}),
    seen("Service", {"loadBalancer": {}}),
    seen("Service", {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}, BALANCED),
    seen("CustomResourceDefinition", condition("Established")),
    seen("APIService", condition("Available")),
    seen("PodDisruptionBudget"),
    seen("PodDisruptionBudget", condition("DisruptionAllowed", "False", reason="InsufficientPods")),
    seen("Ingress", {"loadBalancer": {}}),
    seen("HorizontalPodAutoscaler", condition("ScalingActive", "False")),
    seen("GitRepository", condition("Ready", reason="Succeeded")),
    seen("GitRepository", {"observedGeneration": 1, "conditions": None}),
    seen("GitRepository", "not an object"),
    seen("ClusterPolicy", {"state": "ready", **condition("Ready", reason="Reconciled")}),
]
WAITING = [
    (seen("Deployment"), "Deployment x: its controller has not looked at it yet"),
    (seen("Deployment", rolled(3), {"replicas": 3}, 2), "not looked at it yet"),
    (seen("Deployment", rolled(3, updatedReplicas=1), {"replicas": 3}), "1 of 3 pods updated"),
    (seen("Deployment", rolled(3, replicas=4), {"replicas": 3}), "1 old pods are ending"),
    (seen("Deployment", rolled(3, availableReplicas=2), {"replicas": 3}), "2 of 3 pods ready"),
    (seen("Deployment", {**rolled(), **condition("Available")}, deletionTimestamp="now"), "is being deleted"),
    (seen("StatefulSet", {"observedGeneration": 1}), "0 of 1 pods ready"),
    (seen("StatefulSet", of_set(3, updatedReplicas=0), PARTITION), "0 of 1 pods updated"),
    (seen("StatefulSet", of_set(1, updatedReplicas=0, **REPLACED)), "0 of 1 pods updated"),
    (seen("StatefulSet", of_set(1, **REPLACED)), "1 of 1 pods updated, and the others wait"),
    (seen("StatefulSet", of_set(0), ON_DELETE), "0 of 1 pods ready"),
    (seen("DaemonSet", daemons(2, numberAvailable=1)), "1 of 2 pods ready"),
    (seen("DaemonSet", daemons(2, updatedNumberScheduled=1)), "1 of 2 pods updated"),
    (seen("ReplicaSet", rolled(0)), "0 of 1 pods ready"),
    (seen("ReplicaSet", {**rolled(0), **condition("ReplicaFailure", message="quota exceeded")}), "quota exceeded"),
    (seen("Job"), "Job x: not started"),
    (seen("Job", condition("Failed", "False")), "not started"),
    (seen("Job", {"active": 1}, **HOOK), "has not ended"),
    (seen("Pod", {"phase": "Pending"}), "Pod x: is Pending"),
    (seen("Pod", {"phase": "Running", **condition("Ready", "False")}), "its containers are not ready"),
    (seen("Pod", {"phase": "Running", **condition("Ready")}, **HOOK), "is Running"),
    (seen("Pod"), "is Unknown"),
    (seen("PersistentVolumeClaim", {"phase": "Pending"}), "is Pending"),
    (seen("Namespace", {"phase": "Terminating"}), "is Terminating"),
    (seen("Service", {"loadBalancer": {}}, BALANCED), "its load balancer has no address yet"),
    (seen("CustomResourceDefinition", condition("Established", "False")), "not established"),
    (seen("CustomResourceDefinition"), "not established"),
    (seen("APIService", condition("Available", "False", message="no endpoints")), "no endpoints"),
    (seen("PodDisruptionBudget", condition("DisruptionAllowed", "False", reason="SyncFailed")), "SyncFailed"),
    (seen("GitRepository", condition("Ready", "False", message="no such branch")), "no such branch"),
    (seen("GitRepository", condition("Ready", "Unknown")), "Ready is Unknown"),
    (seen("GitRepository", condition("Reconciling", reason="Progressing")), "Progressing"),
    (seen("GitRepository", {"observedGeneration": 1, **condition("Ready")}, None, 2), "not looked at it yet"),
    (seen("ClusterPolicy", {"state": "ready", **condition("Ready", reason="NoGPUNodes")}), "NoGPUNodes only"),
    (seen("ClusterPolicy", {"state": "ready", **condition("Ready", reason="NFDLabelsMissing")}), "Missing only"),
    (seen("ClusterPolicy"), "does not say whether it is ready"),
]  # fmt: skip
FINAL = [
    (seen("Job", condition("Failed", message="BackoffLimitExceeded")), "Job x: BackoffLimitExceeded"),
    (seen("Job", condition("FailureTarget", reason="PodFailurePolicy")), "Job x: PodFailurePolicy"),
    (seen("Job", condition("Failed", reason="DeadlineExceeded"), **HOOK), "Job x: DeadlineExceeded"),
    (seen("Pod", {"phase": "Failed"}), "Pod x: is Failed"),
    (seen("PersistentVolumeClaim", {"phase": "Lost"}), "PersistentVolumeClaim x: is Lost"),
    (
        seen("CustomResourceDefinition", condition("NamesAccepted", "False", message="widgets is taken")),
        "CustomResourceDefinition x: widgets is taken",
    ),
]
STUCK = [
    (seen("Deployment", rolled(0, conditions=[LATE])), "Deployment x: has timed out"),
    (seen("GitRepository", condition("Stalled", reason="InvalidURL")), "GitRepository x: InvalidURL"),
]


@pytest.mark.parametrize("thing", WELL, ids=lambda o: o["kind"])
def test_an_object_that_exists_and_works_is_ready(thing):
    assert health(thing) == READY


@pytest.mark.parametrize(("thing", "message"), WAITING, ids=lambda o: o["kind"] if isinstance(o, dict) else "")
def test_an_object_that_does_not_work_yet_says_what_it_waits_for(thing, message):
    found = health(thing)
    assert (found.readiness, found.well, found.failed) == (Readiness.WAITING, False, False)
    assert found.message.endswith(message)


@pytest.mark.parametrize(("thing", "message"), FINAL, ids=lambda o: o["kind"] if isinstance(o, dict) else "")
def test_an_object_that_waiting_does_not_mend_has_failed(thing, message):
    assert health(thing) == ObjectHealth(Readiness.FAILED, message)
    assert health(thing).failed


@pytest.mark.parametrize(("thing", "message"), STUCK, ids=lambda o: o["kind"] if isinstance(o, dict) else "")
def test_an_object_whose_controller_gave_up_may_still_heal(thing, message):
    assert health(thing) == ObjectHealth(Readiness.STUCK, message)
    assert not health(thing).failed


def test_a_job_is_a_hook_where_the_caller_says_so():
    running = seen("Job", {"active": 1})
    assert health(running).well
    assert not health(running, hook=True).well
