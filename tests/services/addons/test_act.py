"""An add-on is put on a real (sandboxed) cluster, waited for, and taken away, whatever is missing meanwhile."""

import base64
from datetime import UTC, datetime
from itertools import count

import pytest

from events.faults import NotFound, TryLater
from events.kinds import COLONIES, CONFIGMAPS, CRDS, DEPLOYMENTS, SECRETS
from events.kube import Kube
from schemas.addon import Apply, Failed, Removed, Settled, Withdraw
from schemas.crds import manifest
from schemas.subjects import Key
from schemas.wish import digest
from services.addons.act import act
from services.sandbox.api.app import Api
from services.sandbox.api.journal import MemoryJournal
from services.sandbox.api.local import LocalTransport
from services.workloads import Workloads

pytestmark = pytest.mark.looptime

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
BAD = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: No_Such Name
"""


class House:
    """A management cluster and one workload cluster, reached through its Secret."""

    def __init__(self, api: Api) -> None:
        self.management = self._kube(api, "management")
        self.workload = self._kube(api, "w")
        self.act = act(self.management, Workloads(self.management, self._open))
        self.digest = ""

    def _kube(self, api: Api, cluster: str) -> Kube:
        return Kube(LocalTransport(api, cluster), random=lambda: 0.5)

    async def _open(self, kubeconfig: str) -> Kube:
        assert kubeconfig == "the way there"
        return self.workload

    async def colony(self, manifests: str) -> None:
        pools = [{"name": "gpu", "accelerator": "H100", "acceleratorsPerNode": 8, "nodes": 1}]
        spec = {"clusters": [{"name": "a", "pools": pools, "addons": [{"name": "driver", "manifests": manifests}]}]}
        meta = {"name": "train", "namespace": "default"}
        await self.management.apply(COLONIES, {"metadata": meta, "spec": spec}, manager="me")
        self.digest = digest(manifests)

    async def secret(self, value: str = "the way there") -> None:
        data = {"value": base64.b64encode(value.encode()).decode()} if value else {}
        await self.management.apply(
            SECRETS, {"metadata": {"name": "k", "namespace": "default"}, "data": data}, manager="me"
        )

    async def apply(self):
        return await self.act(KEY, Apply("default", "train", "train-a", "driver", self.digest, "k"))

    async def withdraw(self):
        return await self.act(KEY, Withdraw("default", "train", "train-a", "driver", "k"))


@pytest.fixture
async def house():
    numbers = count(1)
    api = Api(MemoryJournal(), lambda: datetime(2026, 1, 1, tzinfo=UTC), lambda: f"uid-{next(numbers)}")
    await api.start()
    await api.found("w")
    made = House(api)
    await made.management.create(CRDS, manifest())
    await made.secret()
    yield made
    await api.close()


async def test_what_is_written_and_healthy_is_settled(house):
    await house.colony(CONFIG)
    assert await house.apply() == (Settled(house.digest),)
    made = await house.workload.get(CONFIGMAPS, "settings", "default")
    assert made["data"] == {"size": "small"}
    assert made["metadata"]["labels"] == {"alate.dev/addon": "driver"}


async def test_applying_again_changes_nothing(house):
    await house.colony(CONFIG)
    await house.apply()
    before = await house.workload.get(CONFIGMAPS, "settings", "default")
    assert await house.apply() == (Settled(house.digest),)
    assert await house.workload.get(CONFIGMAPS, "settings", "default") == before


async def test_what_is_not_healthy_yet_is_waited_for(house):
    await house.colony(f"{CONFIG}---{DEPLOYMENT}")
    with pytest.raises(TryLater, match="Deployment/driver: its controller has not looked at it yet"):
        await house.apply()
    status = {"status": {"observedGeneration": 1, "replicas": 1, "availableReplicas": 1}}
    await house.workload.patch(DEPLOYMENTS, "driver", "kube-system", status, subresource="status")
    assert await house.apply() == (Settled(house.digest),)


async def test_a_kind_that_is_not_served_yet_is_waited_for(house):
    await house.colony(UNKNOWN)
    with pytest.raises(TryLater, match="example"):
        await house.apply()


async def test_what_the_api_server_refuses_is_failed_with_its_words(house):
    await house.colony(BAD)
    ((failed),) = await house.apply()
    assert isinstance(failed, Failed)
    assert "No_Such Name" in failed.message


async def test_a_colony_that_changed_since_is_waited_for(house):
    await house.colony(CONFIG)
    old = house.digest
    await house.colony(DEPLOYMENT)
    house.digest = old
    with pytest.raises(TryLater, match="has changed since"):
        await house.apply()


async def test_a_colony_without_the_addon_has_failed_it(house):
    house.digest = "d"
    ((failed),) = await house.apply()
    assert isinstance(failed, Failed)


@pytest.mark.parametrize("missing", ["secret", "value"])
async def test_a_cluster_that_cannot_be_reached_yet_is_waited_for(house, missing):
    await house.colony(CONFIG)
    await house.management.delete(SECRETS, "k", "default")
    if missing == "value":
        await house.secret("")
    with pytest.raises(TryLater):
        await house.apply()


async def test_withdrawing_takes_away_everything_and_is_done_when_it_is_gone(house):
    await house.colony(f"{CONFIG}---{DEPLOYMENT}")
    with pytest.raises(TryLater):
        await house.apply()
    with pytest.raises(TryLater, match="2 objects of driver are going"):
        await house.withdraw()
    assert await house.withdraw() == (Removed(),)
    for resource, name, namespace in ((CONFIGMAPS, "settings", "default"), (DEPLOYMENTS, "driver", "kube-system")):
        with pytest.raises(NotFound):
            await house.workload.get(resource, name, namespace)


async def test_what_never_was_put_on_is_withdrawn_already(house):
    await house.colony(f"{CONFIG}---{UNKNOWN}")
    assert await house.withdraw() == (Removed(),)


async def test_without_the_cluster_or_the_colony_there_is_nothing_to_withdraw(house):
    assert await house.withdraw() == (Removed(),)
    await house.colony(CONFIG)
    await house.management.delete(SECRETS, "k", "default")
    assert await house.withdraw() == (Removed(),)
