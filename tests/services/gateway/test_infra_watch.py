"""What back ends' objects show is said as a level, however long the bus is away."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime

import msgspec
import pytest
from structlog.testing import capture_logs

from events.bus import Unavailable
from events.errors import TOO_LARGE, Denied, NotFound, TryLater
from events.kube.client import Changed, Listed, Lost
from events.kube.resources import CLUSTERS
from events.memory.bus import MemoryBus
from schemas.infra import InfraSeen
from services.clouds.capi import Capi
from services.gateway.infra_watch import InfraWatch
from services.runtime.level_publisher import LevelPublisher
from tests.context import context

pytestmark = pytest.mark.looptime

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CONTEXT = context(MemoryBus(), lambda: NOW)


class FakeCloud:
    """Reads whether an object is reachable."""

    name, watched = "fake", object()

    def read(self, item):
        return InfraSeen(cluster="train-a", uid="c1.1", attempt=1, reachable=bool(item.get("reachable")))

    async def verify(self, tenant, seen):
        return seen


class FakeKube:
    """One object, which is changed once."""

    async def watch(self, resource):
        assert resource is FakeCloud.watched
        meta = {"namespace": "acme", "name": "train-a-1"}
        yield Listed(({"metadata": meta, "reachable": False},), "1")
        yield Changed({"metadata": meta, "reachable": True})
        await asyncio.Event().wait()


class OlderCloud(FakeCloud):
    """The same, of a kind that Cluster API has in two versions."""

    watched = CLUSTERS


class OlderKube:
    """Serves but the version before."""

    def __init__(self):
        self.discovered = {}

    async def read(self, path):
        if path != "/apis/cluster.x-k8s.io/v1beta1":
            raise NotFound(path)
        return {"resources": [{"name": "clusters", "kind": "Cluster", "namespaced": True}]}

    async def watch(self, resource):
        if resource.version == "v1beta2":
            yield Lost("it is not served")
        else:
            yield Listed(({"metadata": {"namespace": "acme", "name": "train-a-1"}, "reachable": True},), "1")
        await asyncio.Event().wait()


async def test_a_cluster_api_of_the_version_before_is_heard_in_that_version():
    levels = LevelPublisher(context(MemoryBus(), lambda: NOW), InfraSeen)
    watch = asyncio.create_task(InfraWatch(OlderCloud(), levels, CONTEXT).run(OlderKube()))
    await asyncio.sleep(1)
    assert levels.last(InfraSeen, "acme", "fake", "train-a-1").reachable
    watch.cancel()
    with suppress(asyncio.CancelledError):
        await watch


class Whole(FakeCloud):
    """Everything of it is said; then it is not there any more, seen so or not."""

    def read(self, item):
        return InfraSeen(
            cluster="train-a", uid="c1.1", attempt=1, reachable=True, deleting=True, endpoint="https://10.0.0.1:6443",
            failure="NoCapacity", message="creating",
        )  # fmt: skip


class Emptied:
    """One object, which goes: the watch shows its end, or only a list without it."""

    def __init__(self, *, seen):
        self.seen = seen

    async def watch(self, _):
        item = {"metadata": {"namespace": "acme", "name": "train-a-1"}}
        yield Listed((item,), "1")
        yield Changed(item, gone=True) if self.seen else Listed((), "2")
        await asyncio.Event().wait()


@pytest.mark.parametrize("seen", [True, False])
async def test_of_what_is_gone_nothing_is_said_but_whose_it_was(seen):
    levels = LevelPublisher(context(MemoryBus(), lambda: NOW), InfraSeen)
    watch = asyncio.create_task(InfraWatch(Whole(), levels, CONTEXT).run(Emptied(seen=seen)))
    await asyncio.sleep(1)
    gone = InfraSeen(cluster="train-a", uid="c1.1", attempt=1, backend="fake", present=False)
    assert levels.last(InfraSeen, "acme", "fake", "train-a-1") == gone
    watch.cancel()
    with suppress(asyncio.CancelledError):
        await watch


class Away(MemoryBus):
    """A bus that takes nothing for ten minutes."""

    async def publish(self, message, **how):
        if asyncio.get_running_loop().time() < 600:
            raise Unavailable("no answer")
        return await super().publish(message, **how)


async def test_a_bus_that_is_away_for_ten_minutes_ends_no_watch():
    levels = LevelPublisher(context(Away(), lambda: NOW), InfraSeen)
    watch = asyncio.create_task(InfraWatch(FakeCloud(), levels, CONTEXT).run(FakeKube()))
    await asyncio.sleep(660)
    assert not watch.done()
    seen = levels.last(InfraSeen, "acme", "fake", "train-a-1")
    assert (seen.backend, seen.reachable) == ("fake", True)
    watch.cancel()
    with suppress(asyncio.CancelledError):
        await watch


class Slow(MemoryBus):
    """A bus that takes a second to take a message, and notes when it has."""

    def __init__(self):
        super().__init__()
        self.taken = []

    async def publish(self, message, **how):
        await asyncio.sleep(1)
        self.taken.append((asyncio.get_running_loop().time(), message.subject.rpartition(".")[2]))
        return await super().publish(message, **how)


class Many(FakeKube):
    """Some objects at once, the first of which changes twice; then an empty list, if there is to be one."""

    def __init__(self, count, *, emptied=False):
        self.count, self.emptied = count, emptied

    async def watch(self, _):
        items = [
            {"metadata": {"namespace": "acme", "name": f"train-{n}"}, "reachable": False} for n in range(self.count)
        ]
        yield Listed(tuple(items), "1")
        await asyncio.sleep(0.1)
        for reachable in (None, True):
            yield Changed(items[0] | {"reachable": reachable})
        if self.emptied:
            yield Listed((), "2")
        await asyncio.Event().wait()


async def said(bus, kube):
    """What is the last word of each object, after some seconds."""
    levels = LevelPublisher(context(bus, lambda: NOW), InfraSeen)
    watch = asyncio.create_task(InfraWatch(FakeCloud(), levels, CONTEXT).run(kube))
    await asyncio.sleep(10)
    watch.cancel()
    with suppress(asyncio.CancelledError):
        await watch
    return {name: seen for (*_, name), seen in levels.named(InfraSeen)}


async def test_what_one_object_shows_waits_for_no_word_of_another():
    bus = Slow()
    await said(bus, Many(20))
    assert {name for at, name in bus.taken if at <= 1.0} == {f"train-{n}" for n in range(20)}


async def test_of_what_is_seen_while_something_is_being_said_the_last_is_said():
    bus = Slow()
    assert (await said(bus, Many(1)))["train-0"].reachable is True
    assert [at for at, _ in bus.taken] == [1.0, 2.0]


async def test_what_vanishes_while_it_is_being_said_is_said_to_be_gone():
    last = await said(Slow(), Many(2, emptied=True))
    assert {name: seen.present for name, seen in last.items()} == {"train-0": False, "train-1": False}


class MarkedCloud(FakeCloud):
    """Knows its own by a mark."""

    def read(self, item):
        return super().read(item | {"reachable": True}) if item["marked"] else None


class UnmarkingKube:
    """One object that loses its mark, in a change or in a list; another that never had one."""

    def __init__(self, listed):
        self._listed = listed

    async def watch(self, resource):
        objects = [
            {"metadata": {"namespace": "acme", "name": name}, "marked": name == "ours"} for name in ("ours", "b")
        ]
        yield Listed(tuple(objects), "1")
        left = objects[0] | {"marked": False}
        yield Listed((left, objects[1]), "2") if self._listed else Changed(left)
        await asyncio.Event().wait()


@pytest.mark.parametrize("listed", [False, True], ids=["changed", "listed"])
async def test_what_bears_our_marks_no_more_is_gone(listed):
    levels = LevelPublisher(context(MemoryBus(), lambda: NOW), InfraSeen)
    watch = asyncio.create_task(InfraWatch(MarkedCloud(), levels, CONTEXT).run(UnmarkingKube(listed)))
    await asyncio.sleep(1)
    seen = levels.last(InfraSeen, "acme", "fake", "ours")
    assert (seen.present, seen.reachable) == (False, False)
    assert levels.last(InfraSeen, "acme", "fake", "b") is None
    watch.cancel()
    with suppress(asyncio.CancelledError):
        await watch


class OtherCloud(FakeCloud):
    """Another back end, with an object of the same name."""

    name = "other"


async def test_two_back_ends_each_have_their_word_on_objects_of_one_name():
    levels = LevelPublisher(context(MemoryBus(), lambda: NOW), InfraSeen)
    watches = [
        asyncio.create_task(InfraWatch(cloud, levels, CONTEXT).run(kube))
        for cloud, kube in ((FakeCloud(), FakeKube()), (OtherCloud(), Emptied(seen=False)))
    ]
    await asyncio.sleep(1)
    shown = {seen.backend: (seen.present, seen.reachable) for _, seen in levels.named(InfraSeen)}
    assert shown == {"fake": (True, True), "other": (False, False)}
    for watch in watches:
        watch.cancel()
        with suppress(asyncio.CancelledError):
            await watch


class UnsureCloud(FakeCloud):
    """The API server that would bear it out is away at first."""

    tries = 0

    async def verify(self, tenant, seen):
        self.tries += 1
        if self.tries < 3:
            raise TryLater("away")
        return msgspec.structs.replace(seen, message=f"borne out in {tenant}")


async def test_what_nobody_can_bear_out_now_is_said_once_somebody_can():
    levels = LevelPublisher(context(MemoryBus(), lambda: NOW), InfraSeen)
    watch = asyncio.create_task(InfraWatch(UnsureCloud(), levels, CONTEXT).run(FakeKube()))
    await asyncio.sleep(0.5)
    assert levels.last(InfraSeen, "acme", "fake", "train-a-1") is None
    await asyncio.sleep(60)
    assert levels.last(InfraSeen, "acme", "fake", "train-a-1").message == "borne out in acme"
    watch.cancel()
    with suppress(asyncio.CancelledError):
        await watch


class ShownKube:
    """Cluster API's Clusters: what is listed, what is changed, what is gone, and what is listed then."""

    def __init__(self, listed, changed=(), *, gone=(), then=None, every=0.0):
        self._lists = [listed, *([] if then is None else [then])]
        self._changes, self._every = [(item, False) for item in changed] + [(item, True) for item in gone], every

    async def watch(self, _):
        yield Listed(tuple(self._lists[0]), "1")
        for item, gone in self._changes:
            await asyncio.sleep(self._every)
            yield Changed(item, gone=gone)
        for items in self._lists[1:]:
            yield Listed(tuple(items), "2")
        await asyncio.Event().wait()


