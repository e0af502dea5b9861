"""What teardown does in a cluster whose API is not a whole one."""

import json
from datetime import UTC, datetime
from itertools import count
from typing import Any

import pytest

from events.errors import Denied, TryLater
from events.kube.client import Kube, Response
from events.kube.resources import PVCS
from events.memory.bus import MemoryBus
from schemas.subjects import Key
from schemas.teardown import AuditCluster, Audited, Blocked, CleanedUp, CleanUp
from services.runtime.machine import Waits
from services.sandbox.api.server.app import MANAGEMENT, Api
from services.sandbox.api.server.local import LocalTransport
from services.sandbox.api.store.journal import MemoryJournal
from services.teardown.act import act
from tests.services.teardown.life import cluster

KEY = Key("teardown", "default", "c")


class Partial(LocalTransport):
    """Serves no claims on disks, and answers 500 to those who ask, as Cluster API's in-memory provider does."""

    async def send(self, request):
        if request.path.endswith("/persistentvolumeclaims"):
            return Response(500, {}, b"no such thing")
        answer = await super().send(request)
        if request.path != "/api/v1":
            return answer
        known = json.loads(answer.body)
        known["resources"] = [one for one in known["resources"] if one["kind"] != PVCS.kind]
        return Response(200, answer.headers, json.dumps(known).encode())


class Opened:
    """Founded clusters, of which there is one."""

    def __init__(self, kube):
        self._kube = kube

    async def open(self, tenant, secret):
        return self._kube


@pytest.fixture
async def founded():
    """Gives a cluster's API with a claim on a disk in it, reached in the given way."""
    uids = count(1)
    api = Api(MemoryJournal(), lambda: datetime(2026, 1, 1, tzinfo=UTC), lambda: f"u{next(uids)}")
    await api.start()
    claim = {"metadata": {"name": "data", "namespace": "default"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    await Kube(LocalTransport(api, MANAGEMENT), random=lambda: 0.5).create(PVCS, claim)
    yield lambda way: Kube(way(api, MANAGEMENT), random=lambda: 0.5)
    await api.close()


async def sweep(kube):
    return await act(MemoryBus(), Opened(kube), {})(KEY, CleanUp("default", "c-kubeconfig"))


async def test_a_cluster_that_knows_no_claims_on_disks_is_swept(founded):
    assert await sweep(founded(Partial)) == (CleanedUp(),)


async def test_a_cluster_that_does_is_swept_once_the_last_is_gone(founded):
    kube = founded(LocalTransport)
    with pytest.raises(TryLater, match="1 volume is going: default/data"):
        await sweep(kube)
    assert await sweep(kube) == (CleanedUp(),)


class Refusing:
    """The management cluster, or the cluster's kubeconfig, opens nothing."""

    def __init__(self, refusal):
        self._refusal = refusal

    async def open(self, tenant, secret):
        raise self._refusal


@pytest.mark.parametrize(
    ("refusal", "heard"),
    [
        (Denied("secrets is forbidden", "Forbidden"), True),
        (Denied("the token is too old", "Unauthorized"), True),
        (Denied("Secret default/c-kubeconfig is no kubeconfig"), False),
    ],
)
async def test_a_refusal_by_the_management_cluster_is_no_silence_of_the_clusters_api(refusal, heard):
    with pytest.raises(Waits) as waits:
        await act(MemoryBus(), Refusing(refusal), {})(KEY, CleanUp("default", "c-kubeconfig"))
    event: Any = waits.value.event
    assert (event.reachable, refusal.message in event.what) == (heard, True)


class Left:
    """A back end that finds so many, or says why it cannot look."""

    def __init__(self, found):
        self._found = found

    async def leftovers(self, tenant, name):
        if isinstance(self._found, Exception):
            raise self._found
        return dict(self._found)


async def audit(found):
    wish = cluster().wish
    return await act(MemoryBus(), Opened(None), {wish.need.backend: Left(found)})(KEY, AuditCluster(wish, "u1"))


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ({"machines": 2, "clusters": 0}, "2 machines left"),
        (TryLater("the API server is away"), "what is left cannot be looked for: the API server is away"),
        (Denied("forbidden"), "what is left cannot be looked for: forbidden"),
    ],
    ids=["left", "away", "refused"],
)
async def test_what_keeps_the_proof_from_being_had_is_told(found, told):
    with pytest.raises(Waits) as waits:
        await audit(found)
    assert waits.value.event == Blocked("Verifying", told)


async def test_a_proof_counts_what_was_looked_for_and_the_timers():
    assert await audit({"machines": 0}) == (Audited({"machines": 0, "timers": 0}),)
