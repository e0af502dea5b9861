"""What a user does with `alate up`: ask for a cluster three ways, look at it, let it go, stop, go on."""

import asyncio
import json
import shlex
import shutil
import stat
from pathlib import Path

import nats
import pytest

from events.kube.auth import transport
from events.kube.client import Kube
from events.kube.resources import NODES
from services.cli.placement.plan import ASKED
from tests.story.conftest import HURRIES

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]

PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "lifecycle.md"
FLAGS = ("--gpus", "16", "--accelerator", "H100", "--per-node", "8", "--max-price", "60", "--ttl", "1h")
COLONY = """
apiVersion: alate.dev/v1alpha1
kind: Colony
metadata: {name: byhand}
spec: {clusters: [{name: main, pools: [{accelerator: A100, acceleratorsPerNode: 8, nodes: 1}]}]}
"""
POOL = {"accelerator": "L4", "acceleratorsPerNode": 1, "nodes": 1}
EVENT = {
    "specversion": "1.0",
    "id": "1",
    "source": "/test",
    "type": "dev.alate.cluster.request",
    "datacontenttype": "application/json",
    "data": {
        "tenant": "default",
        "name": "bybus",
        "spec": {
            "clusters": [{"name": "main", "pools": [{"accelerator": "L4", "acceleratorsPerNode": 1, "nodes": 1}]}]
        },
        "origin": "a-test",
    },
}


def waits_for_one_cluster(colony, cluster):
    """What the page on the life of a cluster tells kubectl to wait for, of another Colony."""
    (line,) = (line for line in PAGE.read_text().splitlines() if line.startswith("kubectl wait --for=jsonpath"))
    return [
        each.replace("colony/train", f"colony/{colony}").replace('"gpu"', f'"{cluster}"')
        for each in shlex.split(line)[1:]
    ]


async def accelerators(stack):
    nodes = (await stack.alate("get", "nodes", "train-main", "-o", "json")).json["items"]
    return sum(node["accelerators"] for node in nodes if node["ready"])


async def nodes_by_the_kubeconfig_of(stack, colony, file):
    assert (await stack.alate("kubeconfig", colony, "-f", file)).err == f"{file} has {colony}/main\n"
    kube = Kube(await transport(str(file), f"{colony}/main"), random=lambda: 0.5)
    try:
        return len((await kube.list(NODES)).items)
    finally:
        await kube.close()


@pytest.mark.slow  # every day the commands of README and tutorial are run, and kubectl plays the road below
async def test_a_cluster_is_asked_for_seen_and_let_go_with_alate_alone(stack, tmp_path):
    asked = await stack.alate("request", "train", *FLAGS, "--wait")
    assert asked.code == 0, asked
    assert "16/16" in asked.out

    (colony,) = (await stack.alate("get", "colony", "train", "-o", "json")).json["items"]
    assert colony["status"]["phase"] == "Ready"
    assert colony["status"]["pricePerHour"] <= 60
    (cluster,) = (await stack.alate("get", "clusters", "train-main", "-o", "json")).json["items"]
    assert cluster["state"] == "ready"
    assert await accelerators(stack) == 16
    assert (
        await nodes_by_the_kubeconfig_of(stack, "train", tmp_path / "train.kubeconfig") == 3
    )  # one is the control plane
    assert (await stack.alate("scale", "train/main", "gpu=1", "--wait")).code == 0
    assert await accelerators(stack) == 8
    scaled = (await stack.alate("scale", "train/main", "gpu=2", "--wait", "-o", "json")).json
    assert scaled["status"]["accelerators"] == "16/16"
    for life in ("3h", "2h"):  # a life never gets shorter
        longer = (await stack.alate("extend", "train/main", life, "--wait", "-o", "json")).json
        assert longer["spec"]["clusters"][0]["timeToLive"] == "3h"
    risen = (await stack.alate("upgrade", "train/main", "v1.35.0", "--wait", "-o", "json")).json
    assert (risen["status"]["phase"], risen["status"]["clusters"][0]["kubernetesVersion"]) == ("Ready", "v1.35.0")
    asleep = (await stack.alate("hibernate", "train/main", "--wait", "-o", "json")).json
    assert (asleep["status"]["phase"], asleep["status"]["pricePerHour"]) == ("Hibernated", 0.1)
    assert await accelerators(stack) == 0
    assert (await stack.alate("wake", "train/main", "--wait")).code == 0
    assert await accelerators(stack) == 16
    wrong = await stack.alate("scale", "train/main", "cpu=2")
    assert (wrong.code, wrong.err) == (2, "alate: cluster main has no pool cpu: it has gpu\n")
    refused = await stack.alate("scale", "train/main", "gpu=9")
    assert (refused.code, "more than maxPricePerHour 60" in refused.err) == (1, True), refused
    assert "H100" in (await stack.alate("get", "offers", "H100")).out

    gone = await stack.alate("delete", "train", "--wait")
    assert gone.code == 0, gone
    assert "colony/train deleted" in gone.out
    assert (await stack.alate("get", "colony", "train")).code == 1


