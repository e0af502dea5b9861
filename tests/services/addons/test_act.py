"""An add-on is put on a real (sandboxed) cluster, waited for, and taken away, whatever is missing meanwhile."""

import asyncio
import base64
import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import count

import msgspec
import pytest

from events.bus import Message
from events.faults import NotFound, TryLater
from events.kinds import COLONIES, CONFIGMAPS, CRDS, DEPLOYMENTS, SECRETS, find
from events.kube import Kube
from events.memory import MemoryBus
from events.meters import Meters
from schemas.addon import Apply, Awaits, Failed, Removed, Settled, Withdraw
from schemas.cluster import Ready
from schemas.crds import manifest
from schemas.placement import Attempt, Placement
from schemas.registry import declared
from schemas.subjects import Key
from schemas.wish import AddonRef, Need, Wish, digest
from services.addons.act import act
from services.addons.service import service
from services.runtime import Runtime
from services.sandbox.api.app import Api
from services.sandbox.api.journal import MemoryJournal
from services.sandbox.api.local import LocalTransport
from services.workloads import Workloads

pytestmark = pytest.mark.looptime

START = datetime(2026, 1, 1, tzinfo=UTC)
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
UNSEEN = "Deployment/driver: its controller has not looked at it yet"
UNSERVED = "the API server does not serve example.org/v1: is its CRD installed?"
OTHER = CONFIG.replace("settings", "theirs")
BAD = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: No_Such Name
"""


def clock() -> datetime:
    return START + timedelta(seconds=asyncio.get_running_loop().time())


class Silent:
    """An API server that nobody reaches."""

    async def send(self, _):
        raise TryLater("nobody answers")


class House:
    """A management cluster and one workload cluster, reached through its Secret."""

    def __init__(self, api: Api) -> None:
        self.management = self._kube(api, "management")
        self.workload = self._kube(api, "w")
        self.workloads = Workloads(self.management, self._open)
        self.act = act(self.management, self.workloads)
        self.digest = ""

    def _kube(self, api: Api, cluster: str) -> Kube:
        return Kube(LocalTransport(api, cluster), random=lambda: 0.5)

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
        return await self.act(KEY, Apply("default", "train", "train-a", "driver", self.digest, "k", told, overdue))

    async def put_on(self, **addons: str) -> None:
        """The Colony asks for these, and they are on the cluster."""
        await self.colony(**addons)
        for name, text in addons.items():
            done = await self.act(KEY, Apply("default", "train", "train-a", name, digest(text), "k"))
            assert done == (Settled(digest(text)),)

    async def withdraw(self, *, dropped: bool = False, stays: bool = False):
        return await self.act(KEY, Withdraw("default", "train", "train-a", "driver", "k", dropped, stays))

    async def off(self, *, dropped: bool = True, stays: bool = True) -> str:
        """Withdraw until it is done; gives what was left."""
        for _ in range(5):
            with suppress(TryLater):
                ((removed),) = await self.withdraw(dropped=dropped, stays=stays)
                return removed.left
        raise AssertionError("it is going for ever")

    async def there(self) -> set[str]:
        """What is on the cluster of all that these tests put there."""
        listed = [*(await self.workload.list(CONFIGMAPS)).items, *(await self.workload.list(CRDS)).items]
        with suppress(NotFound):
            gadgets = await find(self.workload, "example.org/v1", "Gadget")
            listed += (await self.workload.list(gadgets)).items
        return {each["metadata"]["name"] for each in listed}


@pytest.fixture
async def house():
    numbers = count(1)
    api = Api(MemoryJournal(), lambda: START, lambda: f"uid-{next(numbers)}")
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


async def test_a_kind_that_is_not_served_is_told_once_then_waited_for(house):
    await house.colony(UNKNOWN)
    assert await house.apply() == (Awaits(house.digest, UNSERVED),)
    assert await house.apply("something else") == (Awaits(house.digest, UNSERVED),)
    with pytest.raises(TryLater, match=UNSERVED):
        await house.apply(UNSERVED)


async def test_what_was_lacking_and_is_there_is_no_more_told(house):
    await house.colony(DEPLOYMENT)
    assert await house.apply(UNSERVED) == (Awaits(house.digest),)
    with pytest.raises(TryLater, match="Deployment/driver"):
        await house.apply()


async def history(house, seconds):
    """What is said of the add-on, by the service as it runs, within so many seconds."""
    addons, bus = service(house.management, house.workloads), MemoryBus(clock=clock)
    runtime = Runtime(addons, bus, clock=clock, meters=Meters(), jitter=lambda: 0.5)
    running = asyncio.create_task(runtime.run())
    wish = Wish(
        tenant="default", colony="train", cluster="a", uid="c1", generation=1, need=Need(pools=()),
        addons=(AddonRef("driver", house.digest),),
    )  # fmt: skip
    attempt = Attempt(number=1, placement=Placement(cloud="own", region="r", lots=()))
    up = Ready(
        uid="c1.1", correlation="c1", wish=wish, since=START, attempt=attempt, attempts=1, billed_since=START,
        kubeconfig="k",
    )  # fmt: skip
    await bus.publish(Message(declared(Ready).at("default", "train-a"), msgspec.json.encode(up)))
    await asyncio.sleep(seconds)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    said = await bus.read("EVENTS", Key("addon", "default", "train-a.driver").history)
    return [(one.subject.split(".")[1], json.loads(one.data).get("message", "")) for one in said]


@pytest.mark.parametrize(
    ("manifests", "told", "why"),
    [(UNKNOWN, [("applying", UNSERVED)] * 2, UNSERVED), (DEPLOYMENT, [("applying", "")], UNSEEN)],
)
async def test_what_never_becomes_healthy_says_why_and_is_degraded_for_it_in_ten_minutes(house, manifests, told, why):
    await house.colony(manifests)
    degraded = ("degraded", f"not healthy within 10 minutes: {why}")
    assert await history(house, 660) == [("applying", ""), *told, degraded]


async def test_what_is_healthy_at_once_is_said_in_two_words(house):
    await house.colony(CONFIG)
    assert await history(house, 660) == [("applying", ""), ("applied", "")]


async def test_a_cluster_that_never_answers_is_no_wait_without_an_end(house):
    await house.colony(CONFIG)
    house.workload = Kube(Silent(), random=lambda: 0.5)
    said = await history(house, 660)
    assert said == [("applying", "")] * 2 + [("degraded", "not healthy within 10 minutes: nobody answers")]


async def test_a_kind_of_a_group_that_the_addon_brings_itself_is_waited_for_without_a_word(house):
    await house.colony(f"{UNKNOWN}---{KIND}")
    with pytest.raises(TryLater, match=UNSERVED):
        await house.apply()


@pytest.mark.parametrize(
    ("manifests", "why"),
    [(UNKNOWN, UNSERVED), (DEPLOYMENT, UNSEEN)],
)
async def test_what_is_overdue_says_whatever_it_waits_for(house, manifests, why):
    await house.colony(manifests)
    assert await house.apply(overdue=True) == (Awaits(house.digest, why),)
    assert await house.apply(why, overdue=True) == (Awaits(house.digest, why),)


async def test_what_is_healthy_at_the_last_look_is_settled(house):
    await house.colony(CONFIG)
    assert await house.apply(UNSERVED, overdue=True) == (Settled(house.digest),)


async def test_while_the_cluster_does_not_answer_what_was_told_stands(house):
    await house.colony(CONFIG)
    house.workload = Kube(Silent(), random=lambda: 0.5)
    with pytest.raises(TryLater, match="nobody answers"):
        await house.apply(UNSERVED)
    assert await house.apply(UNSERVED, overdue=True) == (Awaits(house.digest, "nobody answers"),)


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


@pytest.mark.parametrize(
    ("missing", "why"), [("secret", "k"), ("value", "Secret default/k holds no kubeconfig under the key value yet")]
)
async def test_a_cluster_that_cannot_be_opened_is_told_once_then_waited_for(house, missing, why):
    await house.colony(CONFIG)
    await house.management.delete(SECRETS, "k", "default")
    if missing == "value":
        await house.secret("")
    (awaits,) = await house.apply()
    assert isinstance(awaits, Awaits)
    assert why in awaits.message
    with pytest.raises(TryLater, match="k"):
        await house.apply(awaits.message)


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


async def test_what_the_colony_lists_no_more_is_taken_away_and_the_others_stand(house):
    await house.put_on(driver=f"{CONFIG}---{KIND}", jobs=OTHER)
    assert await house.there() == {
        "settings",
        "theirs",
        "gadgets.example.org",
        "alate-addon-driver",
        "alate-addon-jobs",
    }
    await house.colony(jobs=OTHER)
    assert await house.off() == ""
    assert await house.there() == {"theirs", "alate-addon-jobs"}


async def test_what_it_was_made_of_before_is_taken_away_as_well(house):
    await house.put_on(driver=CONFIG)
    await house.put_on(driver=KIND)
    await house.colony()
    assert await house.off() == ""
    assert await house.there() == set()


async def test_a_kind_that_others_have_objects_of_is_left_and_that_is_said(house):
    await house.put_on(driver=f"{KIND}---{CONFIG}", jobs=UNKNOWN)
    await house.colony(jobs=UNKNOWN)
    told = "CustomResourceDefinition gadgets.example.org is left: 1 objects of that kind are others'"
    assert await house.off() == told
    assert await house.there() == {"gadgets.example.org", "one", "alate-addon-jobs"}


async def test_a_kind_of_which_only_addons_that_go_too_have_objects_is_waited_for(house):
    await house.put_on(driver=KIND, jobs=UNKNOWN)
    await house.colony()
    for _ in range(3):
        with pytest.raises(TryLater, match="1 objects of driver are going"):
            await house.withdraw(dropped=True, stays=True)
    await house.workload.delete(await find(house.workload, "example.org/v1", "Gadget"), "one", "default")
    assert await house.off() == ""
    assert await house.there() == {"alate-addon-jobs"}


async def test_where_the_cluster_ends_a_kind_goes_with_all_its_objects(house):
    await house.put_on(driver=KIND, jobs=UNKNOWN)
    assert await house.off(dropped=False, stays=False) == ""
    assert await house.there() == {"alate-addon-jobs"}


async def test_what_another_addon_has_as_well_is_left(house):
    await house.put_on(driver=f"{CONFIG}---{OTHER}", jobs=OTHER)
    await house.colony(jobs=OTHER)
    assert await house.off() == "ConfigMap theirs belongs to another add-on as well"
    assert await house.there() == {"theirs", "alate-addon-jobs"}


async def test_without_a_colony_it_is_still_known_what_there_is(house):
    await house.put_on(driver=CONFIG)
    await house.management.delete(COLONIES, "train", "default")
    assert await house.off(dropped=False, stays=False) == ""
    assert await house.there() == set()


async def test_what_an_object_cannot_be_written_for_was_noted_before(house):
    await house.colony(f"{CONFIG}---{UNKNOWN}")
    assert await house.apply() == (Awaits(house.digest, UNSERVED),)
    await house.colony()
    assert await house.off() == ""
    assert await house.there() == set()