def capi(name, **more):
    marks = {"alate.dev/cluster": name, "alate.dev/uid": "c1.1", "alate.dev/attempt": "1"}
    return {"metadata": {"namespace": "acme", "name": f"{name}-1", "labels": marks}} | more


REACHABLE = {
    "initialization": {"controlPlaneInitialized": True},
    "conditions": [{"type": "RemoteConnectionProbe", "status": "True"}],
}


@pytest.mark.parametrize(
    "odd",
    [
        {"status": []},
        {"status": {"conditions": [5]}},
        {"status": {"conditions": [{"status": "True"}]}},
        {"status": {"conditions": [{"type": "Available", "status": "False", "message": 5}]}},
        {"status": {"observedGeneration": "new", "conditions": [{"type": "Available"}]}},
        {"spec": {"controlPlaneEndpoint": "there"}},
    ],
)
async def test_a_cluster_of_an_odd_shape_stops_no_other_and_is_named(odd):
    levels = LevelPublisher(context(MemoryBus(), lambda: NOW), InfraSeen)
    kube = ShownKube([capi("a", **odd), capi("b", status=REACHABLE)])
    watch = asyncio.create_task(InfraWatch(Capi(None), levels, CONTEXT).run(kube))
    await asyncio.sleep(1)
    assert not watch.done()
    assert levels.last(InfraSeen, "acme", "capi", "b-1").reachable
    seen = levels.last(InfraSeen, "acme", "capi", "a-1")
    assert (seen.cluster, seen.reachable) == ("a", False)
    assert seen.message.startswith("Cluster a-1 cannot be read: ")
    watch.cancel()
    with suppress(asyncio.CancelledError):
        await watch


