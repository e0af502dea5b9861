"""Work is ended at its source: whatever makes pods anew is stopped first, against controllers that do make them."""

import asyncio
from typing import Any

import pytest

from events.errors import Denied, NotFound, TryLater
from events.kube.client import Kube, Resource, Response
from events.kube.discovery import find
from events.kube.resources import DEPLOYMENTS, JOBS, PODS, PVCS, SERVICES
from services.clients.workload_clusters import NoKubeconfigYet
from services.runtime.machine import Waits
from services.sandbox.clouds.workloads.view import DAEMONSETS, REPLICASETS, STATEFULSETS
from tests.services.teardown.founded import GPU_NODES, Founded, Opened, drained, look, pod, swept

pytestmark = pytest.mark.looptime
LONG = {"sandbox.alate.dev/run-seconds": "86400"}
TRAINING = Resource("kubeflow.org", "v1", "pytorchjobs", "PyTorchJob")
NONSENSE = b'{"metadata":{},"items":[{"metadata":{"name":"a","namespace":"b"},"spec":["x"]}]}'


def template(gpus=8, labels=None, **more):
    made = pod("", gpus, **more)
    return {"metadata": {"labels": labels or {"app": "x"}, "annotations": LONG}, "spec": made["spec"]}


def job(**spec):
    return {"metadata": {"name": "train", "namespace": "default"}, "spec": {"template": template()} | spec}


def controller(**spec):
    spec = {"selector": {"matchLabels": {"app": "x"}}, "template": template(restartPolicy="Always")} | spec
    return {"metadata": {"name": "serve", "namespace": "default"}, "spec": spec}


async def test_a_job_whose_pods_come_again_each_time_is_suspended(founded: Founded):
    await founded.kube.create(JOBS, job(parallelism=2, completions=2))
    assert len(await founded.running()) == 2
    told, seconds = await drained(founded.kube)
    assert told[0] == (
        "Job default/train still has 2 pods that hold accelerators: "
        + ", ".join(f"default/{name}" for name in sorted(founded.met))
    )
    assert seconds < 5
    assert (await founded.kube.get(JOBS, "train", "default"))["spec"]["suspend"] is True
    await asyncio.sleep(60)
    assert await founded.pods() == []


@pytest.mark.parametrize("resource", [DEPLOYMENTS, REPLICASETS, STATEFULSETS], ids=lambda each: each.kind)
async def test_what_keeps_a_number_of_pods_is_scaled_to_none(founded: Founded, resource):
    await founded.kube.create(resource, controller(replicas=2))
    assert len(await founded.running()) == 2
    _, seconds = await drained(founded.kube)
    assert seconds < 5
    assert (await founded.kube.get(resource, "serve", "default"))["spec"]["replicas"] == 0
    await asyncio.sleep(60)
    assert await founded.pods() == []


async def test_a_daemonset_that_holds_accelerators_is_deleted_for_its_pods_are_on_cordoned_nodes_too(founded: Founded):
    await founded.kube.create(DAEMONSETS, controller())
    assert len(await founded.running()) == GPU_NODES
    _, seconds = await drained(founded.kube)
    assert seconds < 5
    await asyncio.sleep(60)
    assert await founded.pods() == []


async def test_a_daemonset_that_holds_none_stays(founded: Founded):
    spec = controller()
    spec["spec"]["template"]["spec"]["containers"][0].pop("resources")
    await founded.kube.create(DAEMONSETS, spec)
    assert len(await founded.running()) == GPU_NODES
    assert await drained(founded.kube) == ([], 0.0)


async def test_of_owners_above_one_another_each_that_would_begin_anew_is_stopped(founded: Founded):
    cron = await find(founded.kube, "batch/v1", "CronJob")
    spec = {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template()}}}
    nightly = await founded.kube.create(cron, {"metadata": {"name": "nightly", "namespace": "default"}, "spec": spec})
    await founded.kube.create(JOBS, founded.owned(job(), nightly))
    await founded.running()
    await drained(founded.kube)
    assert (await founded.kube.get(cron, "nightly", "default"))["spec"]["suspend"] is True
    assert (await founded.kube.get(JOBS, "train", "default"))["spec"]["suspend"] is True


