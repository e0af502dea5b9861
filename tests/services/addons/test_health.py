"""When an object of each kind counts as healthy."""

import pytest

from services.addons.health import ObjectHealth, health


def seen(kind, status=None, spec=None, generation=1):
    metadata = {"name": "x", "generation": generation}
    return {"kind": kind, "metadata": metadata, "spec": spec or {}} | ({} if status is None else {"status": status})


def condition(kind, status="True", **more):
    return {"conditions": [{"type": kind, "status": status, **more}]}


WELL = [
    seen("ConfigMap"),
    seen("Deployment", {"observedGeneration": 1, "availableReplicas": 1}),
    seen("Deployment", {"observedGeneration": 1, "availableReplicas": 3}, {"replicas": 3}),
    seen("Deployment", {"observedGeneration": 1}, {"replicas": 0}),
    seen("StatefulSet", {"observedGeneration": 2, "readyReplicas": 2}, {"replicas": 2}),
    seen("DaemonSet", {"observedGeneration": 1, "desiredNumberScheduled": 2, "numberReady": 2}),
    seen("DaemonSet", {"observedGeneration": 1, "desiredNumberScheduled": 0, "numberReady": 0}),
    seen("Job", {"active": 1}),
    seen("Job", {"succeeded": 1, **condition("Complete")}),
    seen("Pod", {"phase": "Running"}),
    seen("Pod", {"phase": "Succeeded"}),
    seen("PersistentVolumeClaim", {"phase": "Bound"}),
    seen("CustomResourceDefinition", condition("Established")),
]
WAITING = [
    (seen("Deployment"), "Deployment/x: its controller has not looked at it yet"),
    (seen("Deployment", {"observedGeneration": 1, "availableReplicas": 3}, {"replicas": 3}, 2), "not looked at it yet"),
    (seen("Deployment", {"observedGeneration": 1, "availableReplicas": 2}, {"replicas": 3}), "2 of 3 ready"),
    (seen("StatefulSet", {"observedGeneration": 1}), "0 of 1 ready"),
    (seen("DaemonSet", {"observedGeneration": 1, "desiredNumberScheduled": 2, "numberReady": 1}), "1 of 2 ready"),
    (seen("Job"), "Job/x: not started"),
    (seen("Job", condition("Failed", "False")), "not started"),
    (seen("Pod", {"phase": "Pending"}), "Pod/x: is Pending"),
    (seen("Pod"), "is Unknown"),
    (seen("Pod", {"phase": "Failed"}), "is Failed"),
    (seen("PersistentVolumeClaim", {"phase": "Lost"}), "is Lost"),
    (seen("CustomResourceDefinition", condition("Established", "False")), "not established"),
    (seen("CustomResourceDefinition"), "not established"),
]


@pytest.mark.parametrize("thing", WELL, ids=lambda o: o["kind"])
def test_what_is_there_and_works_is_well(thing):
    assert health(thing) == ObjectHealth(well=True)


@pytest.mark.parametrize(("thing", "message"), WAITING, ids=lambda o: o["kind"] if isinstance(o, dict) else "")
def test_what_does_not_work_yet_says_what_it_waits_for(thing, message):
    verdict = health(thing)
    assert (verdict.well, verdict.failed) == (False, False)
    assert verdict.message.endswith(message)


def test_a_failed_job_will_not_become_well_by_waiting():
    verdict = health(seen("Job", condition("Failed", message="BackoffLimitExceeded")))
    assert verdict == ObjectHealth(well=False, message="Job/x: BackoffLimitExceeded", failed=True)
