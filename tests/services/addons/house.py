"""One management cluster and one cluster of a Colony, between which add-ons are put on and taken off."""

import asyncio
import base64
from collections.abc import Callable, Coroutine
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from random import Random
from typing import Any

from events.errors import NotFound, TryLater
from events.kube.client import Kube, Request, Response
from events.kube.discovery import find
from events.kube.resources import COLONIES, CONFIGMAPS, CRDS, NAMESPACES, SECRETS
from events.memory.bus import MemoryBus
from events.meters import Meters
from schemas.addon import LIFECYCLE, AddonHealthy, ApplyAddon, CheckAddon, WithdrawAddon
from schemas.subjects import Key
from schemas.wish import digest
from services.addons.act import AddonCalls, act
from services.addons.contents import Contents
from services.addons.descriptions import Descriptions
from services.addons.gates import Gates
from services.addons.helm.pool import HelmWorkers
from services.addons.helm.releases import HelmReleases
from services.addons.objects.watch import ObjectWatches
from services.addons.plan.profile_store import ProfileStore
from services.addons.plan.revisions import Revisions
from services.addons.plan.rules import profile_rules
from services.addons.ports import AddonPorts
from services.addons.recheck import Rechecks
from services.addons.reference_watches import ReferenceWatches
from services.addons.render.renderers import Renderers
from services.clients.workload_clusters import WorkloadClusters
from services.expressions.evaluators import Evaluators
from services.runtime.read_model import entities
from services.sandbox.api.server.app import Api
from services.sandbox.api.server.local import LocalTransport

SEEDED = {"default", "kube-system", "kube-public", "kube-node-lease"}
RULES = profile_rules()
KEY = Key("addon", "acme", "train-a.driver")
CONFIG = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data: {size: small}
"""
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: driver
  namespace: kube-system
spec:
  selector: {matchLabels: {app: driver}}
  template:
    metadata: {labels: {app: driver}}
    spec: {containers: [{name: main, image: driver}]}
"""
UNKNOWN = """
apiVersion: example.org/v1
kind: Gadget
metadata:
  name: one
"""
KIND = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: gadgets.example.org
spec:
  group: example.org
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""
UNSERVED = "the API server does not serve example.org/v1: is its CRD installed?"
SPACE = """
apiVersion: v1
kind: Namespace
metadata:
  name: space
"""
INSIDE = """
apiVersion: v1
kind: ConfigMap
metadata: {name: inside, namespace: space}
"""
OTHER = CONFIG.replace("settings", "theirs")


async def straight() -> None:
    """Nothing is met on the way."""


class Road(LocalTransport):
    """The way to an API server, on which something may be met, there and back."""

    meets = staticmethod(straight)

    async def send(self, request: Request) -> Response:
        await self.meets()
        response = await super().send(request)
        await self.meets()
        return response


