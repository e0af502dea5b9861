"""A Colony and the bus are brought together: what is asked is said once, and again only where nobody could follow."""

import asyncio
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from events.bus import Message, Unavailable
from events.errors import Denied, NotFound
from events.memory.bus import MemoryBus
from events.meters import Meters
from events.streams import is_tombstone
from schemas import cluster, teardown
from schemas.cluster import Pending, Ready, Released, Releasing
from schemas.infra import InfraSeen
from schemas.placement import Attempt, Lot, Placement
from schemas.profile_addons import ProfileAddons
from schemas.registry import declared
from schemas.subjects import Key
from schemas.wish import AddonRef, Wish
from services.gateway.colony_controller import FINALIZER, SHOW_FIRST, ColonyController
from services.gateway.read_models import ReadModels
from services.gateway.status.previous import StatusCosts
from services.runtime.entity_store import EntityStore
from services.runtime.level_publisher import LevelPublisher
from tests.context import context

NOW = datetime(2026, 1, 1, tzinfo=UTC)
EVERY = timedelta(minutes=1)
NAME = ("acme", "train")
POOL = {"accelerator": "H100", "acceleratorsPerNode": 8, "nodes": 1}
LOT = Lot(
    pool="gpu", instance="x", zone="", accelerator="H100", accelerators_per_node=8,
    nodes=1, price_per_hour=1.0, spot=False,
)  # fmt: skip
ATTEMPT = Attempt(number=1, placement=Placement(cloud="aws", region="r", lots=(LOT,)))


class FakeKube:
    """Keeps what is written, and answers with what has become of the Colony."""

    def __init__(self):
        self.applied, self.patched, self.colony, self.bears = [], [], None, True
        self.fault, self.takes = None, 0.0

    async def get(self, resource, name, namespace):
        raise NotFound(f"{resource.plural} {namespace}/{name} is not there")

    async def apply(self, _, wanted, *, manager, subresource=None):
        await asyncio.sleep(self.takes)
        if self.fault:
            raise self.fault
        if subresource == "status":
            self.applied.append(wanted["status"])
            return self._written(status=wanted["status"])
        self.patched.append(wanted["metadata"]["finalizers"])
        if not self.bears:
            raise Denied("it is going", "Invalid")
        return self._written(finalizers=wanted["metadata"]["finalizers"])

    async def patch(self, _, name, namespace, patch, *, manager):
        if patch["metadata"]["resourceVersion"] != self.colony["metadata"]["resourceVersion"]:
            raise Denied("the object has been modified", "Conflict")
        self.patched.append(patch["metadata"]["finalizers"])

    def _written(self, finalizers=None, status=None):
        meta = self.colony["metadata"]
        meta = meta | {"resourceVersion": str(int(meta["resourceVersion"]) + 1)}
        meta |= {"finalizers": finalizers} if finalizers is not None else {}
        self.colony = self.colony | {"metadata": meta} | ({"status": status} if status else {})
        return self.colony


