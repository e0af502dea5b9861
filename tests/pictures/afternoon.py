"""A simulated afternoon of a small fleet, in virtual time: the page is photographed as it is at its end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count

import looptime

from events.bus import Message, Stored
from events.kube.client import Kube, Object
from events.kube.resources import COLONIES
from events.memory.bus import MemoryBus
from services.compose import SERVICES
from services.eventlog.filters import STREAMS
from services.sandbox.api.server.app import MANAGEMENT, Api
from services.sandbox.api.server.local import LocalTransport
from services.sandbox.api.store.journal import MemoryJournal
from services.sandbox.seeds.plant import seed
from tests.deploy.story import Inside, Stage

NOON = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
SLOW = 40.0
"""So much slower than in other tests are the simulated clouds: minutes, as real ones."""
NOTE = "apiVersion: v1\nkind: {kind}\nmetadata:\n  name: {name}\n  namespace: default\n"
METRICS = {"name": "gpu-metrics", "manifests": NOTE.format(kind="ConfigMap", name="gpu-metrics")}
BROKEN = {"name": "tracing", "manifests": NOTE.format(kind="ConfgMap", name="tracing")}


def job(pods: int, hours: float) -> Object:
    """An add-on that runs a training job on so many nodes."""
    return {
        "name": "job",
        "manifests": f"""apiVersion: batch/v1
kind: Job
metadata:
  name: train
  namespace: default
spec:
  completions: {pods}
  parallelism: {pods}
  template:
    metadata:
      annotations: {{sandbox.alate.dev/run-seconds: "{int(hours * 3600)}"}}
    spec:
      restartPolicy: Never
      containers:
        - name: worker
          image: pytorch/pytorch:2.8.0-cuda12.9-cudnn9-runtime
          resources: {{limits: {{nvidia.com/gpu: 8}}}}
""",
    }


def colony(name: str, nodes: int, accelerator: str = "H100", *addons: Object, **fields: object) -> Object:
    """A Colony of one cluster."""
    pool = {"name": "workers", "accelerator": accelerator, "acceleratorsPerNode": 8, "nodes": nodes}
    known = {"name": "gpu", "pools": [pool], "timeToLive": "12h", "addons": list(addons), "drainTimeout": "30m"}
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {"clusters": [known | fields]}}


PLAN: tuple[tuple[float, Object], ...] = (
    (0.0, colony("llama-finetune", 4, "H100", METRICS, job(4, 9.0))),
    (0.05, colony("embeddings", 2, "A100-80GB", METRICS, job(1, 9.0), timeToLive="24h")),
    (0.15, colony("serve-eu", 2, "H100", METRICS, residency=["EU"], timeToLive="168h")),
    (0.4, colony("rlhf", 3, "H200", METRICS, job(2, 9.0))),
    (0.6, colony("old-run", 2, "H100", METRICS, job(2, 9.0))),
    (0.75, colony("tracing-test", 1, "A100-80GB", METRICS, BROKEN)),
    (1.0, colony("weekend", 2, "H100", METRICS)),
    (1.2, colony("pretrain", 32, "H200", maxPricePerHour=120)),
    (1.965, colony("eval-nightly", 2, "H100", METRICS, job(2, 1.0), timeToLive="4h")),
    (1.989, colony("ablation", 1, "H100", METRICS)),
    (1.994, colony("smoke-test", 1, "L4", timeToLive="1h")),
)
"""When somebody asks for what, in hours."""
HIBERNATES, ENDS, LENGTH = 1.6, 1.997, 2.0
"""When ``weekend`` hibernates and ``old-run`` is deleted, and when the picture is taken."""


@dataclass(frozen=True)
class Afternoon:
    """What is left at its end."""

    now: datetime
    messages: tuple[tuple[str, Stored], ...]
    colonies: tuple[Object, ...]

    async def fill(self, bus: MemoryBus, times: list[datetime]) -> None:
        """Publish every message on a bus of another loop, when it was stored: the last of `times` is its clock."""
        for _, stored in sorted(self.messages, key=lambda each: each[1].time):
            times.append(stored.time)
            await bus.publish(Message(stored.subject, stored.data, stored.headers))
        times.append(self.now)


def afternoon() -> Afternoon:
    """Simulate it: hours in some seconds."""
    loop = looptime.new_event_loop(start=0.0, idle_timeout=None)
    try:
        return loop.run_until_complete(_simulated())
    finally:
        loop.close()


def clock() -> datetime:
    return NOON + timedelta(seconds=asyncio.get_running_loop().time())


async def _simulated() -> Afternoon:
    bus = MemoryBus(clock=clock)
    async with _stage(bus) as stage, stage.running():
        await _play(stage.admin)
        found = [(stream, each) for stream in STREAMS for each in await bus.again().read(stream, ">")]
        colonies = (await stage.admin.list(COLONIES, "default")).items
        return Afternoon(clock(), tuple(found), tuple(colonies))


@asynccontextmanager
async def _stage(bus: MemoryBus) -> AsyncIterator[Stage]:
    uids = count(1)
    api = Api(MemoryJournal(), clock, lambda: f"00000000-0000-0000-0000-{next(uids):012d}")
    await api.start()
    try:
        admin = Kube(LocalTransport(api, MANAGEMENT), random=lambda: 0.5)
        await seed(admin)
        yield Stage(admin, Inside(api), bus.again, clock, dict.fromkeys(SERVICES, admin), SLOW)
    finally:
        await api.close()


async def _play(admin: Kube) -> None:
    hibernate = [{"op": "add", "path": "/spec/clusters/0/hibernate", "value": True}]
    events = [(at, admin.apply(COLONIES, each, manager="kubectl")) for at, each in PLAN]
    events.append((HIBERNATES, admin.patch(COLONIES, "weekend", "default", hibernate, kind="json")))
    events.append((ENDS, admin.delete(COLONIES, "old-run", "default")))
    began = asyncio.get_running_loop().time()
    for at, event in sorted(events, key=lambda each: each[0]):
        await asyncio.sleep(began + at * 3600 - asyncio.get_running_loop().time())
        await event
    await asyncio.sleep(began + LENGTH * 3600 - asyncio.get_running_loop().time())
