"""``python -m tests.bench.kube`` puts alate beside bare loops and kopf on one real API server, in one run."""

import argparse
import asyncio
import json
import os
import platform
import random
import sys
import tempfile
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import uvloop
from rich.console import Console
from rich.table import Table

from events.errors import NotFound
from events.jetstream.server import NatsServer
from events.kube.client import Kube, Object, Resource
from events.kube.resources import CLUSTERS, COLONIES, CRDS
from services.compose import SERVICES
from services.sandbox.seeds.kinds import definitions
from services.sandbox.seeds.plant import seed
from tests.bench.kube import goals, rivals
from tests.bench.kube.applying import Applying
from tests.bench.kube.founding import SPEC, Founding
from tests.bench.kube.reaction import MANY, Reactions, Row
from tests.bench.kube.rivals import BARE, GATEWAY, OPERATOR, PUBLISHED, RIVALS, Rival
from tests.bench.onlooker import Onlooker, answered
from tests.kube.places import missing
from tests.kube.plane import ControlPlane

RESULT = Path(".bench") / "kube.json"
NEEDED = ("etcd", "kube-apiserver")


def main() -> int:
    """Exit code 0 if everything could be measured, whether or not a goal is reached; 1 where a program is missing."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.kube", description=__doc__)
    parser.add_argument("--many", type=int, default=MANY, help="objects at once (default %(default)s)")
    asked = parser.parse_args()
    if absent := missing(*NEEDED):
        sys.stderr.write(f"{', '.join(absent)} not there: `make kube` builds what is missing\n")
        return 1
    found = uvloop.run(measure(asked.many))
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    show(found)
    return 0


async def measure(many: int) -> Object:
    """The whole document."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="alate-bench-")))
        stage = await stack.enter_async_context(staged(folder))
        kopf = stack.enter_context(rivals.kopf())
        tell("founding")
        founding = await stage.founding()
        tell("reactions")
        rows = await stage.reactions(kopf, many)
        tell("objects of add-ons")
        applying = await stage.applying()
    return document(rows, founding, applying, many)


class Stage:
    """One API server, one NATS, one who looks on."""

    def __init__(self, folder: Path, plane: ControlPlane, nats: NatsServer, kube: Kube) -> None:
        self._folder, self._plane, self._kube = folder, plane, kube
        self._told = {
            "ALATE_KUBECONFIG": str(plane.kubeconfig),
            "KUBECONFIG": str(plane.kubeconfig),
            "ALATE_NATS_URL": nats.url,
            "ALATE_LOG_FORMAT": "json",
            "ALATE_LOG_LEVEL": "warning",
        }

    async def prepare(self) -> None:
        """Kinds and templates."""
        crds = [*(rivals.definition(rival.resource) for rival in RIVALS), *definitions()]
        for definition in crds:
            await self._kube.apply(CRDS, definition, manager="bench")
        for rival in RIVALS:
            await self._served(rival.resource)
        await self._served(CLUSTERS)
        await seed(self._kube)

    async def _served(self, resource: Resource) -> None:
        async with asyncio.timeout(30):
            while True:
                try:
                    await self._kube.list(resource)
                except NotFound:
                    await asyncio.sleep(0.1)
                else:
                    return

    @asynccontextmanager
    async def watching(self, *resources: Resource) -> AsyncIterator[list[Onlooker]]:
        """Somebody who sees every change of these kinds."""
        onlookers = [Onlooker(self._kube, resource) for resource in resources]
        tasks = [asyncio.create_task(each.run()) for each in onlookers]
        for each in onlookers:
            await each.ready.wait()
        yield onlookers
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

    async def founding(self) -> Object:
        """With all five services."""
        async with AsyncExitStack() as stack:
            for name in SERVICES:
                stack.enter_context(rivals.started(name, rivals.service(name), self._folder, self._told))
            colonies, clusters = await stack.enter_async_context(self.watching(COLONIES, CLUSTERS))
            return await Founding(self._kube, colonies, clusters, self._plane.kubeconfig.read_text()).measure()

    async def reactions(self, kopf: tuple[str, ...], many: int) -> dict[Rival, Row]:
        """With the gateway alone, for provisioning is nobody's reaction."""
        async with AsyncExitStack() as stack:
            onlookers = await stack.enter_async_context(self.watching(*(rival.resource for rival in RIVALS)))
            measured = Reactions(self._kube, dict(zip(RIVALS, onlookers, strict=True)), SPEC)
            gateway = rivals.service("gateway")
            stack.enter_context(rivals.started("alone", gateway, self._folder, self._told))
            told = self._told | {"BENCH_STATUS": json.dumps(await self._status(onlookers[-1]))}
            commands = {"bare": rivals.loop(BARE), "published": rivals.loop(PUBLISHED), "kopf": kopf}
            for name, command in commands.items():
                stack.enter_context(rivals.started(name, command, self._folder, told))
            for rival in RIVALS:
                await measured.once(rival)  # until it is up
            return await measured.measure(many)

    async def applying(self) -> Object:
        """With nobody else."""
        return await Applying(self._kube).measure()

    async def _status(self, onlooker: Onlooker) -> Object:
        """The ready-made one: what the gateway itself writes."""
        meta = {"name": "first", "namespace": "default"}
        await self._kube.create(COLONIES, {"metadata": meta, "spec": SPEC})
        await onlooker.when("first", answered)
        found: Object = (await self._kube.get(COLONIES, "first", "default"))["status"]
        return found