class House:
    def __init__(self):
        self.bus, self.kube, self.now = MemoryBus(), FakeKube(), NOW
        self.levels = LevelPublisher(context(self.bus, lambda: NOW), Wish, InfraSeen)
        self.books = ReadModels(self.bus, Meters())
        self.standing, self.unseen = (), {}
        self.colonies = self.born()
        self.ledgers = {
            life.domain: EntityStore(context(self.bus, lambda: NOW), life)
            for life in (cluster.LIFECYCLE, teardown.LIFECYCLE)
        }
        self.tasks = []

    def born(self):
        """A process of the gateway."""
        self.costs = StatusCosts(EVERY)
        return ColonyController(
            self.kube, self.levels, self.books, lambda: self.now, "capi",
            costs=self.costs, find_objects=lambda _tenant, _cluster: self.standing,
            unseen=lambda backend: self.unseen.get(backend, ""),
        )  # fmt: skip

    async def open(self):
        await self.levels.refresh()
        for view in self.books.views:
            self.tasks.append(asyncio.create_task(view.run()))
            await view.ready.wait()

    def colony(self, *clusters, generation=1, uid="c1", finalizers=(FINALIZER,), **meta):
        meta |= {"name": "train", "namespace": "acme", "uid": uid, "generation": generation, "resourceVersion": "1"}
        spec = {"clusters": [{"name": name, "pools": [POOL | {"nodes": n}]} for name, n in clusters]}
        self.kube.colony = self.colonies.objects[NAME] = {
            "apiVersion": "alate.dev/v1alpha1", "kind": "Colony",
            "metadata": meta | {"finalizers": list(finalizers)}, "spec": spec,
        }  # fmt: skip

    def deleted(self, written):
        """What was written is answered when it is being deleted already."""
        self.kube.colony = written | {"metadata": written["metadata"] | {"deletionTimestamp": "2026-01-01T00:00:00Z"}}
        return self.kube.colony

    async def reconcile(self):
        await asyncio.sleep(0.01)
        await self.colonies.reconcile(NAME)

    async def said(self, name="train-a"):
        stored = await self.bus.last("LEVELS", declared(Wish).at("acme", name))
        return msgspec.json.decode(stored.data, type=Wish) if stored and not is_tombstone(stored) else None

    async def times_said(self):
        stored = await self.bus.last("LEVELS", "observed.wish.>")
        return stored.sequence if stored else 0

    async def is_(self, kind, wish, domain="cluster", **fields):
        known = {
            "uid": f"{wish.uid}.{wish.generation}", "wish": wish, "attempt": ATTEMPT, "billed_since": NOW,
            "kubeconfig": "k", "reason": "Deleted", "proof": {},
        } | fields  # fmt: skip
        state = kind(**{n: v for n, v in known.items() if n in kind.__struct_fields__})
        await self.ledgers[domain].write(Key(domain, "acme", wish.name), state, cause="", cancels_timer=False)
        await asyncio.sleep(0.01)


@pytest.fixture
async def house():
    made = House()
    await made.open()
    yield made
    for task in made.tasks:
        task.cancel()
    await asyncio.gather(*made.tasks, return_exceptions=True)


pytestmark = pytest.mark.looptime


async def test_nothing_is_said_of_a_colony_that_does_not_bear_the_finalizer(house):
    house.colony(("a", 1), finalizers=())
    house.kube.bears = False
    await house.reconcile()
    assert house.kube.patched == [[FINALIZER]]
    assert await house.said() is None


async def test_the_answer_to_the_finalizer_is_enough_to_go_on(house):
    house.colony(("a", 1), finalizers=())
    await house.reconcile()
    assert house.kube.patched == [[FINALIZER]]
    assert (await house.said()).name == "train-a"


async def test_of_few_new_ones_the_status_is_written_first_and_of_more_the_finalizer(house):
    house.colony(("a", 1), finalizers=())
    house.kube.takes = 1.0
    following = [asyncio.create_task(house.reconcile()) for _ in range(SHOW_FIRST + 1)]
    await asyncio.sleep(1.5)
    assert [each["phase"] for each in house.kube.applied] == ["Pending"] * SHOW_FIRST
    assert house.kube.patched == [[FINALIZER]]
    await asyncio.gather(*following)
    assert house.kube.patched == [[FINALIZER]] * (SHOW_FIRST + 1)


async def test_a_colony_that_cannot_bear_the_finalizer_shows_its_status_once(house):
    house.colony(("a", 1), finalizers=())
    house.kube.bears = False
    for _ in range(2):
        await house.reconcile()
    assert [each["phase"] for each in house.kube.applied] == ["Pending"]


async def test_the_echo_of_an_answered_write_is_no_news(house):
    house.colony(("a", 1), finalizers=())
    before = house.colonies.objects[NAME]
    await house.reconcile()
    assert not house.colonies.observe(house.kube.colony)
    assert house.colonies.observe(before)
    assert house.colonies.objects[NAME] is house.kube.colony


