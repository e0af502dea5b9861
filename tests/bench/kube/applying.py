"""How fast an add-on's objects are written, beside a bare loop of applies, and how soon a drift of one is corrected."""

import asyncio
import itertools
import json
from statistics import median

from events.kube.client import Kube, Object
from events.kube.discovery import find
from events.kube.resources import CONFIGMAPS, NAMESPACES
from services.addons.objects.apply import ApplyResult, apply
from services.addons.objects.compare import compare
from services.addons.objects.target import Target
from services.addons.objects.watch import ObjectWatches, watched
from services.addons.owned_objects import OwnedObject

NUMBER = 300
"""Objects of the add-on, of three kinds."""
ROUNDS = 3
DRIFTS = 20
CLUSTER = ("bench", "plane")


class Applying:
    """Measures on one API server; both ways write the same objects, each into namespaces of its own."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube
        self._clock = asyncio.get_running_loop().time

    async def measure(self) -> Object:
        """Objects per second, the median of a few rounds, and milliseconds from a drift to its correction."""
        rounds = [await self._round(number) for number in range(ROUNDS)]
        rows = {way: {key: median(each[way][key] for each in rounds) for key in rounds[0][way]} for way in rounds[0]}
        ratios = {key: rows["alate"][key] / rows["bare loop"][key] for key in rows["alate"]}
        return {"rows": rows | {"alate / bare loop": ratios}, "drift": await self._drift()}

    async def _round(self, number: int) -> dict[str, dict[str, float]]:
        ways = {"bare loop": self._bare, "alate": self._alate}
        found: dict[str, dict[str, float]] = {}
        for name, way in ways.items():
            space = f"{name.replace(' ', '-')}-{number}"
            await self._kube.create(NAMESPACES, {"metadata": {"name": space}})
            found[name] = {}
            for key in ("created_per_s", "again_per_s"):
                began = self._clock()
                await way(space)
                found[name][key] = NUMBER / (self._clock() - began)
        return found

    async def _bare(self, space: str) -> None:
        for each in objects(NUMBER):
            resource = await find(self._kube, each["apiVersion"], each["kind"])
            each["metadata"]["namespace"] = space
            await self._kube.apply(resource, each, manager="bench")

    async def _alate(self, space: str) -> ApplyResult:
        return await apply(self._target(space), objects(NUMBER), nobody)

    def _target(self, space: str) -> Target:
        return Target(self._kube, self._kube, space, namespace=space)

    async def _drift(self) -> dict[str, float]:
        """From a foreign write to the field as it was, through watch, comparison and apply."""
        space, spans, drifted = "drift", list[float](), asyncio.Event()
        await self._kube.create(NAMESPACES, {"metadata": {"name": space}})
        watches = ObjectWatches(lambda *_: drifted.set())
        target, wanted = self._target(space), objects(30)
        for number in range(DRIFTS):
            with watches.writing(CLUSTER, space):
                done = await apply(target, wanted, nobody)
                watches.follow(CLUSTER, self._kube, space, [watched(*each[:2]) for each in done.objects])
            await asyncio.sleep(1.1)  # the watch is open, and may tell at once again
            drifted.clear()
            began = self._clock()
            await self._kube.patch(CONFIGMAPS, "o0", space, {"data": {"size": str(number)}})
            await drifted.wait()
            if (await compare(target, wanted)).drifted:
                await apply(target, wanted, nobody)
            spans.append((self._clock() - began) * 1000)
        await watches.close()
        return {"corrected_p50_ms": median(spans), "corrected_p95_ms": sorted(spans)[int(len(spans) * 0.95)]}


async def nobody() -> dict[str, tuple[OwnedObject, ...]]:
    """There is no other add-on."""
    return {}


def objects(number: int) -> list[Object]:
    """ConfigMaps, Services and Deployments in turn, as new documents."""
    made = []
    for at, text in zip(range(number), itertools.cycle(TEMPLATES), strict=False):
        made.append(json.loads(text.replace("NAME", f"o{at}")))
    return made


_META = {"name": "NAME"}
_POD = {
    "metadata": {"labels": {"app": "NAME"}},
    "spec": {"containers": [{"name": "main", "image": "a:1", "ports": [{"containerPort": 80}], "env": []}]},
}
TEMPLATES = tuple(
    json.dumps({"metadata": _META} | each)
    for each in (
        {"apiVersion": "v1", "kind": "ConfigMap", "data": {"size": "small"}},
        {"apiVersion": "v1", "kind": "Service", "spec": {"selector": {"app": "NAME"}, "ports": [{"port": 80}]}},
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "spec": {"selector": {"matchLabels": {"app": "NAME"}}, "template": _POD},
        },
    )
)
