"""A founded cluster does real work: pods find GPUs, run, and end."""

import asyncio

import pytest

from events.kube.resources import CLUSTERS, DEPLOYMENTS, JOBS, NODES, PODS
from services.sandbox.clouds.engine import workload_manager
from services.sandbox.clouds.workloads.view import DAEMONSETS, STATEFULSETS, Inside

pytestmark = pytest.mark.looptime


def template(gpus=0, **more):
    limits = {"resources": {"limits": {"nvidia.com/gpu": gpus}}} if gpus else {}
    return {"restartPolicy": "Never", "containers": [{"name": "main", "image": "demo"} | limits]} | more


def job(name="train", notes=None, gpus=8, **spec):
    pod = {"metadata": {"annotations": notes or {}}, "spec": template(gpus)}
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {"template": pod} | spec}


async def founded(sandbox, nodes="2"):
    await sandbox.apply("c", REPLICAS=nodes)
    await sandbox.until(CLUSTERS, "c", "Available")
    return sandbox.world.kube("default.c")


async def ended(kube, name="train"):
    """The Job once it is over, and how long that took."""
    loop = asyncio.get_running_loop()
    start = loop.time()
    async with asyncio.timeout(300):
        while True:
            found = await kube.get(JOBS, name, "default")
            conditions = [one["type"] for one in found.get("status", {}).get("conditions", ())]
            if {"Complete", "Failed"} & set(conditions):
                return found["status"], conditions, loop.time() - start
            await asyncio.sleep(0.05)


async def pods(kube):
    return (await kube.list(PODS)).items


async def test_a_job_runs_on_two_nodes_of_eight_gpus_to_its_end(sandbox):
    async with sandbox.running(sandbox.inside()):
        kube = await founded(sandbox)
        await kube.create(JOBS, job(parallelism=2, completions=2))
        await asyncio.sleep(1)
        nodes = {pod["spec"]["nodeName"] for pod in await pods(kube)}
        assert len(nodes) == 2
        assert {pod["status"]["phase"] for pod in await pods(kube)} == {"Running"}
        assert (await kube.get(JOBS, "train", "default"))["status"]["active"] == 2
        status, conditions, seconds = await ended(kube)
    assert conditions == ["SuccessCriteriaMet", "Complete"]
    assert (status["succeeded"], status["active"]) == (2, 0)
    assert status["completionTime"]
    assert 2.5 < seconds < 4


async def test_a_pod_without_room_waits_and_says_why(sandbox):
    async with sandbox.running(sandbox.inside()):
        kube = await founded(sandbox)
        await kube.create(JOBS, job(parallelism=3, completions=3, notes={"sandbox.alate.dev/run-seconds": "60"}))
        await asyncio.sleep(5)
        waiting = [pod for pod in await pods(kube) if not pod["spec"].get("nodeName")]
        assert len(waiting) == 1
        message = waiting[0]["status"]["conditions"][0]["message"]
        assert message == (
            "0/3 nodes are available: 2 Insufficient nvidia.com/gpu, 1 node(s) had untolerated taint(s)."
        )
        _, conditions, seconds = await ended(kube)
    assert conditions[-1] == "Complete"
    assert 100 < seconds < 125


async def test_seven_gpus_are_not_eight(sandbox):
    await sandbox.faults("broken_gpus: {default/c: 1}")
    async with sandbox.running(sandbox.inside()):
        kube = await founded(sandbox)
        await kube.create(JOBS, job(parallelism=2, completions=2))
        await asyncio.sleep(2)
        assert sum(bool(pod["spec"].get("nodeName")) for pod in await pods(kube)) == 1


async def test_a_cordoned_node_gets_no_pods(sandbox):
    async with sandbox.running(sandbox.inside()):
        kube = await founded(sandbox)
        for node in (await kube.list(NODES)).items:
            await kube.patch(NODES, node["metadata"]["name"], None, {"spec": {"unschedulable": True}})
        await kube.create(JOBS, job())
        await asyncio.sleep(5)
        assert not any(pod["spec"].get("nodeName") for pod in await pods(kube))