async def test_a_change_between_two_writes_of_ours_is_news_though_it_is_older(house):
    house.colony(("a", 1), finalizers=())
    await house.reconcile()
    theirs = house.kube.colony | {"metadata": house.kube.colony["metadata"] | {"resourceVersion": "2"}}
    assert house.colonies.observe(theirs)
    assert house.colonies.objects[NAME] is house.kube.colony


@pytest.mark.parametrize("shown", ["gone", "anew"])
async def test_a_late_answer_brings_no_deleted_colony_back(house, shown):
    house.colony(("a", 1), finalizers=())
    answer = house.kube._written

    def late(**what):
        if shown == "gone":
            house.colonies.objects.pop(NAME, None)
        else:
            house.colonies.objects[NAME] = {"metadata": {"uid": "c2", "resourceVersion": "1"}}
        return answer(**what)

    house.kube._written = late
    await house.reconcile()
    assert house.colonies.objects.get(NAME, {}).get("metadata", {}).get("uid") == (None if shown == "gone" else "c2")
    assert await house.said() is None


async def test_a_wish_is_said_once_however_often_its_colony_is_looked_at(house):
    house.colony(("a", 1))
    for _ in range(3):
        await house.reconcile()
    assert (await house.said()).name == "train-a"
    assert await house.times_said() == 1


async def test_a_status_that_cannot_be_written_stops_no_wish(house):
    house.colony(("a", 1))
    house.kube.fault = Denied("no right to write it")
    with pytest.raises(Denied):
        await house.reconcile()
    assert (await house.said()).name == "train-a"


async def test_a_wish_that_cannot_be_said_stops_no_status(house):
    house.colony(("a", 1))
    house.bus.crash()
    with pytest.raises(Unavailable):
        await house.colonies.reconcile(NAME)
    assert [each["phase"] for each in house.kube.applied] == ["Pending"]


async def test_a_wish_does_not_wait_for_the_status(house):
    house.colony(("a", 1))
    house.kube.takes = 10.0
    following = asyncio.create_task(house.reconcile())
    await asyncio.sleep(1)
    assert ((await house.said()).name, house.kube.applied) == ("train-a", [])
    await following


async def test_a_cluster_that_is_asked_for_no_more_shall_go(house):
    house.colony(("a", 1), ("b", 1))
    await house.reconcile()
    await house.is_(Ready, await house.said("train-b"))
    house.colony(("a", 1), generation=2)
    await house.reconcile()
    gone = await house.said("train-b")
    assert (gone.deleting, gone.generation) == (True, 2)


async def test_force_reaches_also_a_cluster_that_was_taken_out_of_its_colony(house):
    house.colony(("a", 1), ("b", 1))
    await house.reconcile()
    await house.is_(Ready, await house.said("train-b"))
    house.colony(("a", 1), generation=2)
    await house.reconcile()
    await house.is_(Ready, await house.said("train-b"))
    house.colony(("a", 1), generation=2, annotations={"alate.dev/force": "true"})
    await house.reconcile()
    gone = await house.said("train-b")
    assert (gone.deleting, gone.force) == (True, True)


async def test_a_cluster_that_is_asked_for_no_more_is_shown_until_it_is_gone(house):
    house.colony(("a", 1), ("b", 1))
    await house.reconcile()
    await house.is_(Ready, await house.said("train-b"))
    house.colony(("a", 1), generation=2)
    await house.reconcile()
    gone = await house.said("train-b")
    listed = [house.kube.applied[-1]["clusters"]]
    steps = ((Ready, teardown.Draining), (Released, teardown.Verifying), (Released, teardown.Gone))
    for state, step in steps:
        await house.is_(state, gone)
        await house.is_(step, gone, "teardown", deadline=NOW)
        house.colony(("a", 1), generation=2)
        await house.reconcile()
        listed.append(house.kube.applied[-1]["clusters"])
    told = [[(each["name"], each["phase"]) for each in shown] for shown in listed]
    later = ("Deleting", "Draining", "Verifying")
    assert told == [*([("a", "Pending"), ("b", phase)] for phase in later), [("a", "Pending")]]


