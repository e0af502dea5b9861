"""The seeds are what the back ends look for, and a second planting writes nothing."""

import asyncio
import re
from datetime import UTC, datetime
from itertools import count

import pytest
import yaml

from events.errors import NotFound
from events.kube.client import Kube
from events.kube.resources import CLUSTERTEMPLATES, COLONIES, CONFIGMAPS, CRDS, CREDENTIALS, K0RDENT, NAMESPACES
from services.sandbox.api.server.app import MANAGEMENT, Api
from services.sandbox.api.server.local import LocalTransport
from services.sandbox.api.store.journal import MemoryJournal
from services.sandbox.seeds.kinds import KINDS
from services.sandbox.seeds.plant import seed, seed_tenant

# Before 3.14 pytest-asyncio's look at "the loop before" makes one that nobody closes; None says there is none.
asyncio.set_event_loop(None)


@pytest.fixture
async def kube():
    uids = count(1)
    api = Api(MemoryJournal(), lambda: datetime(2030, 1, 1, tzinfo=UTC), lambda: f"uid-{next(uids)}")
    await api.start()
    client = Kube(LocalTransport(api, MANAGEMENT), random=lambda: 0.5)
    await seed(client)
    yield client
    await api.close()


async def test_every_kind_is_served(kube):
    for resource in (*KINDS, COLONIES):
        assert not (await kube.list(resource, "nowhere")).items


async def test_a_second_planting_writes_nothing(kube):
    before = (await kube.list(CRDS)).resource_version
    await seed(kube)
    assert (await kube.list(CRDS)).resource_version == before


async def test_what_somebody_changed_is_theirs(kube):
    await kube.patch(CONFIGMAPS, "alate-capi-aws", "default", {"data": {"cluster.yaml": "mine"}})
    await seed(kube)
    assert (await kube.get(CONFIGMAPS, "alate-capi-aws", "default"))["data"]["cluster.yaml"] == "mine"


async def test_another_namespace_can_be_given_the_same(kube):
    await kube.create(NAMESPACES, {"metadata": {"name": "acme"}})
    await seed_tenant(kube, "acme")
    for resource, number in ((CLUSTERTEMPLATES, 8), (CREDENTIALS, 3), (CONFIGMAPS, 4)):
        assert len((await kube.list(resource, "acme")).items) == number


async def test_templates_are_valid_and_credentials_ready(kube):
    templates = (await kube.list(CLUSTERTEMPLATES, "default")).items
    assert {one["status"]["valid"] for one in templates} == {True}
    assert {one["status"]["providers"][0] for one in templates} == {
        "infrastructure-aws", "infrastructure-azure", "infrastructure-gcp", "infrastructure-k0sproject-k0smotron",
        "infrastructure-internal",
    }  # fmt: skip
    assert {one["status"]["ready"] for one in (await kube.list(CREDENTIALS, "default")).items} == {True}


async def test_a_pool_has_documents_of_its_own_in_the_template(kube):
    text = (await kube.get(CONFIGMAPS, "alate-capi-gcp", "default"))["data"]["cluster.yaml"]
    parts = text.split("\n---")
    kinds = [yaml.safe_load(re.sub(r"\$\{(\w+)\}", r"\1", part))["kind"] for part in parts if "${POOL}" in part]
    assert kinds == ["DevMachineTemplate", "KubeadmConfigTemplate", "MachineDeployment"]
    assert 'sandbox.alate.dev/cloud: "gcp"' in text


async def test_no_kind_of_the_back_ends_is_forgotten(kube):
    for resource in K0RDENT:
        with pytest.raises(NotFound):
            await kube.get(resource, "nobody", "default")