async def test_the_highest_owner_is_deleted_where_nobody_knows_how_to_stop_its_kind(founded: Founded):
    await founded.define(TRAINING)
    training = await founded.kube.create(TRAINING, {"metadata": {"name": "llm", "namespace": "default"}, "spec": {}})
    await founded.kube.create(JOBS, founded.owned(job(), training))
    await founded.running()
    _, seconds = await drained(founded.kube)
    assert seconds < 5
    for resource, name in ((TRAINING, "llm"), (JOBS, "train")):
        with pytest.raises(NotFound):
            await founded.kube.get(resource, name, "default")


@pytest.mark.parametrize("kind", ["Job", "RayCluster"], ids=["gone", "of a kind nobody serves"])
async def test_a_pod_whose_owner_is_not_there_is_ended_itself(founded: Founded, kind):
    lost = {"apiVersion": "batch/v1" if kind == "Job" else "ray.io/v1", "kind": kind, "metadata": {"name": "lost"}}
    lost["metadata"]["uid"] = "00000000-0000-0000-0000-00000000dead"
    left = pod("left", 8, annotations=LONG | {"sandbox.alate.dev/stop-seconds": "60"}, grace=60)
    left["spec"]["nodeName"] = "node-0"
    await founded.kube.create(PODS, founded.owned(left, lost))
    await founded.bound()
    with pytest.raises(Waits, match=f"^{kind} default/lost still has 1 pod that holds accelerators: default/left"):
        await look(founded.kube)
    assert (await founded.kube.get(PODS, "left", "default"))["metadata"]["deletionTimestamp"]
    assert (await drained(founded.kube))[1] < 62


async def test_owners_that_own_each_other_in_a_circle_end_the_look_all_the_same(founded: Founded):
    await founded.define(TRAINING)
    one, two = [
        await founded.kube.create(TRAINING, {"metadata": {"name": name, "namespace": "default"}, "spec": {}})
        for name in ("one", "two")
    ]
    for of, by in ((one, two), (two, one)):
        patch = {"metadata": {"ownerReferences": founded.owned({"metadata": {}}, by)["metadata"]["ownerReferences"]}}
        await founded.kube.patch(TRAINING, of["metadata"]["name"], "default", patch)
    await founded.kube.create(PODS, founded.owned(pod("worker", 8), one))
    await founded.bound()
    assert (await drained(founded.kube))[1] < 5


async def test_pods_that_wait_for_a_node_hold_nothing_and_keep_no_hibernated_cluster(founded: Founded):
    await founded.kube.create(JOBS, job(parallelism=2, completions=2))
    await founded.running()
    await founded.hibernate()
    await asyncio.sleep(5)
    assert [each["spec"].get("nodeName") for each in await founded.pods()] == [None, None]
    assert await drained(founded.kube) == ([], 0.0)


async def test_finished_pods_hold_nothing(founded: Founded):
    await founded.kube.create(PODS, pod("done", 8, annotations={"sandbox.alate.dev/run-seconds": "1"}))
    await asyncio.sleep(5)
    assert await drained(founded.kube) == ([], 0.0)


async def test_a_pod_that_somebody_holds_is_named_with_whoever_holds_it(founded: Founded):
    await founded.kube.create(PODS, pod("held", 8, finalizers=["example.com/hold"]))
    await founded.bound()
    for told in ("default/held", r"default/held \(held by example.com/hold\)"):
        with pytest.raises(Waits, match=f"^the cluster still has 1 pod that holds accelerators: {told}$"):
            await look(founded.kube)


async def test_a_budget_that_forbids_every_eviction_keeps_nothing(founded: Founded):
    await founded.kube.create(DEPLOYMENTS, controller(replicas=2))
    spec = {"minAvailable": 2, "selector": {"matchLabels": {"app": "x"}}}
    budgets = await find(founded.kube, "policy/v1", "PodDisruptionBudget")
    await founded.kube.create(budgets, {"metadata": {"name": "all", "namespace": "default"}, "spec": spec})
    await founded.running()
    assert (await drained(founded.kube))[1] < 5


async def test_work_has_the_grace_it_asked_for(founded: Founded):
    stops = {"sandbox.alate.dev/stop-seconds": "40"}
    await founded.kube.create(PODS, pod("saving", 8, grace=90, annotations=LONG | stops))
    await founded.bound()
    _, seconds = await drained(founded.kube)
    assert 39 <= seconds <= 43