async def test_one_that_is_asked_for_again_while_it_goes_is_said_when_its_end_is_proven(house):
    house.colony(("a", 1), ("b", 1))
    await house.reconcile()
    wish = await house.said("train-b")
    gone = msgspec.structs.replace(wish, deleting=True, generation=2)
    for kind in (Releasing, Released):
        await house.is_(kind, gone, uid="c1.1")
        house.colony(("a", 1), ("b", 1), generation=3)
        await house.reconcile()
        assert not (await house.said("train-b")).newer_than(gone)
    await house.is_(teardown.Gone, gone, "teardown", uid="c1.1")
    await house.reconcile()
    assert await house.said("train-b") == msgspec.structs.replace(wish, generation=3)


async def test_of_a_release_that_takes_too_long_it_is_told_what_keeps_its_object(house):
    house.colony(("a", 1))
    await house.reconcile()
    wish = await house.said()
    await house.is_(Releasing, wish)
    await house.is_(teardown.Stuck, wish, "teardown", step="Releasing", message="Releasing is late", deadline=NOW)
    shows = InfraSeen(
        cluster=wish.name, uid=f"{wish.uid}.{wish.generation}", attempt=ATTEMPT.number, backend="capi", deleting=True,
        message="kept by its finalizers x",
    )  # fmt: skip
    await house.levels.publish(shows, "acme", "capi", ATTEMPT.object_name(wish.name))
    await house.reconcile()
    (told,) = house.kube.colony["status"]["clusters"]
    assert told["phase"] == "Stuck"
    assert told["message"].endswith("Releasing is late: kept by its finalizers x")


async def test_the_cost_of_what_runs_is_shown_as_it_is_now_but_written_once_a_minute(house):
    house.colony(("a", 1))
    await house.reconcile()
    await house.is_(Ready, await house.said())
    written = []
    for seconds in (0, 30, 59, 60, 61, 119, 120):
        house.now = NOW + timedelta(hours=1, seconds=seconds)
        await house.reconcile()
        written.append((len(house.kube.applied), house.kube.applied[-1]["costUsd"]))
    assert [number for number, _ in written] == [2, 2, 2, 3, 3, 3, 4]
    assert [cost for _, cost in written] == [1.0] * 3 + [1.02] * 3 + [1.03]
    assert list(house.costs.due(house.now)) == []
    assert list(house.costs.due(house.now + EVERY)) == [NAME]


@pytest.mark.parametrize("hours", [1, -1])
async def test_a_clock_that_is_set_keeps_no_cost_from_being_shown_and_makes_none_negative(house, hours):
    house.colony(("a", 1))
    await house.reconcile()
    await house.is_(Ready, await house.said())
    house.now = NOW + timedelta(minutes=30)
    await house.reconcile()
    house.now += timedelta(hours=hours) + EVERY
    assert list(house.costs.due(house.now)) == [NAME]
    await house.reconcile()
    assert house.kube.applied[-1]["costUsd"] == (1.52 if hours > 0 else 0)
    house.now += EVERY - timedelta(hours=hours)
    await house.reconcile()
    assert house.kube.applied[-1]["costUsd"] == 0.53


async def test_a_start_writes_no_cost_before_its_time(house):
    house.colony(("a", 1))
    await house.reconcile()
    await house.is_(Ready, await house.said())
    await house.reconcile()
    again = house.born()
    again.objects = house.colonies.objects
    house.now += timedelta(days=1)
    times = len(house.kube.applied)
    await again.reconcile(NAME)
    assert len(house.kube.applied) == times
    house.now += EVERY
    await again.reconcile(NAME)
    assert house.kube.applied[-1]["costUsd"] == 24.02


