"""The main job, on real API servers: the management cluster is one, and the founded cluster another."""

import pytest

from events.kube.resources import COLONIES, EVENTS
from schemas.teardown import Warned
from tests.story.kube.told import CLUSTER, JOB, TEARDOWN, nothing_left, played, statuses, way

pytestmark = [pytest.mark.kube, pytest.mark.timeout(600)]


def about_a_colony(event):
    return event["involvedObject"]["kind"] == COLONIES.kind


@pytest.mark.parametrize("backend", ["capi", "k0rdent"])
async def test_a_real_cluster_comes_works_and_goes_and_nothing_is_left(stage, train, backend):
    async with stage(backend) as it, statuses(it.kube) as shown:
        inside, used = await played(it, train)

        await nothing_left(it)
        reached = list(dict.fromkeys(way(it, CLUSTER)))
        assert [each for each in reached if each != "placing"] == [
            "pending", "launching", "provisioned", "ready", "releasing", "released",
        ]  # fmt: skip
        assert "applied" in way(it, JOB)
        phases = [each["phase"] for each in shown if each["phase"]]
        assert "Ready" in phases
        assert phases[-1] == "Deleting"
        told = {each["reason"] for each in (await it.kube.list(EVENTS)).items if about_a_colony(each)}
        assert told >= {"Launching", "Ready", "AddonApplied", "Warned", "Draining", "Gone"}

        assert inside.last["Job/train"]["status"]["succeeded"] == 2
        pods = inside.of("Pod", "train-")
        nodes = {each["metadata"]["name"]: each["status"]["allocatable"] for each in inside.of("Node")}
        assert {nodes[pod["spec"]["nodeName"]]["nvidia.com/gpu"] for pod in pods} == {"8"}
        assert len({pod["spec"]["nodeName"] for pod in pods}) == 2
        assert {pod["status"]["phase"] for pod in pods} == {"Succeeded"}
        assert [each["data"] for each in inside.of("ConfigMap", "gpu-metrics")] == [{"interval": "15s"}]
        assert {pod["status"]["phase"] for pod in inside.of("Pod", "gpu-metrics-")} == {"Running"}

        assert max(used)[0] == 16
        assert any(allocated == 0 and finished > 0 for allocated, finished in used)
        (warned,) = [each for each in it.play.story.states[TEARDOWN] if isinstance(each, Warned)]
        assert "idle" in warned.reason.lower()