async def test_work_that_ignores_its_end_goes_when_its_grace_is_over(founded: Founded):
    stops = {"sandbox.alate.dev/stop-seconds": "86400"}
    await founded.kube.create(PODS, pod("deaf", 8, grace=20, annotations=LONG | stops))
    await founded.bound()
    _, seconds = await drained(founded.kube)
    assert 19 <= seconds <= 23


async def test_one_owner_that_refuses_to_be_stopped_keeps_no_other(founded: Founded):
    class Refusing(type(founded.kube.transport)):
        async def send(self, request):
            if request.method == "PATCH" and "deployments" in request.path:
                return Response(403, {}, b'{"message":"webhook says no","reason":"Forbidden","code":403}')
            return await super().send(request)

    await founded.kube.create(DEPLOYMENTS, controller(replicas=1))
    await founded.kube.create(JOBS, job())
    await founded.running()
    with pytest.raises(Waits, match="cannot be stopped: webhook says no"):
        await look(Kube(founded.way(Refusing), random=lambda: 0.5))
    assert (await founded.kube.get(JOBS, "train", "default"))["spec"]["suspend"] is True
    assert all("deletionTimestamp" in each["metadata"] for each in await founded.pods() if each["spec"].get("nodeName"))


async def test_volumes_go_once_their_users_are_stopped(founded: Founded):
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    spec = controller(replicas=1)
    spec["spec"]["template"]["spec"] |= {"volumes": volumes}
    spec["spec"]["template"]["spec"]["containers"][0].pop("resources")
    await founded.kube.create(PVCS, {"metadata": {"name": "data", "namespace": "default"}, "spec": {}})
    await founded.kube.create(STATEFULSETS, spec)
    balancer = {"metadata": {"name": "web", "namespace": "default"}, "spec": {"type": "LoadBalancer"}}
    await founded.kube.create(SERVICES, balancer)
    await founded.running(1)
    told, _ = await swept(founded.kube)
    assert told[0].startswith(
        "1 load balancer is going: default/web; 1 volume is going: default/data; "
        "StatefulSet default/serve still has 1 pod that uses a volume: default/serve-0"
    )
    assert (await founded.kube.list(PVCS)).items == ()
    assert await founded.pods() == []


class Answers:
    """An API server that says one thing to everything."""

    def __init__(self, *, body=b"", status=200, fault=None, after=0.0):
        self._answer, self._fault, self._after = Response(status, {}, body), fault, after

    async def send(self, request):
        await asyncio.sleep(self._after)
        if self._fault:
            raise self._fault
        return self._answer


@pytest.mark.parametrize(
    ("server", "told"),
    [
        (Answers(fault=TryLater("https://x:6443 cannot be reached")), "cannot be reached: https://x:6443 cannot"),
        (Answers(body=NONSENSE), r"gives answers that cannot be read \(AttributeError\)"),
        (Answers(body=b"<html>"), "cannot be reached: GET /api/v1/pods was answered 200: <html>"),
        (Answers(status=401, body=b'{"message":"Unauthorized"}'), "cannot be reached: Unauthorized"),
        (Answers(after=3600.0), "took more than 60 seconds to answer"),
        (Answers(fault=TryLater("no\n" * 9999)), "cannot be reached: no no"),
    ],
    ids=["dead", "nonsense", "no API at all", "shut", "silent", "without end"],
)
async def test_an_api_that_is_no_use_is_told_as_unheard_whatever_it_answers(server, told):
    with pytest.raises(Waits, match=f"^the cluster's API .*{told}") as waits:
        await look(Kube(server, random=lambda: 0.5))
    event: Any = waits.value.event
    assert (event.reachable, len(event.what) <= 500) == (False, True)


@pytest.mark.parametrize(
    ("fault", "heard"),
    [
        (NotFound('secrets "c" not found'), False),
        (NoKubeconfigYet("Secret default/c holds no kubeconfig under the key value yet"), False),
        (Denied("the kubeconfig is no YAML", "BadKubeconfig"), False),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), False),
        (TryLater("https://management:6443 cannot be reached"), True),
    ],
    ids=["gone", "empty", "spoilt", "not text", "not to be asked for"],
)
async def test_without_a_kubeconfig_the_cluster_counts_as_unheard_unless_nobody_could_ask(fault, heard):
    with pytest.raises(Waits) as waits:
        await look(Opened(fault))
    event: Any = waits.value.event
    assert event.reachable is heard