async def test_one_that_was_said_too_early_is_said_again(house):
    house.colony(("a", 1))
    await house.reconcile()
    house.colony(("a", 2), generation=2)
    await house.reconcile()
    bigger, times = await house.said(), await house.times_said()
    old = msgspec.structs.replace(bigger, generation=1, deleting=True)
    await house.is_(Released, old, reason="Deleted")
    await house.is_(teardown.Gone, old, "teardown")
    await house.reconcile()
    assert await house.times_said() == times + 1
    await house.is_(Pending, bigger)
    await house.reconcile()
    assert await house.times_said() == times + 1


async def test_what_ended_of_itself_and_is_taken_out_is_asked_for_no_more_so_it_can_be_put_in_again(house):
    house.colony(("a", 1), ("b", 1))
    await house.reconcile()
    wish = await house.said("train-b")
    await house.is_(Released, wish, uid="c1.1", reason="TimeToLive")
    await house.is_(teardown.Gone, wish, "teardown", uid="c1.1")
    house.colony(("a", 1), generation=2)
    await house.reconcile()
    gone = await house.said("train-b")
    assert (gone.deleting, gone.generation) == (True, 2)
    await house.is_(Released, gone, uid="c1.1", reason="TimeToLive")
    house.colony(("a", 1), generation=3)
    await house.reconcile()
    assert await house.said("train-b") == gone
    house.colony(("a", 1), ("b", 1), generation=4)
    await house.reconcile()
    assert await house.said("train-b") == msgspec.structs.replace(wish, generation=4)


async def test_what_ended_of_itself_is_asked_for_no_more_once_its_colony_is_not_there(house):
    house.colony(("a", 1))
    await house.reconcile()
    wish = await house.said()
    await house.is_(Released, wish, reason="TimeToLive")
    await house.is_(teardown.Gone, wish, "teardown")
    assert house.books.cluster("acme", "train-a").needed
    assert list(house.books.unfinished_colonies()) == [NAME]
    house.colonies.objects.clear()
    await house.reconcile()
    assert await house.said() == msgspec.structs.replace(wish, deleting=True)
    await house.is_(Released, await house.said(), uid="c1.1", reason="TimeToLive")
    assert list(house.books.unfinished_colonies()) == []


async def test_what_ran_out_of_time_is_not_said_again_for_a_change_elsewhere(house):
    house.colony(("a", 1))
    await house.reconcile()
    wish = await house.said()
    await house.is_(Released, wish, reason="TimeToLive")
    await house.is_(teardown.Gone, wish, "teardown")
    house.colony(("a", 1), ("b", 1), generation=2)
    for _ in range(3):
        await house.reconcile()
    assert (await house.said()).generation == 2
    assert await house.times_said() == 3


async def test_the_finalizer_goes_when_every_end_is_proven_and_not_before(house):
    house.colony(("a", 1))
    await house.reconcile()
    wish = await house.said()
    await house.is_(Ready, wish)
    house.colony(("a", 1), generation=2, deletionTimestamp="2026-01-01T00:00:00Z")
    await house.reconcile()
    assert (await house.said()).deleting
    await house.is_(Released, await house.said(), uid="c1.1")
    await house.reconcile()
    assert house.kube.patched == []
    await house.is_(teardown.Gone, wish, "teardown")
    await house.reconcile()
    assert house.kube.patched == [[]]
    assert await house.said() is None


async def test_a_colony_deleted_while_it_is_followed_shows_that_before_it_is_let_go(house):
    house.colony(("a", 1))
    await house.reconcile()
    wish = await house.said()
    await house.is_(Released, wish, uid="c1.1")
    await house.is_(teardown.Gone, wish, "teardown")
    answer = house.kube._written
    house.kube._written = lambda **what: house.deleted(answer(**what))
    await house.reconcile()
    assert house.kube.patched == []
    house.kube._written = answer
    await house.reconcile()
    assert house.kube.applied[-1]["phase"] == "Deleting"
    assert house.kube.patched == [[]]


