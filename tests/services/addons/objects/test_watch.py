"""What somebody changes of an add-on's objects is told for that add-on, by one watch per cluster and kind."""

import asyncio

import pytest

from events.errors import TryLater
from events.kube.client import Kube, Response
from events.kube.resources import CONFIGMAPS, CRDS, NAMESPACES
from services.addons.objects.watch import QUIET, ObjectWatches, Watched, watched
from tests.services.addons.house import CONFIG, KIND, OTHER, SPACE
from tests.services.addons.objects.steps import Hand, documents

pytestmark = pytest.mark.looptime
W = ("acme", "w")


@pytest.fixture
async def told():
    return []


@pytest.fixture
async def watches(told):
    made = ObjectWatches(lambda *key: told.append(key))
    yield made
    await made.close()


@pytest.fixture
def hand(house):
    return Hand(house.workload)


async def put(hand, watches, manifests, addon="driver", cluster=W):
    with watches.writing(cluster, addon):
        applied = await hand.apply(manifests, addon)
        watches.follow(cluster, hand.kube, addon, [watched(each.resource, each.object) for each in applied.objects])
    await asyncio.sleep(5 * QUIET)


async def edit(hand, name="settings", **data):
    await hand.plain.patch(CONFIGMAPS, name, "default", {"data": data}, manager="kubectl-edit")
    await asyncio.sleep(0)


async def rest():
    await asyncio.sleep(5 * QUIET)


async def test_what_somebody_changes_is_told_at_once(hand, watches, told):
    await put(hand, watches, CONFIG)
    assert told == []
    await edit(hand, size="large")
    await asyncio.sleep(0.01)
    assert told == [(*W, "driver")]


async def test_our_own_writes_are_not_told(hand, watches, told):
    await put(hand, watches, CONFIG)
    for size in ("medium", "large"):
        await put(hand, watches, CONFIG.replace("small", size))
    assert told == []


async def test_what_somebody_changes_while_we_write_is_told_afterwards(hand, watches, told):
    await put(hand, watches, CONFIG)
    with watches.writing(W, "driver"):
        applied = await hand.apply(CONFIG.replace("small", "medium"))
        await edit(hand, size="large")
        await asyncio.sleep(0.1)
        assert told == []
        watches.follow(W, hand.kube, "driver", [watched(each.resource, each.object) for each in applied.objects])
    assert told == [(*W, "driver")]


async def test_what_was_deleted_and_is_written_again_is_told_once(hand, watches, told):
    await put(hand, watches, CONFIG)
    await hand.plain.delete(CONFIGMAPS, "settings", "default")
    await rest()
    await put(hand, watches, CONFIG)
    assert told == [(*W, "driver")]


async def test_what_is_deleted_is_told_once(hand, watches, told):
    await put(hand, watches, CONFIG)
    await hand.plain.delete(CONFIGMAPS, "settings", "default")
    await rest()
    assert told == [(*W, "driver")]


async def test_an_object_that_loses_our_label_is_told(hand, watches, told):
    await put(hand, watches, CONFIG)
    without = {"metadata": {"labels": {"alate.dev/addon": None}}}
    await hand.plain.patch(CONFIGMAPS, "settings", "default", without)
    await rest()
    assert told == [(*W, "driver")]


async def test_objects_of_nobody_and_of_other_addons_are_not_told(hand, watches, told):
    await put(hand, watches, CONFIG)
    await put(hand, watches, OTHER, "jobs")
    await edit(hand, "theirs", size="large")
    await hand.plain.create(CONFIGMAPS, {"metadata": {"name": "free", "namespace": "default"}})
    await rest()
    assert told == [(*W, "jobs")]


async def test_many_changes_are_told_once_per_second_and_the_last_is_not_missed(hand, watches, told):
    await put(hand, watches, CONFIG)
    for number in range(20):
        await edit(hand, size=str(number))
        await asyncio.sleep(QUIET / 10)
    assert 2 <= len(told) <= 3
    before = len(told)
    await rest()
    assert before <= len(told) <= before + 1


async def test_there_is_one_watch_for_a_kind_however_many_addons_have_it(hand, watches):
    for number in range(5):
        await put(hand, watches, CONFIG.replace("settings", f"s{number}"), f"a{number}")
    await put(hand, watches, SPACE, "space")
    assert watches.number == 2
    assert len([each for each in hand.road.sent if "watch" in each.query]) == 2
    for number in range(5):
        watches.drop(W, f"a{number}")
    await rest()
    assert watches.number == 1
    watches.gone(W)
    await rest()
    assert watches.number == 0


