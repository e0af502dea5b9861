"""Whatever tenants and back ends write, the whole gateway goes on, and other Colonies are followed as before."""

import asyncio
import os
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import looptime
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.memory.bus import MemoryBus
from schemas.infra import InfraSeen
from schemas.registry import declared
from schemas.wish import Wish
from services.clouds.port import backends
from services.gateway.service import Gateway
from tests.context import context
from tests.foreign import Foreign, at_work
from tests.fuzz.odd import bent

INPUTS = int(os.environ.get("ALATE_TEST_INPUTS", "1000"))
"""As in `tests/fuzz`: an example for every hundred; `make test-long` asks for 100,000."""
AT_ONCE = 20
"""Odd objects in one example."""
T0 = datetime(2026, 1, 1, tzinfo=UTC)
POOL = {
    "name": "gpu", "accelerator": "H100", "acceleratorsPerNode": 8, "nodes": 2, "minNodes": 1, "maxNodes": 4,
    "labels": {"a": "b"}, "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}], "zones": ["az1"],
}  # fmt: skip
CLUSTER = {
    "name": "main", "pools": [POOL], "clouds": ["aws"], "regions": ["us-east-1"], "maxPricePerHour": 100.0,
    "timeToLive": "2h", "idleAfter": "10m", "addons": [{"name": "gpu-operator"}], "network": {"pods": ["10.0.0.0/16"]},
}  # fmt: skip
COLONY = {
    "metadata": {
        "name": "c", "namespace": "evil", "uid": "c", "generation": 1, "labels": {"alate.dev/origin": "me"},
        "annotations": {"alate.dev/event": "e"}, "finalizers": ["alate.dev/teardown"],
    },
    "spec": {"clusters": [CLUSTER]},
    "status": {
        "phase": "Ready", "observedGeneration": 1,
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        "clusters": [{"name": "main", "conditions": [
            {"type": "Placed", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        ]}],
    },
}  # fmt: skip
MARKS = {"alate.dev/cluster": "x-main", "alate.dev/uid": "u.1", "alate.dev/attempt": "1"}
CONDITIONS = [
    {"type": "RemoteConnectionProbe", "status": "True", "reason": "R", "message": "m", "observedGeneration": 1},
    {"type": "InfrastructureReady", "status": "False", "reason": "R", "message": "InstanceLimitExceeded"},
    {"type": "CAPIClusterSummary", "status": "True", "reason": "R", "message": "m"},
    {"type": "Ready", "status": "True", "reason": "R", "message": "m"},
]
CAPI = {
    "metadata": {"name": "x-main-1", "namespace": "evil", "generation": 1, "labels": MARKS, "finalizers": ["f"]},
    "spec": {"controlPlaneEndpoint": {"host": "10.0.0.1", "port": 6443}},
    "status": {
        "observedGeneration": 1, "conditions": CONDITIONS, "initialization": {"controlPlaneInitialized": True},
    },
}  # fmt: skip
K0RDENT = {
    "metadata": {
        "name": "x-main-1", "namespace": "evil", "generation": 1, "labels": MARKS,
        "annotations": {"alate.dev/kubeconfig": "kc"},
    },
    "spec": {"credential": "aws", "template": "t", "config": {"region": "r", "worker": {"zone": "a"}}},
    "status": {"observedGeneration": 1, "conditions": CONDITIONS},
}  # fmt: skip
KINDS = {"colonies": (COLONY,), "clusters": (CAPI,), "clusterdeployments": (K0RDENT,)}


def clock():
    return T0 + timedelta(seconds=asyncio.get_running_loop().time())


@st.composite
def objects(draw):
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=AT_ONCE, max_size=AT_ONCE))
    return [(kind, draw(bent(KINDS[kind], f"odd-{place}"))) for place, kind in enumerate(kinds)]


def good(nodes=2):
    pool = {"name": "gpu", "accelerator": "H100", "acceleratorsPerNode": 8, "nodes": nodes}
    meta = {"name": "good", "namespace": "acme", "uid": "g", "generation": nodes}
    return {"metadata": meta, "spec": {"clusters": [{"name": "main", "pools": [pool]}]}}


def founded(probe="False"):
    marks = {"alate.dev/cluster": "good-main", "alate.dev/uid": "g.1", "alate.dev/attempt": "1"}
    told = {"conditions": [{"type": "RemoteConnectionProbe", "status": probe}]}
    status = told | {"initialization": {"controlPlaneInitialized": True}}
    return {"metadata": {"name": "good-main-1", "namespace": "acme", "labels": marks}, "status": status}


async def last(bus, kind, *names):
    stored = await bus.last("LEVELS", declared(kind).at(*names))
    return msgspec.json.decode(stored.data, type=kind) if stored else None


@asynccontextmanager
async def followed(api):
    """The whole gateway, which must not end."""
    bus, kube = MemoryBus(), api.kube()
    gateway = Gateway(
        context(bus, clock), kube, backends(kube), backend="capi", cost_every=timedelta(minutes=1)
    )  # fmt: skip
    async with at_work(gateway.run) as task:
        await asyncio.wait_for(gateway.ready.wait(), 60)
        yield bus
        assert not task.done()
    await bus.close()


async def played(odd):
    api = Foreign(**{kind: [] for kind in KINDS}, secrets=[])
    for kind, item in (("colonies", good()), ("clusters", founded()), *odd[::2]):
        api.say(kind, item)
    async with followed(api) as bus:
        for kind, item in odd[1::2]:
            api.say(kind, item)
        await asyncio.sleep(10)
        assert (await last(bus, Wish, "acme", "good-main")).need.nodes == 2
        shown = next(one for one in api.kinds["colonies"] if one["metadata"]["name"] == "good")
        assert shown["status"]["clusters"][0]["phase"] == "Pending"
        changed = {**shown, **good(3), "metadata": shown["metadata"] | {"generation": 3}}
        del changed["metadata"]["resourceVersion"]
        api.say("colonies", changed)
        api.say("clusters", founded("True"))
        await asyncio.sleep(10)
        assert (await last(bus, Wish, "acme", "good-main")).need.nodes == 3
        assert (await last(bus, InfraSeen, "acme", "capi", "good-main-1")).reachable


@pytest.mark.timeout(3600)
@given(odd=objects())
@settings(max_examples=max(5, INPUTS // 100), deadline=None, derandomize=True)
def test_no_object_of_one_tenant_ends_the_gateway_or_stops_another_tenant(odd):
    with asyncio.Runner(loop_factory=looptime.new_event_loop) as runner:
        runner.run(played(odd))
