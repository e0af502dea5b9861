"""A watch of a real API server loses nothing when the server dies, etcd forgets, or the token is replaced."""

import asyncio
import json
import random
from contextlib import aclosing

import pytest

from events.kube.client import Changed, Kube, Listed, Request, Resource
from events.kube.http import Access, ApiCredentials, HttpTransport
from events.kube.resources import SECRETS
from tests.story.kube.services import now

pytestmark = [pytest.mark.kube, pytest.mark.timeout(300)]
LIMITS = Resource("", "v1", "limitranges", "LimitRange")
ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False)
WITHIN = 90.0


def limit(name):
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {"limits": [{"type": "Pod"}]}}


class Watched:
    """What a watch has come to believe, and how often it had to be told everything."""

    def __init__(self, kube):
        self.kube, self.names, self.lists = kube, set(), 0
        self._news = asyncio.Event()

    async def follow(self):
        async with aclosing(self.kube.watch(LIMITS, "default")) as sights:
            async for sight in sights:
                self._take(sight)

    def _take(self, sight):
        match sight:
            case Listed(items):
                self.names, self.lists = {each["metadata"]["name"] for each in items}, self.lists + 1
            case Changed(each, gone):
                (self.names.discard if gone else self.names.add)(each["metadata"]["name"])
        self._news.set()

    async def until(self, *names):
        async with asyncio.timeout(WITHIN):
            while self.names != set(names):
                self._news.clear()
                await self._news.wait()


async def reborn(plane, *, compact):
    """The API server dies and comes back, and etcd may have forgotten meanwhile."""
    server = plane.processes["kube-apiserver"]
    server.kill()
    if compact:
        await asyncio.to_thread(plane.compact)
    server.start()
    await asyncio.to_thread(server.wait, plane._ready["kube-apiserver"])


@pytest.fixture
async def watching():
    """Follows in the background; gives what it comes to believe."""
    tasks, kubes = [], []

    def start(transport):
        kubes.append(Kube(transport, random=random.random))
        watched = Watched(kubes[-1])
        tasks.append(asyncio.ensure_future(watched.follow()))
        return watched

    yield start
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for kube in kubes:
        await kube.close()


@pytest.mark.parametrize("compact", [False, True])
async def test_a_watch_goes_on_after_a_crash_and_lists_anew_where_etcd_has_forgotten(planes, watching, compact):
    plane = planes()
    watched = watching(plane.transport())
    await watched.kube.create(LIMITS, limit("a"))
    await watched.kube.create(LIMITS, limit("b"))
    await watched.until("a", "b")
    other = Kube(plane.transport(), random=random.random)
    await other.delete(LIMITS, "a", "default")
    await reborn(plane, compact=compact)
    await other.create(LIMITS, limit("c"))
    await other.close()
    await watched.until("b", "c")
    assert not compact or watched.lists > 1


async def test_a_token_replaced_during_a_watch_is_taken_up(planes, watching):
    plane = planes("kube-controller-manager")
    admin = Kube(plane.transport(), random=random.random)
    tokens = Tokens(plane, admin)
    await tokens.allow()
    await tokens.make("first")
    watched = watching(tokens.transport())
    await admin.create(LIMITS, limit("a"))
    await watched.until("a")
    await tokens.make("second")
    await admin.delete(SECRETS, "first", "default")
    await tokens.refused()
    await reborn(plane, compact=False)
    await admin.create(LIMITS, limit("b"))
    await watched.until("a", "b")
    assert tokens.read == ["first", "second"]
    await admin.close()


class Tokens:
    """Tokens of one service account, each good as long as its Secret is there."""

    def __init__(self, plane, admin):
        self._plane, self._admin = plane, admin
        self._made, self.read = [], []

    async def allow(self):
        await self._admin.create(ACCOUNTS, {"metadata": {"name": "alate", "namespace": "default"}})
        who = {"kind": "ServiceAccount", "name": "alate", "namespace": "default"}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
        await self._admin.create(BINDINGS, {"metadata": {"name": "alate"}, "roleRef": role, "subjects": [who]})

    async def make(self, name):
        held = await self._admin.create(SECRETS, {"metadata": {"name": name, "namespace": "default"}})
        reference = {"kind": "Secret", "apiVersion": "v1", "name": name, "uid": held["metadata"]["uid"]}
        asked = {"metadata": {"namespace": "default"}, "spec": {"boundObjectRef": reference}}
        token = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"} | asked
        path = "/api/v1/namespaces/default/serviceaccounts/alate/token"
        headers = {"Content-Type": "application/json"}
        made = await self._admin.transport.send(Request("POST", path, headers=headers, body=json.dumps(token).encode()))
        self._made.append((name, json.loads(made.body)["status"]["token"]))

    def transport(self):
        access = self._plane.transport().credentials

        async def load():
            there = await access.current()
            name, token = self._made[-1]
            self.read.append(name)
            return Access(there.server, there.tls, f"Bearer {token}")

        return HttpTransport(ApiCredentials(load, now))

    async def refused(self):
        """Wait until the first token is not taken any more."""
        transport = self._plane.transport(self._made[0][1])
        async with asyncio.timeout(WITHIN):
            while (await transport.send(Request("GET", "/api"))).status != 401:  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.5)
        await transport.close()