async def test_beyond_the_most_nothing_is_watched_until_another_watch_ends(hand, told):
    few = ObjectWatches(lambda *key: told.append(key), most=1)
    await put(hand, few, CONFIG)
    await put(hand, few, SPACE, "space")
    assert few.number == 1
    few.drop(W, "driver")
    await rest()
    await put(hand, few, SPACE, "space")
    assert few.number == 1
    await hand.plain.delete(NAMESPACES, "space")
    await rest()
    assert (*W, "space") in told
    await few.close()


async def test_a_shared_object_is_told_for_all_that_have_it(hand, watches, told):
    await put(hand, watches, SPACE)
    await put(hand, watches, SPACE, "jobs")
    await hand.plain.patch(NAMESPACES, "space", None, {"metadata": {"labels": {"a": "b"}}})
    await rest()
    assert sorted(told) == [(*W, "driver"), (*W, "jobs")]


async def test_after_a_restart_the_first_look_is_what_counts_and_what_is_missing_is_told(hand, watches, told):
    await hand.apply(f"{CONFIG}---{OTHER}")
    await hand.plain.delete(CONFIGMAPS, "theirs", "default")
    known = [Watched(CONFIGMAPS, "default", name) for name in ("settings", "theirs")]
    watches.follow(W, hand.kube, "driver", known)
    await rest()
    assert told == [(*W, "driver")]
    await edit(hand, size="large")
    await rest()
    assert len(told) == 2


async def test_objects_of_a_helm_release_are_known_by_their_names(hand, watches, told):
    labels = {"app.kubernetes.io/managed-by": "Helm"}
    for name in ("web", "other"):
        meta = {"name": name, "namespace": "default", "labels": labels}
        await hand.plain.create(CONFIGMAPS, {"metadata": meta})
    watches.follow(W, hand.kube, "web", [Watched(CONFIGMAPS, "default", "web")], helm=True)
    await rest()
    await edit(hand, "other", size="large")
    await rest()
    assert told == []
    await edit(hand, "web", size="large")
    await rest()
    assert told == [(*W, "web")]


async def test_definitions_of_a_chart_have_no_label_and_are_watched_all_the_same(hand, house, watches, told):
    (definition,) = documents(KIND)
    await hand.plain.create(CRDS, definition)
    watches.follow(W, hand.kube, "web", [Watched(CRDS, "", "gadgets.example.org")], helm=True)
    await rest()
    assert told == []
    await hand.plain.delete(CRDS, "gadgets.example.org")
    await rest()
    assert told == [(*W, "web")]


async def test_only_metadata_travels(hand, watches):
    await put(hand, watches, CONFIG)
    (asked,) = [each for each in hand.road.sent if "watch" in each.query]
    assert "PartialObjectMetadata;" in asked.headers["Accept"]


async def test_a_refused_watch_ends_and_begins_again_with_the_next_apply(house, watches, told):
    class Refusing:
        refuses = True
        watches = 0

        async def send(self, request):
            return await house.workload.transport.send(request)

        async def stream(self, request):
            Refusing.watches += 1
            if Refusing.refuses:
                yield Response(403, {}, b'{"reason": "Forbidden"}')
                return
            async for line in house.workload.transport.stream(request):
                yield line

    hand = Hand(Kube(Refusing(), random=lambda: 0.5))
    await put(hand, watches, CONFIG)
    await asyncio.sleep(600)
    assert Refusing.watches == 2
    Refusing.refuses = False
    await put(hand, watches, CONFIG)
    await edit(Hand(house.workload), size="large")
    await rest()
    assert told == [(*W, "driver")]


async def test_a_cluster_that_is_reached_another_way_is_watched_there(hand, house, watches, told):
    await put(hand, watches, CONFIG)
    other = Hand(house.workload)
    await put(other, watches, CONFIG)
    assert len([each for each in other.road.sent if "watch" in each.query]) == 1
    await edit(hand, size="large")
    await rest()
    assert told == [(*W, "driver")]


async def test_after_a_break_what_changed_meanwhile_is_told(house, watches, told):
    breaking = asyncio.Event()

    class Breaking:
        async def send(self, request):
            return await house.workload.transport.send(request)

        async def stream(self, request):
            await breaking.wait()
            raise TryLater("broken")
            yield

    hand = Hand(Kube(Breaking(), random=lambda: 0.5))
    await put(hand, watches, CONFIG)
    breaking.set()
    await edit(hand, size="large")
    await asyncio.sleep(60)
    assert told == [(*W, "driver")]


async def test_nothing_runs_after_the_end(hand, told):
    watches = ObjectWatches(lambda *key: told.append(key))
    await put(hand, watches, CONFIG)
    await edit(hand, size="large")
    await edit(hand, size="larger")
    before = len(asyncio.all_tasks())
    await watches.close()
    await rest()
    assert len(asyncio.all_tasks()) == before - 1
    assert len(told) <= 1