@pytest.mark.parametrize("status", [REACHABLE, 5], ids=["else in order", "nothing in order"])
async def test_an_object_of_which_not_even_the_owner_can_be_read_stops_no_other(status):
    odd = capi("a", status=status)
    odd["metadata"]["labels"]["alate.dev/cluster"] = ["a"]
    levels = LevelPublisher(context(MemoryBus(), lambda: NOW), InfraSeen)
    watch = asyncio.create_task(
        InfraWatch(Capi(None), levels, CONTEXT).run(ShownKube([odd, capi("b", status=REACHABLE)]))
    )
    await asyncio.sleep(1)
    assert not watch.done()
    assert [names[-1] for names, _ in levels.named(InfraSeen)] == ["b-1"]
    watch.cancel()
    with suppress(asyncio.CancelledError):
        await watch


async def test_a_cluster_that_becomes_odd_shows_what_it_showed_before_and_what_is_wrong():
    levels = LevelPublisher(context(MemoryBus(), lambda: NOW), InfraSeen)
    kube = ShownKube([capi("a", status=REACHABLE)], [capi("a", status=5)])
    watch = asyncio.create_task(InfraWatch(Capi(None), levels, CONTEXT).run(kube))
    await asyncio.sleep(1)
    seen = levels.last(InfraSeen, "acme", "capi", "a-1")
    assert (seen.present, seen.reachable) == (True, True)
    assert seen.message.startswith("Cluster a-1 cannot be read: AttributeError in ")
    watch.cancel()
    with suppress(asyncio.CancelledError):
        await watch