async def test_what_is_planned_is_what_is_taken_and_it_is_explained(stack, tmp_path):
    (tmp_path / "colony.yaml").write_text(COLONY.replace("byhand", "planned"))
    planned = await stack.alate("plan", "-f", tmp_path / "colony.yaml", "-o", "json")
    assert planned.code == 0, planned
    assert ASKED in planned.json["notes"]
    (cluster,) = planned.json["clusters"]
    best, second, *_ = cluster["choices"]
    assert (await stack.alate("get", "colony", "planned")).code == 1  # nothing was asked for

    assert (await stack.alate("request", "-f", tmp_path / "colony.yaml", "--wait")).code == 0
    explained = (await stack.alate("explain", "planned/main", "-o", "json")).json
    (attempt,) = explained["attempts"]
    assert attempt["placement"] == best["placement"]
    assert attempt["nextBestPerHour"] == second["pricePerHour"]
    assert (explained["state"], explained["waitsFor"]) == ("ready", "")

    assert (await stack.alate("delete", "planned", "--wait")).code == 0
    over = await stack.alate("explain", "planned-main")
    assert "planned/main is released" in over.out, over
    assert (await stack.alate("explain", "nobody/main")).code == 1


async def test_what_cannot_be_had_is_told_and_not_waited_for(stack):
    asked = await stack.alate("request", "cheap", "--gpus", "16", "--max-price", "0.01", "--wait")

    assert asked.code == 1
    assert "the cap is $0.01" in asked.err
    assert "Traceback" not in asked.err


async def test_a_request_on_the_bus_becomes_a_colony_that_bears_its_origin(stack):
    key = str(stack.key("publisher"))
    client = await nats.connect(stack.nats, nkeys_seed=key, inbox_prefix="_INBOX_publisher")
    await client.publish("cluster.requested", json.dumps(EVENT).encode())
    await client.flush()
    await client.close()

    async with asyncio.timeout(30):
        while (found := await stack.alate("get", "colony", "bybus", "-o", "json")).code:
            pass
    (colony,) = found.json["items"]
    assert colony["metadata"]["labels"]["alate.dev/origin"] == "a-test"
    assert (await stack.alate("delete", "bybus", "--wait")).code == 0


@pytest.mark.kubectl
@pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl here")
async def test_a_cluster_is_asked_for_seen_and_let_go_with_kubectl_alone(stack, tmp_path):
    (tmp_path / "colony.yaml").write_text(COLONY)
    assert "created" in (await stack.kubectl("apply", "-f", tmp_path / "colony.yaml")).out
    waited = await stack.kubectl("wait", "--for=condition=Ready", "colony/byhand", "--timeout=60s")
    assert waited.code == 0, waited
    assert (await stack.kubectl(*waits_for_one_cluster("byhand", "main"), "--timeout=1s")).code == 0
    assert (await stack.kubectl(*waits_for_one_cluster("byhand", "other"), "--timeout=1s")).code == 1
    title, row = (await stack.kubectl("get", "colonies", "byhand")).out.splitlines()
    assert title.split() == ["NAME", "PHASE", "READY", "ACCELERATORS", "OFFER", "PRICE/H", "AGE", "MESSAGE"]
    assert row.split()[:4] == ["byhand", "Ready", "1/1", "8/8"]
    described = (await stack.kubectl("describe", "colony", "byhand")).out.rpartition("\nEvents:")[2]
    reasons = [line.split()[1] for line in described.splitlines() if line.split()[:1] == ["Normal"]]
    assert sorted(reasons) == ["Launching", "Ready"], described

    for path, options in (
        ("{.status.clusters[0].kubeconfigSecret}", ()),
        ("{.status.kubeconfigSecret}", ("--context", "byhand/main")),
    ):
        secret = (await stack.kubectl("get", "colony", "byhand", "-o", f"jsonpath={path}")).out
        decoded = "go-template={{.data.value | base64decode}}"
        (tmp_path / "founded").write_text((await stack.kubectl("get", "secret", secret, "-o", decoded)).out)
        nodes = await stack.kubectl("--kubeconfig", tmp_path / "founded", *options, "get", "nodes")
        assert nodes.out.count(" Ready ") == 2, nodes

    assert (await stack.kubectl("delete", "colony", "byhand", "--timeout=60s")).code == 0
    events = (await stack.kubectl("get", "events", "--no-headers", "-o", "custom-columns=:.reason")).out
    assert {"Draining", "Gone"} <= set(events.split()), events


async def clusters(alate, *how) -> list:
    """What is said of them; what they cost grows all the time."""
    items = (await alate("get", "clusters", *how, "-o", "json")).json["items"]
    return [{name: value for name, value in item.items() if name != "costUsd"} for item in items]


@pytest.mark.slow  # every day a sandbox is killed and started again, and services crash at their awaits
async def test_starting_again_continues_where_it_was(up, alate):
    with up(**HURRIES) as stack:
        assert stat.S_IMODE(stack.folder.stat().st_mode) == 0o700
        assert stat.S_IMODE(stack.kubeconfig.stat().st_mode) == 0o600
        kubeconfig, address = stack.kubeconfig.read_text(), stack.nats
        assert (await alate("request", "train", *FLAGS, "--wait")).code == 0
        before = await clusters(alate)

    assert stack.process.returncode == 130
    assert (await alate("get")).code == 2

    with up(**HURRIES) as stack:
        assert (stack.kubeconfig.read_text(), stack.nats) == (kubeconfig, address)
        assert await clusters(alate) == before
        assert (await alate("delete", "train", "--wait")).code == 0
        assert await clusters(alate) == []
        assert [each["state"] for each in await clusters(alate, "--all")] == ["released"]
