"""Writes what a release stores: `python -m tests.record_corpus 0.1.0` runs the main job and records it."""

import asyncio
import json
import sys
import tempfile
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import looptime

from events.bus import Message, Stored
from events.cloudevents import CloudEvent, encode
from events.streams import is_tombstone
from schemas.cluster import Ready, Released, Waiting
from schemas.generate.pages import schema
from schemas.registry import declarations
from services.clients.catalog_sources import sources
from services.eventlog.filters import is_event
from services.eventlog.record import EventRecord
from tests.contracts.clouds.house import House
from tests.corpus import FOLDER
from tests.services.sandbox.clouds.conftest import clock, running_sandbox

CONTRACTS = FOLDER.parent / "contracts"
STREAMS = ("INTAKE", "EVENTS", "LEVELS", "DLQ")
CATALOG = (
    "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,SpotPrice,Region,AvailabilityZone\n"
    "gpu_8x_h100_sxm5,H100,8,208,1800,40.00,,us-west-3,\n"
)
METRICS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: gpu-metrics, namespace: default}
data: {interval: 15s}
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: default}
spec:
  completions: 2
  parallelism: 2
  completionMode: Indexed
  template:
    metadata: {annotations: {sandbox.alate.dev/run-seconds: "4"}}
    spec:
      restartPolicy: Never
      containers:
        - name: worker
          image: pytorch/pytorch
          resources: {limits: {nvidia.com/gpu: 8}}
"""
POOL = {"accelerator": "H100", "acceleratorsPerNode": 8, "nodes": 2}
TRAIN = {
    "name": "gpu",
    "pools": [POOL | {"name": "workers"}],
    "maxPricePerHour": 60,
    "timeToLive": "1h",
    "idleAfter": "5s",
    "warnBefore": "1s",
    "addons": [{"name": "gpu-metrics", "manifests": METRICS}, {"name": "job", "manifests": JOB}],
}
CHEAP = {"name": "gpu", "maxPricePerHour": 0.01, "pools": [POOL | {"nodes": 1}]}
REQUESTS = (
    ("run-4711", "cluster.requested", "train", TRAIN),
    ("run-4712", "cluster.requested.default", "Bad Name", TRAIN),
    ("run-4713", "cluster.requested", "cheap", CHEAP),
)
"""The second is refused, the third finds no offer at its price."""


async def record(house: House, said: list[EventRecord]) -> None:
    """The main job: a request, a cluster, its add-ons and its end; each message is noted as it is stored."""

    async def note(stream: str) -> None:
        async with aclosing(house.bus.follow(stream, ">")) as feed:
            async for each in feed:
                said.extend([EventRecord(stream, each)] if isinstance(each, Stored) and each.data else ())

    async with house.at_work(house.sandbox.inside(), *(note(stream) for stream in STREAMS)):
        await asyncio.sleep(10)
        for request, subject, name, cluster in REQUESTS:
            data = json.dumps({"tenant": "default", "name": name, "spec": {"clusters": [cluster]}}).encode()
            event = CloudEvent(
                id=request, source="/ci/pipeline", type="dev.alate.cluster.request", time=clock(), data=data
            )
            headers, body = encode(event)
            await house.bus.publish(Message(subject, body, headers))
        await house.until(Ready)
        await house.until(Waiting, name="cheap")
        await house.until(Released)
        await house.let_go("cheap")
        await house.gone("cheap")
        await asyncio.sleep(1)


async def main(release: str) -> None:
    """Write the corpus and the JSON Schemas of a release."""
    said: list[EventRecord] = []
    with tempfile.TemporaryDirectory() as folder:
        catalog = Path(folder) / "lambda.csv"
        catalog.write_text(CATALOG)
        async with running_sandbox() as sandbox:
            house = House(sandbox, "capi")
            house.ports = replace(house.ports, sources=sources(str(catalog)))
            await record(house, said)
    said = [each for each in said if is_event(each.stream, each.stored.subject) and not is_tombstone(each.stored)]
    said.sort(key=lambda each: each.stored.time)
    (FOLDER / f"{release}.jsonl").write_text("".join(each.line() for each in said))
    lines = (f"{json.dumps(each.type)}: {json.dumps(schema(each))}" for each in declarations())
    (CONTRACTS / f"{release}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=looptime.new_event_loop) as runner:
        runner.run(main(*sys.argv[1:]))
