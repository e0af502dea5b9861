"""A founded cluster in this process, under virtual time: its API, two nodes of eight GPUs, and real controllers."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

from events.kube.client import Kube
from events.kube.resources import CRDS, NODES, PODS
from events.memory.bus import MemoryBus
from schemas.subjects import Key
from schemas.teardown import CleanUp, Drain
from services.runtime.machine import Waits
from services.sandbox.api.server.app import Api
from services.sandbox.api.server.local import LocalTransport
from services.sandbox.clouds.engine.workload_manager import WorkloadSimulation
from services.teardown.act import act

KEY = Key("teardown", "default", "c")
PLACE = "default.c"
GPU_NODES = 2


def clock():
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=asyncio.get_running_loop().time())


class Opened:
    """Founded clusters, of which there is one; a fault instead is raised."""

    def __init__(self, kube):
        self._kube = kube

    async def open(self, tenant, secret):
        if isinstance(self._kube, Exception):
            raise self._kube
        return self._kube


class World:
    """Where the sandbox's controllers find the cluster."""

    def __init__(self, api: Api):
        self._api = api

    def kube(self, place):
        return Kube(LocalTransport(self._api, place), random=lambda: 0.5)


class Founded:
    """The cluster, and what a test does to it."""

    def __init__(self, api: Api):
        self.api = api
        self.kube = Kube(LocalTransport(api, PLACE), random=lambda: 0.5)
        self.met: set[str] = set()
        """Names of the pods that `running` saw."""

    def way(self, kind):
        return kind(self.api, PLACE)

    async def begin(self):
        await self.api.found(PLACE)
        for number in range(GPU_NODES):
            status = {
                "allocatable": {"cpu": "96", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": "8"},
                "conditions": [{"type": "Ready", "status": "True"}],
            }
            name = f"node-{number}"
            await self.kube.create(NODES, {"metadata": {"name": name}})
            await self.kube.patch(NODES, name, None, {"status": status}, subresource="status")

    async def work(self):
        """The controllers and kubelets, for ever."""
        workloads = WorkloadSimulation(World(self.api), self.api.holds, clock, 4.0)
        self.api.follow(workloads.changed)
        await workloads.run([PLACE])

    async def hibernate(self):
        for node in (await self.kube.list(NODES)).items:
            await self.kube.delete(NODES, node["metadata"]["name"])

    async def pods(self):
        return list((await self.kube.list(PODS)).items)

    async def bound(self):
        await asyncio.sleep(2)
        pods = [each for each in await self.pods() if each["spec"].get("nodeName")]
        assert pods
        return pods

    async def running(self, least=1):
        pods = [each for each in await self.bound() if each["status"]["phase"] == "Running"]
        assert len(pods) >= least
        self.met |= {each["metadata"]["name"] for each in pods}
        return pods

    async def define(self, resource):
        names = {"plural": resource.plural, "singular": resource.plural[:-1], "kind": resource.kind}
        schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
        version = {"name": resource.version, "served": True, "storage": True, "schema": schema}
        spec = {"group": resource.group, "names": names, "scope": "Namespaced", "versions": [version]}
        await self.kube.create(CRDS, {"metadata": {"name": f"{resource.plural}.{resource.group}"}, "spec": spec})
        await asyncio.sleep(1)

    def owned(self, item, by):
        reference = {"apiVersion": by["apiVersion"], "kind": by["kind"], "controller": True}
        reference |= {key: by["metadata"][key] for key in ("name", "uid")}
        return item | {"metadata": item["metadata"] | {"ownerReferences": [reference]}}


def pod(name, gpus, *, restartPolicy="Never", grace=None, annotations=None, finalizers=()):  # noqa: N803 - Kubernetes'
    """A pod that asks for so many GPUs."""
    limits = {"resources": {"limits": {"nvidia.com/gpu": gpus}}}
    spec = {"restartPolicy": restartPolicy, "containers": [{"name": "main", "image": "demo"} | limits]}
    spec |= {"terminationGracePeriodSeconds": grace} if grace is not None else {}
    notes = annotations or {"sandbox.alate.dev/run-seconds": "86400"}
    meta = {"name": name, "namespace": "default", "annotations": notes, "finalizers": list(finalizers)}
    return {"metadata": meta, "spec": spec}


async def look(there, command=Drain):
    """Once, at a cluster or without one. Raises Waits."""
    return await act(MemoryBus(), there if isinstance(there, Opened) else Opened(there), {})(
        KEY, command("default", "k")
    )


async def until_done(kube, command):
    """What was told meanwhile, and how long it took (seconds)."""
    loop, told = asyncio.get_running_loop(), []
    start = loop.time()
    async with asyncio.timeout(600):
        while True:
            try:
                await look(kube, command)
            except Waits as waits:
                event: Any = waits.event
                told.append(event.what)
                await asyncio.sleep(waits.after)
            else:
                return told, loop.time() - start


async def drained(kube):
    return await until_done(kube, Drain)


async def swept(kube):
    return await until_done(kube, CleanUp)
