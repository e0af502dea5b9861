"""How long alate takes to found: from the Colony to the back end's object, and from its being ready to the Colony's."""

import asyncio
from base64 import b64encode
from datetime import UTC, datetime
from statistics import median

from events.kube.client import Kube, Object
from events.kube.resources import CLUSTERS, COLONIES, NODES, SECRETS
from tests.bench.figure import quantile
from tests.bench.onlooker import Onlooker, holds, there

SAMPLES = 50
AT_ONCE = 100
PROBE = "RemoteConnectionProbe"
SETTLED = 0.2
"""Seconds of rest before each founding, and before its back end is ready: the template's other objects are written."""
SPEC: Object = {
    "clusters": [
        {
            "name": "gpu",
            "clouds": ["aws"],
            "pools": [{"accelerator": "H100", "acceleratorsPerNode": 8, "nodes": 1}],
        }
    ]
}


class Founding:
    """Writes Colonies, plays Cluster API, and times what alate makes of it."""

    def __init__(self, kube: Kube, colonies: Onlooker, clusters: Onlooker, kubeconfig: str) -> None:
        """`kubeconfig` opens the one cluster with a ready node that every founded one is."""
        self._kube = kube
        self._colonies = colonies
        self._clusters = clusters
        self._kubeconfig = b64encode(kubeconfig.encode()).decode()

    async def measure(self) -> dict[str, dict[str, float]]:
        """One at a time, then many at once: milliseconds."""
        await self._node()
        alone = [await self._found(f"alone-{number}") for number in range(-3, SAMPLES)][3:]
        together = await self._together([f"among-{number}" for number in range(AT_ONCE)])
        return {
            "written": _plain([a for a, _ in alone], [a for a, _ in together]),
            "ready": _plain([b for _, b in alone], [b for _, b in together]),
        }

    async def _found(self, name: str) -> tuple[float, float]:
        await asyncio.sleep(SETTLED)
        written = await self._write(name)
        await asyncio.sleep(SETTLED)
        return written, await self._ready(name)

    async def _together(self, names: list[str]) -> list[tuple[float, float]]:
        written = await asyncio.gather(*map(self._write, names))
        await asyncio.sleep(2)  # until the templates' other objects are written
        return list(zip(written, await asyncio.gather(*map(self._ready, names)), strict=True))

    async def _write(self, name: str) -> float:
        """The Colony's first sight to the Cluster's."""
        await self._kube.create(COLONIES, {"metadata": {"name": name, "namespace": "default"}, "spec": SPEC})
        began = await self._colonies.when(name, there)
        return 1000 * (await self._clusters.when(f"{name}-gpu-1", there) - began)

    async def _ready(self, name: str) -> float:
        """The sight of a Cluster that can be reached to that of a Colony that is ready."""
        cluster = f"{name}-gpu-1"
        there = await self._kube.get(CLUSTERS, cluster, "default")
        secret = {"metadata": {"name": f"{cluster}-kubeconfig", "namespace": "default"}}
        await self._kube.create(SECRETS, secret | {"data": {"value": self._kubeconfig}})
        generation = there["metadata"]["generation"]
        status = {
            "observedGeneration": generation,
            "initialization": {"controlPlaneInitialized": True},
            "conditions": [condition(PROBE) | {"observedGeneration": generation}],
        }
        await self._kube.patch(CLUSTERS, cluster, "default", {"status": status}, subresource="status")
        began = await self._clusters.when(cluster, holds(PROBE))
        return 1000 * (await self._colonies.when(name, holds("Ready")) - began)

    async def _node(self) -> None:
        named: Object = {"metadata": {"name": "gpu", "labels": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}}}
        await self._kube.create(NODES, named)
        amounts = {"nvidia.com/gpu": "8", "cpu": "192", "memory": "2048Gi", "pods": "110"}
        status = {"capacity": amounts, "allocatable": amounts, "conditions": [condition("Ready")]}
        await self._kube.patch(NODES, "gpu", None, {"status": status}, subresource="status")


def condition(kind: str) -> dict[str, object]:
    """It is so, since now."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"type": kind, "status": "True", "reason": "Bench", "message": "", "lastTransitionTime": now}


def _plain(alone: list[float], together: list[float]) -> dict[str, float]:
    return {
        "alone_p50_ms": median(alone),
        "alone_p99_ms": quantile(alone, 0.99),
        "at_once_p50_ms": median(together),
        "at_once_p99_ms": quantile(together, 0.99),
    }
