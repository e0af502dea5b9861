"""Every cluster of a history has an API of its own, the sandbox's controllers in it, and what these pay for."""

import asyncio
import base64
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from itertools import count
from random import Random

from events.errors import Denied, Fault, NotFound, TryLater
from events.kube.client import Kube, Object, Resource
from events.kube.resources import COLONIES, CONFIGMAPS, CRDS, NAMESPACES, NODES, PODS, PVCS, SECRETS, SERVICES
from services.addons.owned_objects import owner
from services.clients.workload_clusters import WorkloadClusters
from services.runtime.workqueue import WorkQueue
from services.sandbox.api.server.app import MANAGEMENT, Api
from services.sandbox.api.store.journal import MemoryJournal
from services.sandbox.clouds.engine.workload_manager import WorkloadSimulation as Controllers
from services.sandbox.clouds.workloads.view import SEEN, controlled
from tests.services.crash.conftest import Life, clock
from tests.services.leaks.road import GRACE, NEVER, Own, Road, Way
from tests.services.leaks.work import GANGS, definition, held_up, pod_of

TENANT = "acme"
PAID = {SERVICES: "load balancer", PVCS: "volume"}
"""What the cloud is paid for as long as it is there."""
TENDED = (PODS, SERVICES, PVCS, CONFIGMAPS, GANGS)


@dataclass(frozen=True)
class Paid:
    """Something at the cloud that was made from within a cluster."""

    kind: str
    """As people call it."""
    name: str
    """Of the object that it was made for."""
    place: str
    uid: str
    """Of the incarnation of the cluster from which it was made."""
    addon: str
    """The one that it belongs to; empty: to none."""


