"""The roles in deploy/ are held against every call that the services make through a whole story."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from events.kube.client import Kube, Request, Response
from events.kube.resources import STORAGECLASSES
from events.memory.bus import MemoryBus
from services.compose import SERVICES
from services.inventory.read.object_types import CAPACITIES, CLAIMS, SLICES, VOLUMES
from services.sandbox.api.server.app import MANAGEMENT, Api
from services.sandbox.api.server.local import LocalTransport
from services.sandbox.api.store.journal import MemoryJournal
from services.sandbox.seeds.plant import seed
from tests.deploy.rights import Right, documents, of_request, shipped
from tests.deploy.story import Inside, Stage, play

EPOCH = datetime(2030, 1, 1, tzinfo=UTC)
INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io"
VERBS = {"clusters": ("get", "create"), "machinetemplates": ("get", "list", "create", "delete")}
"""What is done with the infrastructure of a cloud, by kind."""
ELSEWHERE = (
    {
        Right(
            INFRASTRUCTURE, f"{provider}{kind}", verb
        ): "Cluster API templates for this cloud; the story's are DevClusters"
        for provider in ("aws", "azure", "gcp")
        for kind, verbs in VERBS.items()
        for verb in verbs
    }
    | {
        Right(group, plural, "get"): "what could not be made is looked at: after a crash it is ours, and there already"
        for group, plural in (
            ("cluster.x-k8s.io", "machinehealthchecks"),
            ("bootstrap.cluster.x-k8s.io", "kubeadmconfigtemplates"),
            (INFRASTRUCTURE, "devclusters"),
            (INFRASTRUCTURE, "devmachinetemplates"),
        )
    }
    | {
        Right("controlplane.cluster.x-k8s.io", plural, "get"): "the control planes of k0rdent's own templates"
        for plural in ("k0scontrolplanes", "k0smotroncontrolplanes")
    }
    | {
        Right("", "configmaps", "get"): "a template that is not seen yet is asked for by its name",
        Right(
            "cluster.x-k8s.io", "clusters", "patch"
        ): "a topology has its size there: tests/services/clouds/test_topology.py",
        Right(
            "", "configmaps", "create"
        ): "machines of one's own are claimed: tests/contracts/clouds/test_own_machines.py",
        Right("k0rdent.mirantis.com", "credentials", "get"): "of a cluster that is lent: "
        "tests/contracts/clouds/test_lent.py",
        Right(
            "", "events", "patch"
        ): "what happens again is counted: tests/services/gateway/kube_events/test_recorder.py",
    }
)
"""What is shipped and not used in the story, with the reason."""
POOL = {"name": "p", "generation": 1, "resourceSliceCount": 1}
FURNITURE = (
    (STORAGECLASSES, {"metadata": {"name": "x"}, "provisioner": "p"}),
    (VOLUMES, {"metadata": {"name": "x"}, "spec": {}}),
    (CAPACITIES, {"metadata": {"name": "x", "namespace": "default"}, "storageClassName": "x"}),
    (SLICES, {"metadata": {"name": "x"}, "spec": {"driver": "d", "nodeName": "n", "pool": POOL}}),
    (CLAIMS, {"metadata": {"name": "x", "namespace": "default"}, "spec": {}}),
)
"""One of each kind that is watched only where there is some of it."""
CHANGES = ("create", "patch", "delete")
"""What the one who keeps Secrets may do with them."""
NOTHING: dict[str, list[Right]] = {name: [] for name in SERVICES}


class Recorder:
    """A transport that notes what an API server would have asked RBAC."""

    def __init__(self, inner: LocalTransport) -> None:
        self._inner = inner
        self.used: set[Right] = set()

    async def send(self, request: Request) -> Response:
        response = await self._inner.send(request)
        self.used |= of_request(request, response)
        return response

    async def stream(self, request: Request) -> AsyncIterator[bytes | Response]:
        self.used |= of_request(request, None)
        async for item in self._inner.stream(request):
            yield item

    async def close(self) -> None:
        await self._inner.close()


def clock() -> datetime:
    return EPOCH + timedelta(seconds=asyncio.get_running_loop().time())


async def recorded() -> dict[str, set[Right]]:
    """What each service used from the first Colony to nothing left."""
    uids = count(1)
    api = Api(MemoryJournal(), clock, lambda: f"00000000-0000-0000-0000-{next(uids):012d}")
    await api.start()
    try:
        recorders = {name: Recorder(LocalTransport(api, MANAGEMENT)) for name in SERVICES}
        admin = Kube(LocalTransport(api, MANAGEMENT), random=lambda: 0.5)
        kubes = {name: Kube(recorder, random=lambda: 0.5) for name, recorder in recorders.items()}
        await seed(admin)
        for resource, one in FURNITURE:
            await admin.create(resource, one)
        stage = Stage(admin, Inside(api), MemoryBus(clock=clock).again, clock, kubes)
        async with stage.running():
            await play(stage)
    finally:
        await api.close()
    return {name: recorder.used for name, recorder in recorders.items()}


@pytest.mark.looptime
async def test_every_service_may_do_all_it_does_and_nothing_it_does_not():
    used = await recorded()
    assert {name: sorted(used[name] - shipped(name)) for name in SERVICES} == NOTHING
    unused = {name: sorted(shipped(name) - used[name] - set(ELSEWHERE)) for name in SERVICES}
    assert unused == NOTHING


def test_what_the_story_leaves_out_is_shipped_for_its_reason():
    assert set(ELSEWHERE) <= shipped("provisioning") | shipped("gateway")


def test_no_role_is_wide():
    rights = {right for name in SERVICES for right in shipped(name)}
    assert not [right for right in rights if "*" in right]
    assert {right.verb for right in rights if right.resource == "secrets"} == {"get", "list", *CHANGES}
    for verb, only in (("list", "teardown"), *((verb, "gateway") for verb in CHANGES)):
        assert [name for name in SERVICES if Right("", "secrets", verb) in shipped(name)] == [only]


def test_nobody_but_the_services_is_bound_to_anything():
    subjects = {each["name"] for one in documents() for each in one.get("subjects", ())}
    accounts = {one["metadata"]["name"] for one in documents() if one["kind"] == "ServiceAccount"}
    assert subjects == accounts == set(SERVICES)