async def test_an_indexed_job_runs_each_index_once(sandbox):
    async with sandbox.running(sandbox.inside()):
        kube = await founded(sandbox)
        await kube.create(JOBS, job(gpus=4, parallelism=3, completions=5, completionMode="Indexed"))
        await asyncio.sleep(1)
        assert len(await pods(kube)) == 3
        status, _, _ = await ended(kube)
        names = sorted(pod["spec"]["hostname"] for pod in await pods(kube))
    assert names == [f"train-{index}" for index in range(5)]
    assert status["completedIndexes"] == "0-4"


async def test_a_job_that_fails_too_often_is_failed(sandbox):
    async with sandbox.running(sandbox.inside()):
        kube = await founded(sandbox)
        await kube.create(JOBS, job(backoffLimit=1, notes={"sandbox.alate.dev/exit-code": "3"}))
        status, conditions, _ = await ended(kube)
    assert conditions == ["FailureTarget", "Failed"]
    assert status["failed"] == 2


async def test_a_suspended_job_holds_nothing_until_it_is_resumed(sandbox):
    async with sandbox.running(sandbox.inside()):
        kube = await founded(sandbox)
        await kube.create(JOBS, job(suspend=True))
        await asyncio.sleep(5)
        assert not await pods(kube)
        await kube.patch(JOBS, "train", "default", {"spec": {"suspend": False}})
        assert (await ended(kube))[1][-1] == "Complete"


async def test_deleting_a_job_takes_its_pods(sandbox):
    async with sandbox.running(sandbox.inside()):
        kube = await founded(sandbox)
        await kube.create(JOBS, job())
        await asyncio.sleep(1)
        await kube.delete(JOBS, "train", "default")
        await asyncio.sleep(1)
        assert not await pods(kube)


async def test_a_finished_job_goes_when_its_time_is_over(sandbox):
    async with sandbox.running(sandbox.inside()):
        kube = await founded(sandbox)
        await kube.create(JOBS, job(ttlSecondsAfterFinished=30))
        await ended(kube)
        await asyncio.sleep(35)
        assert not (await kube.list(JOBS)).items


async def test_pods_of_a_preempted_node_run_again_where_there_is_room(sandbox):
    async with sandbox.running(sandbox.inside()):
        kube = await founded(sandbox)
        await kube.create(JOBS, job(notes={"sandbox.alate.dev/run-seconds": "60"}))
        await asyncio.sleep(1)
        first = (await pods(kube))[0]["spec"]["nodeName"]
        await sandbox.faults("preempted: {default/c: 1}")
        await asyncio.sleep(5)
        again = (await pods(kube))[0]["spec"]["nodeName"]
        left = {node["metadata"]["name"] for node in (await kube.list(NODES)).items}
        assert again in left
        assert (first in left) == (again == first)
        assert (await ended(kube))[1][-1] == "Complete"


async def test_add_ons_become_available_and_change_their_size(sandbox):
    pod = {"metadata": {"labels": {"app": "x"}}, "spec": template(restartPolicy="Always")}
    spec = {"selector": {"matchLabels": {"app": "x"}}, "template": pod}
    meta = {"name": "x", "namespace": "kube-system"}
    async with sandbox.running(sandbox.inside()):
        kube = await founded(sandbox)
        for resource, more in ((DEPLOYMENTS, {"replicas": 2}), (DAEMONSETS, {}), (STATEFULSETS, {"replicas": 2})):
            await kube.create(resource, {"metadata": meta, "spec": spec | more})
        await asyncio.sleep(2)
        deployment = (await kube.get(DEPLOYMENTS, "x", "kube-system"))["status"]
        conditions = {one["type"]: one["status"] for one in deployment["conditions"]}
        assert conditions == {"Available": "True", "Progressing": "True"}
        assert deployment["availableReplicas"] == deployment["updatedReplicas"] == 2
        daemons = (await kube.get(DAEMONSETS, "x", "kube-system"))["status"]
        assert (daemons["desiredNumberScheduled"], daemons["numberReady"]) == (2, 2)
        assert (await kube.get(STATEFULSETS, "x", "kube-system"))["status"]["readyReplicas"] == 2
        for resource in (DEPLOYMENTS, STATEFULSETS):
            await kube.patch(resource, "x", "kube-system", {"spec": {"replicas": 1}})
        await sandbox.scale("c-md", 1)
        await asyncio.sleep(5)
        assert len(await pods(kube)) == 3