class Inside:
    """The management cluster, and every founded one by the name of its attempt."""

    def __init__(self, seed: int) -> None:
        numbers = count(1)
        self.dice = Random(f"{seed}/inside")
        self.api = Api(MemoryJournal(), clock, lambda: f"u{next(numbers)}")
        self.ways: dict[str, Way] = {MANAGEMENT: Way(self.dice)}
        self.uids: dict[str, str] = {}
        """By place, the incarnation of the cluster that has it, or had it last."""
        self.paid: dict[str, Paid] = {}
        """By the uid of the object that it was made for."""
        self.tasks: list[asyncio.Task[None]] = []
        self._queue: WorkQueue[str] = WorkQueue(self._look)
        self._controllers = Controllers(self, self.api.holds, clock, NEVER)
        self.made: dict[str, set[tuple[Resource, str]]] = defaultdict(set)
        """By place, what people have made in it; pods aside, which go with their nodes."""
        self.haunted: dict[str, tuple[Resource, Object]] = {}
        """By place, what its operator makes again whenever it is gone."""
        self._seen: set[str] = set()
        self._colonies: dict[str, Object] = {}

    async def start(self) -> None:
        await self.api.start()
        self.api.follow(self._changed)
        self.management = self.kube(MANAGEMENT)
        await self.management.create(NAMESPACES, {"metadata": {"name": TENANT}})
        await self.management.create(CRDS, definition(COLONIES))
        self.tasks = [asyncio.create_task(self._controllers.run(())), asyncio.create_task(self._tend())]

    async def stop(self) -> None:
        await self.api.close()

    def kube(self, place: str) -> Kube:
        """The way of its own controllers, and of whoever has work in it."""
        return Kube(Own(self.api, place, self.ways[place]), random=lambda: 0.5)

    def workloads(self, life: Life) -> tuple[Kube, WorkloadClusters]:
        """The management cluster, and the founded ones through their Secrets, as one process reaches them."""
        management = Kube(Road(self.api, MANAGEMENT, self.ways[MANAGEMENT], life), random=lambda: 0.5)

        async def opened(kubeconfig: str) -> Kube:
            place, _, key = kubeconfig.partition("#")
            if place not in self.ways:
                raise Denied("the kubeconfig is none", "BadKubeconfig")
            return Kube(Road(self.api, place, self.ways[place], life, int(key)), random=lambda: 0.5)

        return management, WorkloadClusters(management, opened)

    async def found(self, place: str, uid: str, nodes: int) -> None:
        """Its API answers from now on, if it did not; its Secret is there. `uid`: of the cluster's incarnation."""
        self.uids[place] = uid
        if place in self.ways:
            return
        await self.api.found(place)
        self.ways[place] = Way(self.dice)
        await self.size(place, nodes)
        await self.key(place)

    async def write(self, colony: str, spec: Object) -> None:
        """A Colony is so from now on."""
        if self._colonies.get(colony, {"clusters": []}) != spec:
            self._colonies[colony] = spec
            meta = {"name": colony, "namespace": TENANT}
            await self.management.apply(COLONIES, {"metadata": meta, "spec": spec}, manager="people")

    async def key(self, place: str, text: str = "") -> None:
        """What its Secret holds: the key that opens it now, if nothing else is said."""
        value = base64.b64encode((text or f"{place}#{self.ways[place].key}").encode()).decode()
        meta = {"name": f"{place}-kubeconfig", "namespace": TENANT}
        await self.management.apply(SECRETS, {"metadata": meta, "data": {"value": value}}, manager="capi")

    async def lose_key(self, place: str) -> None:
        """Its Secret is deleted."""
        try:
            await self.management.delete(SECRETS, f"{place}-kubeconfig", TENANT)
        except NotFound:
            return

    async def size(self, place: str, nodes: int) -> None:
        """So many of its machines have joined; others are gone."""
        if place not in self.ways:
            return
        kube = Kube(Own(self.api, place, Way(self.dice)), random=lambda: 0.5)
        there = [node["metadata"]["name"] for node in (await kube.list(NODES)).items]
        wanted = [f"node-{number}" for number in range(nodes)]
        for name in wanted:
            if name not in there:
                await kube.create(NODES, _node(name))
        for name in there:
            if name not in wanted:
                await kube.delete(NODES, name)

    async def drop(self, place: str) -> None:
        """Its machines are gone, and its API with them; what it paid for at the cloud is not."""
        if place not in self.ways:
            return
        self.ways.pop(place).dead_until = NEVER
        self.haunted.pop(place, None)
        self.made.pop(place, None)
        await self.lose_key(place)
        await self.api.drop(place)

    async def put(self, place: str, resource: Resource, wanted: Object) -> None:
        """Somebody makes something in it, if its API answers."""
        try:
            if resource == GANGS and not self.api.holds(place, CRDS):
                await self.kube(place).create(CRDS, definition(GANGS))
            await self.kube(place).create(resource, wanted)
            if resource != PODS:
                self.made[place].add((resource, wanted["metadata"]["name"]))
        except (Denied, TryLater):  # it is there already, or nobody is answered
            return

    async def harmed(self, place: str) -> list[str]:
        """What others have in a cluster that goes on, and was ended or kept from its nodes."""
        if place not in self.ways or self.ways[place].dead:
            return []
        kube = self.kube(place)
        there = {
            (resource, each["metadata"]["name"])
            for resource in {resource for resource, _ in self.made[place]}
            for each in (await kube.list(resource)).items
            if "deletionTimestamp" not in each["metadata"]
        }
        ended = [f"{resource.kind} {name} in {place} was ended" for resource, name in self.made[place] - there]
        closed = [
            node["metadata"]["name"] for node in (await kube.list(NODES)).items if node["spec"].get("unschedulable")
        ]
        return [*sorted(ended), *(f"{node} in {place} was closed to pods" for node in closed)]

    async def revive(self, place: str) -> None:
        """Its API answers again, and its controllers take up where they stood."""
        self.ways[place].dead_until = 0.0
        self._controllers.changed(place, PODS.group, PODS.plural)
        self._queue.add(place)

    def _changed(self, place: str, group: str, plural: str) -> None:
        if place == MANAGEMENT:
            return
        self._controllers.changed(place, group, plural)
        if (group, plural) in _TENDED:
            self._queue.add(place)

    async def _tend(self) -> None:
        async with asyncio.TaskGroup() as group:
            self._group = group
            async with self._queue.running():
                await asyncio.Event().wait()

    async def _look(self, place: str) -> None:
        """The other controllers: the cloud's, the kubelets where pods take their time, and one of a foreign kind."""
        if place not in self.ways:
            return
        way, kube = self.ways[place], self.kube(place)
        try:
            for resource in TENDED:
                if self.api.holds(place, resource):
                    items = (await kube.list(resource)).items
                    for each in items:
                        await self._one(place, kube, resource, each)
            if place in self.haunted:
                await self.put(place, *self.haunted[place])
        except TryLater:
            if way.dead_until < NEVER:
                self._later(way.dead_until, partial(self._due, place))
        except NotFound:
            return

    async def _one(self, place: str, kube: Kube, resource: Resource, it: Object) -> None:
        meta = it["metadata"]
        if "deletionTimestamp" in meta:
            if GRACE in meta.get("finalizers", ()) and meta["uid"] not in self._seen:
                self._seen.add(meta["uid"])
                self._later(_now() + held_up(it), partial(self._let_go, place, resource, it))
        elif resource == GANGS:
            await _keep(kube, it)
        elif resource in PAID and meta["uid"] not in self.paid and _costs(resource, it):
            self.paid[meta["uid"]] = Paid(PAID[resource], meta["name"], place, self.uids[place], owner(it))
            await _patch(kube, resource, it, [GRACE])

    async def _let_go(self, place: str, resource: Resource, it: Object) -> None:
        way = self.ways.get(place)
        if way is None:
            return
        if way.dead:
            self._later(way.dead_until, partial(self._let_go, place, resource, it))
            return
        self.paid.pop(it["metadata"]["uid"], None)
        await _patch(self.kube(place), resource, it, None)

    async def _due(self, place: str) -> None:
        self._queue.add(place)

    def _later(self, at: float, do: Callable[[], Awaitable[None]]) -> None:
        async def wait() -> None:
            await asyncio.sleep(at - _now())
            await do()

        if at < NEVER:
            self._group.create_task(wait())


async def _keep(kube: Kube, gang: Object) -> None:
    """The controller of a foreign kind: its pods are there, whoever ends them."""
    own = [pod for pod in (await kube.list(PODS)).items if controlled(pod, gang)]
    for _ in range(gang["spec"]["pods"] - sum("deletionTimestamp" not in pod["metadata"] for pod in own)):
        await kube.create(PODS, pod_of(gang))


async def _patch(kube: Kube, resource: Resource, it: Object, finalizers: list[str] | None) -> None:
    meta = it["metadata"]
    patch = {"metadata": {"finalizers": finalizers, "uid": meta["uid"]}}
    try:
        await kube.patch(resource, meta["name"], meta["namespace"], patch)
    except Fault:  # gone, or another incarnation
        return


def _costs(resource: Resource, it: Object) -> bool:
    return resource == PVCS or it["spec"].get("type") == "LoadBalancer"


def _node(name: str) -> Object:
    has = {"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": "8"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    return {"metadata": {"name": name}, "status": {"capacity": has, "allocatable": has, "conditions": [ready]}}


def _now() -> float:
    return asyncio.get_running_loop().time()


_TENDED = {(resource.group, resource.plural) for resource in (*TENDED, *SEEN)}