async def test_a_colony_that_cannot_be_read_says_so_and_asks_for_nothing(house):
    house.colony(("No Name", 1))
    await house.reconcile()
    assert house.kube.applied[0]["phase"] == "Invalid"
    assert await house.times_said() == 0


async def test_a_cluster_whose_colony_vanished_shall_go(house):
    house.colony(("a", 1))
    await house.reconcile()
    await house.is_(Ready, await house.said())
    del house.colonies.objects[NAME]
    await house.reconcile()
    assert (await house.said()).deleting


async def test_a_colony_of_the_same_name_waits_until_its_predecessors_end_is_proven(house):
    house.colony(("a", 1))
    await house.reconcile()
    old = await house.said()
    await house.is_(Ready, old)
    house.colony(("a", 1), uid="c2")
    await house.reconcile()
    assert (await house.said()).uid == "c1"
    assert (await house.said()).deleting
    await house.is_(Released, await house.said(), uid="c1.1")
    await house.is_(teardown.Gone, old, "teardown")
    await house.reconcile()
    assert ((await house.said()).uid, (await house.said()).deleting) == ("c2", False)


TRACE = f"00-{'1' * 32}-{'b' * 16}-00"
ASKED = {"alate.dev/event-id": "e-1", "alate.dev/traceparent": TRACE}


async def traceparent(house) -> str:
    stored = await house.bus.last("LEVELS", declared(Wish).at("acme", "train-a"))
    return stored.headers["traceparent"]


async def test_a_wish_goes_on_in_the_trace_of_the_event_its_colony_was_made_of(house):
    house.colony(("a", 1), annotations=ASKED)
    await house.reconcile()
    assert await traceparent(house) == TRACE


async def test_what_somebody_edits_later_is_not_told_as_that_events_doing(house):
    house.colony(("a", 1), annotations=ASKED)
    await house.reconcile()
    house.colony(("a", 2), generation=2, annotations=ASKED)
    await house.reconcile()
    assert await house.times_said() == 2
    assert (await traceparent(house))[3:35] != TRACE[3:35]


async def test_what_a_later_event_amends_goes_on_in_the_trace_of_that_event(house):
    house.colony(("a", 1), annotations=ASKED)
    await house.reconcile()
    later = TRACE.replace("1", "2")
    amended = {"alate.dev/event-id": "e-2", "alate.dev/traceparent": later}
    house.colony(("a", 2), generation=2, annotations=amended)
    await house.reconcile()
    assert await traceparent(house) == later


LATER = TRACE.replace("1", "2")
LET_GO = ASKED | {"alate.dev/release-id": "e-2", "alate.dev/release-traceparent": LATER}


async def test_the_wish_that_a_cluster_shall_go_names_the_event_that_let_it_go_in_its_trace(house):
    house.colony(("a", 1), annotations=ASKED)
    await house.reconcile()
    house.colony(("a", 1), generation=2, annotations=LET_GO, deletionTimestamp="2026-01-01T00:00:00Z")
    await house.reconcile()
    said = await house.said()
    assert (said.deleting, said.event, said.release) == (True, "e-1", "e-2")
    stored = await house.bus.last("LEVELS", declared(Wish).at("acme", "train-a"))
    assert (stored.headers["traceparent"], stored.headers["ce-causationid"]) == (LATER, "e-2")


async def test_what_is_written_on_a_colony_that_stays_lets_nothing_go(house):
    house.colony(("a", 1), annotations=LET_GO)
    await house.reconcile()
    assert (await house.said()).release == ""
    assert await traceparent(house) == TRACE