async def test_a_new_template_replaces_the_pods_of_a_deployment(sandbox):
    pod = {"metadata": {"labels": {"app": "x"}}, "spec": template(restartPolicy="Always")}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "x"}}, "template": pod}
    async with sandbox.running(sandbox.inside()):
        kube = await founded(sandbox)
        await kube.create(DEPLOYMENTS, {"metadata": {"name": "x", "namespace": "default"}, "spec": spec})
        await asyncio.sleep(1)
        newer = {"containers": [{"name": "main", "image": "newer"}]}
        await kube.patch(DEPLOYMENTS, "x", "default", {"spec": {"template": {"spec": newer}}})
        await asyncio.sleep(1)
        assert [one["spec"]["containers"][0]["image"] for one in await pods(kube)] == ["newer", "newer"]


async def test_where_there_are_nodes_alone_nobody_looks(sandbox, monkeypatch):
    looked = []

    async def see(_, there, run_seconds):
        looked.append([resource.kind for resource in there])
        return Inside({}, run_seconds)

    monkeypatch.setattr(workload_manager, "see", see)
    async with sandbox.running(sandbox.inside()):
        kube = await founded(sandbox)
        assert looked == []
        await kube.create(JOBS, job())
        await asyncio.sleep(1)
    assert looked == [["Node", "Job"]]


async def test_work_goes_on_after_a_restart(sandbox):
    async with sandbox.running(sandbox.inside()):
        kube = await founded(sandbox)
        await kube.create(JOBS, job(parallelism=2, completions=4))
        await asyncio.sleep(1)
    async with sandbox.running(sandbox.inside()):
        status, _, _ = await ended(kube)
        assert status["succeeded"] == 4
        assert len(await pods(kube)) == 4


def lone(name, **spec):
    return {"metadata": {"name": name, "namespace": "default"}, "spec": template(8) | spec}