class RefusingKube:
    """Serves the kind, and lists it only after a minute."""

    def __init__(self):
        self.discovered = {}

    async def read(self, path):
        return {"resources": [{"name": "clusters", "kind": "Cluster", "namespaced": True}]}

    async def watch(self, _):
        yield Lost("clusters is forbidden")
        await asyncio.sleep(60)
        yield Listed((), "1")
        await asyncio.Event().wait()


async def test_what_cannot_be_listed_is_said_with_the_reason_until_it_can():
    levels = LevelPublisher(context(MemoryBus(), lambda: NOW), InfraSeen)
    infra = InfraWatch(OlderCloud(), levels, CONTEXT)
    with capture_logs() as logs:
        watch = asyncio.create_task(infra.run(RefusingKube()))
        await infra.attempted.wait()
    assert (infra.backend, infra.complete.is_set()) == ("fake", False)
    assert infra.why_unknown == "the objects in back end fake are not known: clusters is forbidden"
    (told,) = logs
    assert (told["event"], told["backend"], told["reason"]) == ("infra.watch_lost", "fake", "clusters is forbidden")
    await infra.complete.wait()
    assert infra.why_unknown == ""
    watch.cancel()
    with suppress(asyncio.CancelledError):
        await watch


class Choosy(MemoryBus):
    """Takes no message that is too large."""

    async def publish(self, message, **how):
        if b"too large" in message.data:
            raise Denied("a message is too large", TOO_LARGE)
        return await super().publish(message, **how)


class Talking(FakeCloud):
    """Says what is written in an object."""

    def read(self, item):
        return InfraSeen(cluster="train-a", uid="c1.1", attempt=1, message=item["says"])


async def test_what_could_not_be_said_is_forgotten_once_something_else_was_said():
    meta = {"namespace": "acme", "name": "train-a-1"}
    kube = ShownKube([{"metadata": meta, "says": "too large"}], [{"metadata": meta, "says": "less"}], every=0.1)
    levels = LevelPublisher(context(Choosy(), lambda: NOW), InfraSeen)
    with capture_logs() as logs:
        watch = asyncio.create_task(InfraWatch(Talking(), levels, CONTEXT).run(kube))
        await asyncio.sleep(600)
    assert levels.last(InfraSeen, "acme", "fake", "train-a-1").message == "less"
    assert [each["event"] for each in logs] == ["work.failed"]
    watch.cancel()
    with suppress(asyncio.CancelledError):
        await watch


async def warnings_of(kube):
    """How often an object was said to be unreadable, with all that is still known of such ones."""
    infra = InfraWatch(Capi(None), LevelPublisher(context(MemoryBus(), lambda: NOW), InfraSeen), CONTEXT)
    with capture_logs() as logs:
        watch = asyncio.create_task(infra.run(kube))
        await asyncio.sleep(1)
    watch.cancel()
    with suppress(asyncio.CancelledError):
        await watch
    return [each["event"] for each in logs].count("infra.unreadable"), dict(infra._malformed)


async def test_an_object_that_becomes_unreadable_again_is_named_again():
    odd, well = capi("a", status=5), capi("a", status=REACHABLE)
    times, _ = await warnings_of(ShownKube([odd], [odd, well, odd]))
    assert times == 2


async def test_of_an_unreadable_object_that_is_gone_nothing_is_remembered():
    odd = capi("a", status=5)
    assert await warnings_of(ShownKube([odd], gone=[odd])) == (1, {})
    assert await warnings_of(ShownKube([odd], then=[])) == (1, {})