async def test_a_message_of_a_level_names_what_it_is(house):
    house.colony(("a", 1))
    await house.reconcile()
    (stored,) = await house.bus.read("LEVELS", "observed.wish.>")
    assert stored.headers["ce-type"] == "dev.alate.observed.wish"


async def test_a_cluster_whose_history_was_lost_is_asked_for_again_with_what_stands_of_it(house):
    house.colony(("a", 1))
    await house.reconcile()
    assert ((await house.said()).remains, await house.times_said()) == (None, 1)
    await house.reconcile()
    assert await house.times_said() == 1
    house.standing = (InfraSeen(cluster="train-a", uid="c1.1", attempt=2, backend="capi", message="words"),)
    objects, house.colonies = house.colonies.objects, house.born()
    house.colonies.objects = objects
    await house.reconcile()
    (left,) = (await house.said()).remains.found
    assert (left.uid, left.attempt, left.message) == ("c1.1", 2, "")
    await house.is_(Ready, msgspec.structs.replace(await house.said(), remains=None))
    await house.reconcile()
    assert (await house.said()).remains is None


async def test_only_a_cluster_without_a_history_waits_to_see_what_stands_in_its_back_end(house):
    house.unseen = {"k0rdent": "forbidden"}
    house.colony(("a", 1))
    await house.reconcile()
    assert await house.times_said() == 1
    house.unseen = {"capi": "the objects in back end capi are not known: forbidden"}
    await house.is_(Ready, await house.said())
    house.colony(("a", 1), ("b", 1), generation=2)
    await house.reconcile()
    assert await house.times_said() == 2
    (_, told) = house.kube.applied[-1]["clusters"]
    assert (told["phase"], told["message"]) == (
        "Pending", "no cluster is created as long as the objects in back end capi are not known: forbidden",
    )  # fmt: skip
    house.unseen = {}
    await house.reconcile()
    assert await house.times_said() == 3


async def test_a_deleted_colony_is_not_let_go_as_long_as_nobody_sees_what_stands_of_it(house):
    house.unseen = {"capi": "forbidden"}
    house.colony(("a", 1), deletionTimestamp="2026-01-01T00:00:00Z")
    await house.reconcile()
    assert (await house.times_said(), house.kube.patched) == (0, [])


async def test_a_cluster_that_had_ended_is_not_asked_for_as_if_it_were_new(house):
    house.colony(("a", 1))
    over = {"name": "a", "phase": "Released", "teardown": {"phase": "Gone", "reason": "TimeToLive"}}
    house.colonies.objects[NAME]["status"] = {"clusters": [over]}
    await house.reconcile()
    assert (await house.said()).remains.ended == "TimeToLive"


async def test_a_process_that_begins_anew_asks_again_for_what_nobody_knows_of(house):
    house.colony(("a", 1))
    await house.reconcile()
    objects, house.colonies = house.colonies.objects, house.born()
    house.colonies.objects = objects
    await house.reconcile()
    await house.reconcile()
    assert await house.times_said() == 2


@pytest.mark.parametrize(("uid", "phase"), [("c1.1", "ApplyingAddons"), ("another", "Ready")])
async def test_a_colony_waits_for_what_profiles_want_of_this_incarnation_of_its_clusters(house, uid, phase):
    house.colony(("a", 1))
    await house.reconcile()
    await house.is_(Ready, await house.said())
    woken = []
    house.books.listen(lambda _: None, woken.append, lambda _: None)
    wants = ProfileAddons(
        tenant="acme", colony="train", cluster="train-a", uid=uid, correlation="",
        addons=(AddonRef("base.nfd", "d1"), AddonRef("base.extra", "d2", required=False)),
    )  # fmt: skip
    await house.bus.publish(Message(declared(ProfileAddons).at("acme", "train-a"), msgspec.json.encode(wants)))
    await house.reconcile()
    assert woken == [NAME]
    assert house.kube.applied[-1]["phase"] == phase