class House:
    """A management cluster and one workload cluster, reached through its Secret."""

    tries, pause = 5, 0.0
    """How often an API server is asked to come to an end, and after how many seconds each."""

    def __init__(self, api: Api) -> None:
        self._roads = [Road(api, cluster) for cluster in ("management", "w")]
        self.management, self.workload = (Kube(road, random=lambda: 0.5) for road in self._roads)
        self.workloads = WorkloadClusters(self.management, self._open)
        self.ends = False
        bus, evaluators = MemoryBus(clock=lambda: datetime.now(UTC)), Evaluators()
        states = entities(bus, LIFECYCLE, Meters())
        profiles = ProfileStore(self.management, RULES, lambda _: None)
        ports = AddonPorts(
            self.workloads,
            Descriptions(self.management, profiles, Revisions(self.management), RULES.expand),
            Contents(self.management, None, evaluators, Renderers()),
            evaluators,
            Gates(states, lambda _: (), lambda _: None),
            lambda _: None,
            ObjectWatches(),
            ReferenceWatches(self.management),
            HelmReleases(HelmWorkers()),
        )
        calls = AddonCalls(ports)
        self.checks = Rechecks(calls.look, calls.follow, lambda *_: self.ends)
        self.act = act(calls, self.checks)
        self.digest = ""

    def meets(self, what: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """From now on every call meets it on the way there and back."""
        for road in self._roads:
            road.meets = what

    def uneven(self, seed: int) -> None:
        """Every call takes its time: none knows who is first."""
        dice = Random(seed)  # noqa: S311 - the order of calls is no secret
        self.meets(lambda: asyncio.sleep(dice.random()))

    def cut(self, at: int) -> None:
        """One call comes to nothing, or is not heard to be done, as if whoever made it had died there."""
        calls = count(1)

        async def may_be_cut() -> None:
            if next(calls) == at:
                raise TryLater("cut")

        self.meets(may_be_cut)

    async def _open(self, kubeconfig: str) -> Kube:
        assert kubeconfig == "the way there"
        return self.workload

    async def colony(self, manifests: str = "", **more: str) -> None:
        """Its add-ons: ``driver``, and more by name."""
        pools = [{"name": "gpu", "accelerator": "H100", "acceleratorsPerNode": 8, "nodes": 1}]
        asked = ({"driver": manifests} if manifests else {}) | more
        addons = [{"name": name, "manifests": text} for name, text in asked.items()]
        spec = {"clusters": [{"name": "a", "pools": pools, "addons": addons}]}
        meta = {"name": "train", "namespace": "default"}
        await self.management.apply(COLONIES, {"metadata": meta, "spec": spec}, manager="me")
        self.digest = digest(manifests)

    async def secret(self, value: str = "the way there") -> None:
        data = {"value": base64.b64encode(value.encode()).decode()} if value else {}
        await self.management.apply(
            SECRETS, {"metadata": {"name": "k", "namespace": "default"}, "data": data}, manager="me"
        )

    async def apply(self, told: str = "", *, overdue: bool = False):
        return await self.acted(ApplyAddon("default", "train", "train-a", "driver", self.digest, "k", told, overdue))

    async def acted(self, command: ApplyAddon):
        """The events, whatever the contents' digest is."""
        events = await self.act(KEY, command)
        return tuple(each.but(content="") if isinstance(each, AddonHealthy) else each for each in events)

    async def check(self, addon: str = "driver"):
        """Look at it once: what is missing, or after how many seconds it is looked at again."""
        command = CheckAddon("default", "train", "train-a", addon, self.digest, "k")
        if ("default", "train-a", addon) in self.checks._checked:
            self.checks.changed("default", "train-a", addon)
        try:
            return await self.act(KEY, command)
        except TryLater as later:
            return later.after

    async def put_on(self, **addons: str) -> None:
        """The Colony asks for these, and they are on the cluster."""
        await self.colony(**addons)
        for name, text in addons.items():
            await self.on(name, text)

    async def on(self, addon: str, manifests: str) -> None:
        """Apply until it is done."""
        for _ in range(self.tries):
            await asyncio.sleep(self.pause)
            with suppress(TryLater):
                command = ApplyAddon("default", "train", "train-a", addon, digest(manifests), "k")
                assert await self.acted(command) == (AddonHealthy(digest(manifests)),)
                return
        raise AssertionError("it is coming up for ever")

    async def withdraw(self, addon: str = "driver", *, dropped: bool = False, stays: bool = False):
        return await self.act(KEY, WithdrawAddon("default", "train", "train-a", addon, "k", dropped, stays))

    async def off(self, addon: str = "driver", *, dropped: bool = True, stays: bool = True) -> str:
        """Withdraw until it is done; gives what was left."""
        for _ in range(self.tries):
            await asyncio.sleep(self.pause)
            with suppress(TryLater):
                ((removed),) = await self.withdraw(addon, dropped=dropped, stays=stays)
                return removed.left
        raise AssertionError("it is going for ever")

    async def there(self) -> set[str]:
        """What is on the cluster of all that these tests put there."""
        listed = [each for kind in (CONFIGMAPS, CRDS, NAMESPACES) for each in (await self.workload.list(kind)).items]
        with suppress(NotFound):
            gadgets = await find(self.workload, "example.org/v1", "Gadget")
            listed += (await self.workload.list(gadgets)).items
        return {each["metadata"]["name"] for each in listed} - SEEDED

    async def has(self, kind: str, name: str, **more: Any) -> None:
        """Somebody made it in the namespace ``space``, or has the namespace itself."""
        api_version = {"Lease": "coordination.k8s.io/v1", "Gadget": "example.org/v1"}.get(kind, "v1")
        resource = await find(self.workload, api_version, kind)
        meta = {"name": name} | ({"namespace": "space"} if resource.namespaced else {})
        await self.workload.create(resource, {"metadata": meta | more.pop("metadata", {})} | more)