@asynccontextmanager
async def staged(folder: Path) -> AsyncIterator[Stage]:
    """All that is needed, on ports of 127.0.0.1, ended afterwards."""
    with ControlPlane(folder / "plane") as plane:
        async with NatsServer(folder / "nats") as nats:
            kube = Kube(plane.transport(), random=random.random)
            try:
                stage = Stage(folder, plane, nats, kube)
                await stage.prepare()
                yield stage
            finally:
                await kube.close()


def tell(what: str) -> None:
    sys.stderr.write(f"measuring {what}\n")


def document(rows: dict[Rival, Row], founding: Object, applying: Object, many: int) -> Object:
    """What is written to the file."""
    load = os.getloadavg()[0]
    machine = {"cores": os.cpu_count(), "python": platform.python_version(), "load": load, "many": many}
    plain = {rival.name: row.plain() for rival, row in rows.items()}
    found = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "machine": machine, "rows": plain}
    ratios = {
        f"{GATEWAY.name} / {other.name}": {
            key: plain[GATEWAY.name][key] / plain[other.name][key] for key in plain[other.name]
        }
        for other in (BARE, PUBLISHED, OPERATOR)
    }
    judged = goals.judged(plain, founding, applying["rows"])
    return found | {"ratios": ratios, "founding": founding, "applying": applying, "goals": judged}


def show(found: Object) -> None:
    """A table for each, then the goals."""
    console = Console()
    console.print(table("from an object's first sight to its status", found["rows"]))
    console.print(table("ratios", found["ratios"]))
    console.print(table("founding", found["founding"]))
    console.print(table("objects of an add-on", found["applying"]["rows"]))
    console.print(table("drift of a field", {"alate": found["applying"]["drift"]}))
    for goal in found["goals"]:
        console.print(f"{'reached' if goal['reached'] else 'MISSED'}: {goal['goal']} (is {goal['is']:.2f})")


def table(title: str, rows: dict[str, dict[str, float]]) -> Table:
    made = Table("", *_heads(rows.values()), title=title)
    for name, row in rows.items():
        made.add_row(name, *(f"{value:,.2f}" for value in row.values()))
    return made


def _heads(rows: Iterable[dict[str, float]]) -> list[str]:
    return [key.replace("_", " ") for key in next(iter(rows))]


if __name__ == "__main__":
    sys.exit(main())
