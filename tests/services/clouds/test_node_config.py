"""A pool's labels, taints and disk reach its nodes, each back end in its own words, or are refused: never left out."""

import json

import msgspec
import pytest

from events.errors import Denied
from events.kube.discovery import find
from events.kube.resources import CLUSTERDEPLOYMENTS, CLUSTERTEMPLATES, CONFIGMAPS, MACHINEDEPLOYMENTS
from schemas.placement import Attempt, Placement
from schemas.wish import Need, PoolTaint
from services.clouds.capi import Capi
from services.clouds.cluster_templates import render
from services.clouds.k0rdent import K0rdent
from services.clouds.node_config import labels, pool_name, taint_list, taints, worker_args
from tests.samples import LOT, POOL

ASKED = msgspec.structs.replace(
    POOL,
    labels=(("example.com/team", "blue"),),
    taints=(PoolTaint(key="gpu"), PoolTaint(key="batch", value="only", effect="NoExecute")),
    disk_gib=500,
)
ATTEMPT = Attempt(number=1, placement=Placement(cloud="aws", region="r", lots=(LOT,)))
UID = "u1.1"


@pytest.fixture
def asked(wish):
    return msgspec.structs.replace(wish, need=Need(pools=(ASKED,)))


def test_they_are_told_as_a_kubelet_takes_them():
    assert labels(ASKED) == "alate.dev/pool=workers,example.com/team=blue"
    assert taints(ASKED) == "gpu=:NoSchedule,batch=only:NoExecute"
    assert json.loads(taint_list(ASKED)) == [
        {"key": "gpu", "value": "", "effect": "NoSchedule"}, {"key": "batch", "value": "only", "effect": "NoExecute"},
    ]  # fmt: skip
    assert worker_args(POOL) == ()
    assert worker_args(ASKED) == (f"--labels={labels(ASKED)}", f"--taints={taints(ASKED)}")


async def test_capi_fills_them_into_the_template(server, asked):
    await Capi(server).launch(asked, ATTEMPT, UID)
    resource = await find(server, "bootstrap.cluster.x-k8s.io/v1beta2", "KubeadmConfigTemplate")
    made = await server.get(resource, "train-a-1-workers", "default")
    joining = made["spec"]["template"]["spec"]["joinConfiguration"]["nodeRegistration"]
    assert joining["kubeletExtraArgs"] == [{"name": "node-labels", "value": labels(ASKED)}]
    assert joining["taints"] == json.loads(taint_list(ASKED))


async def test_a_machine_hands_the_name_of_its_pool_on_to_its_node(server, wish):
    await Capi(server).launch(wish, ATTEMPT, UID)
    made = await server.get(MACHINEDEPLOYMENTS, "train-a-1-workers", "default")
    given = made["spec"]["template"]["metadata"]["labels"]
    assert pool_name(given) == "workers"
    assert given["cluster.x-k8s.io/cluster-name"] == "train-a-1"


@pytest.mark.parametrize("told", ["a", ""])
def test_what_the_kubelet_was_told_comes_first(told):
    assert pool_name({"alate.dev/pool": told, "alate.node.cluster.x-k8s.io/pool": "b"}) == (told or "b")
    assert pool_name({}) == ""


def test_a_disk_is_as_large_as_is_asked_for(wish, asked):
    text = "kind: Disk\nsize: ${DISK_GIB}\nlabels: ${NODE_LABELS}\ntaints: ${NODE_TAINTS}"
    assert [render(text, each, ATTEMPT)[0]["size"] for each in (wish, asked)] == [100, 500]


@pytest.mark.parametrize("mark", ["NODE_LABELS", "NODE_TAINTS"])
async def test_a_manifest_that_cannot_say_them_is_refused(server, asked, mark):
    text = (await server.get(CONFIGMAPS, "alate-capi-aws", "default"))["data"]["cluster.yaml"]
    patch = {"data": {"cluster.yaml": text.replace(f"${{{mark}}}", "[]")}}
    await server.patch(CONFIGMAPS, "alate-capi-aws", "default", patch)
    with pytest.raises(Denied, match=rf"does not mention \$\{{{mark}\}}, which a pool needs") as denied:
        await Capi(server).launch(asked, ATTEMPT, UID)
    assert denied.value.reason == "BadTemplate"


async def test_k0rdent_tells_them_to_its_workers(server, asked):
    await K0rdent(server).launch(asked, ATTEMPT, UID)
    config = (await server.get(CLUSTERDEPLOYMENTS, "train-a-1", "default"))["spec"]["config"]
    assert config["k0s"] == {"workerArgs": list(worker_args(ASKED))}
    assert config["worker"]["rootVolumeSize"] == 500


async def test_a_cluster_template_that_cannot_say_them_is_refused(server, asked):
    patch = {"status": {"config": {"k0s": None}}}
    await server.patch(CLUSTERTEMPLATES, "aws-standalone-cp-1-0-43", "default", patch, subresource="status")
    with pytest.raises(Denied, match=r"has no value k0s.workerArgs") as denied:
        await K0rdent(server).launch(asked, ATTEMPT, UID)
    assert denied.value.reason == "BadTemplate"