def compared(*values):
    term = {"matchExpressions": [{"key": "nvidia.com/gpu.count", "operator": "Gt", "values": list(values)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


async def test_a_pod_whose_affinity_compares_with_a_word_ends_no_sandbox(sandbox):
    async with sandbox.running(sandbox.inside()):
        kube = await founded(sandbox)
        await kube.create(PODS, lone("odd", affinity=compared("abc")))
        await kube.create(PODS, lone("good"))
        await asyncio.sleep(1)
        said = {pod["metadata"]["name"]: pod["status"] for pod in await pods(kube)}
        assert (said["good"]["phase"], said["odd"]["phase"]) == ("Running", "Pending")
        assert "node affinity" in said["odd"]["conditions"][0]["message"]


@pytest.mark.parametrize(
    ("resource", "odd"),
    [
        (PODS, lone("odd", affinity=compared(["abc"]))),
        (PODS, lone("odd", nodeName="n", containers=[{"name": "c", "resources": {"requests": {"cpu": "much"}}}])),
        (PODS, lone("odd", tolerations=["all"])),
        (JOBS, job("odd", completions="many")),
        (DEPLOYMENTS, {"metadata": {"name": "odd", "namespace": "default"}, "spec": {"replicas": "some"}}),
    ],
)
async def test_an_object_that_cannot_be_read_stops_no_other(sandbox, resource, odd, monkeypatch):
    see = workload_manager.see

    async def foreign(*asked):  # the API lets most of these in no more
        view = await see(*asked)
        meta = odd["metadata"] | {"uid": "odd", "creationTimestamp": "2030-01-01T00:00:00Z", "resourceVersion": "1"}
        there = {**view.objects, resource: [*view.all(resource), odd | {"metadata": meta}]}
        return Inside(there, view.run_seconds)

    monkeypatch.setattr(workload_manager, "see", foreign)
    async with sandbox.running(sandbox.inside()):
        kube = await founded(sandbox)
        await kube.create(JOBS, job())
        _, conditions, _ = await ended(kube)
    assert conditions == ["SuccessCriteriaMet", "Complete"]


async def stopped(kube, name, *, takes, grace, **meta):
    """A pod at work is asked to end; how long it is there from then on, and what its last phase was."""
    notes = {"sandbox.alate.dev/run-seconds": "3600", "sandbox.alate.dev/stop-seconds": str(takes)}
    spec = template(8, terminationGracePeriodSeconds=grace)
    meta = {"name": name, "namespace": "default", "annotations": notes} | meta
    await kube.create(PODS, {"metadata": meta, "spec": spec})
    await asyncio.sleep(1)
    await kube.delete(PODS, name, "default")
    loop, phase = asyncio.get_running_loop(), ""
    start = loop.time()
    while loop.time() < start + 200 and (there := await pods(kube)):
        phase = there[0]["status"]["phase"]
        await asyncio.sleep(0.05)
    return loop.time() - start, phase


@pytest.mark.parametrize(("takes", "grace", "seconds"), [(0, 30, 0), (12, 30, 12), (3600, 20, 20)])
async def test_a_pod_that_is_asked_to_end_does_so_in_its_own_time_but_within_its_grace(sandbox, takes, grace, seconds):
    async with sandbox.running(sandbox.inside()):
        took, _ = await stopped(await founded(sandbox), "main", takes=takes, grace=grace)
    assert seconds - 1 <= took < seconds + 1


async def test_a_pod_that_somebody_holds_has_ended_all_the_same(sandbox):
    async with sandbox.running(sandbox.inside()):
        took, phase = await stopped(await founded(sandbox), "main", takes=5, grace=30, finalizers=["example.com/hold"])
    assert (took >= 200, phase) == (True, "Failed")


async def test_pods_that_were_ending_on_a_node_that_is_gone_are_gone_with_it(sandbox):
    async with sandbox.running(sandbox.inside()):
        kube = await founded(sandbox, "1")
        ending = asyncio.create_task(stopped(kube, "main", takes=3600, grace=3600))
        await asyncio.sleep(5)
        await sandbox.scale("c-md", 0)
        took, _ = await ending
    assert took < 100


async def test_the_next_pod_of_a_statefulset_waits_until_the_name_is_free(sandbox):
    pod = {"metadata": {"labels": {"app": "x"}, "annotations": {"sandbox.alate.dev/stop-seconds": "20"}}}
    spec = {"selector": {"matchLabels": {"app": "x"}}, "template": pod | {"spec": template(restartPolicy="Always")}}
    notes = {"sandbox.alate.dev/stop-seconds": "20"}
    async with sandbox.running(sandbox.inside()):
        kube = await founded(sandbox)
        await kube.create(STATEFULSETS, {"metadata": {"name": "x", "namespace": "default"}, "spec": spec})
        await asyncio.sleep(2)
        (first,) = await pods(kube)
        assert first["metadata"]["annotations"].items() >= notes.items()
        await kube.delete(PODS, "x-0", "default")
        await asyncio.sleep(10)
        assert [each["metadata"]["uid"] for each in await pods(kube)] == [first["metadata"]["uid"]]
        await asyncio.sleep(15)
        (again,) = await pods(kube)
    assert again["metadata"]["uid"] != first["metadata"]["uid"]
