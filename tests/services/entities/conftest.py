"""Every entity, with a sample of everything it can be told, so that tests can go wherever a life can lead."""

import os
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import product
from typing import Any

import msgspec
import pytest

from schemas import addon, attempts, changes, cluster, teardown
from schemas.attempts import (
    AttemptBlocked,
    AttemptGone,
    AttemptRecovered,
    AttemptUnrecoverable,
    LaunchFailed,
    MarketChanged,
    OrphanCreated,
)
from schemas.entity import Due, State
from schemas.infra import InfraSeen, Remains
from schemas.inventory import ClusterSeen, Demand
from schemas.placement import Attempt, Lot, Placement, Ranked
from schemas.wish import AddonRef, Adopt, Limits, Need, OnRelease, Pool, Wish
from services.addons import decide as addons
from services.addons.todo import todo as addon_todo
from services.provisioning.lifecycle import decide as provisioning
from services.provisioning.lifecycle.todo import todo as cluster_todo
from services.runtime.machine import Event, Machine, Todo
from services.teardown import decide as ending
from services.teardown.todo import todo as teardown_todo

T0 = datetime(2026, 1, 1, tzinfo=UTC)
INSTANTS = (T0, T0 + timedelta(minutes=31), T0 + timedelta(hours=3))
ALIKE = float(os.environ.get("ALATE_TEST_ALIKE", "2"))
"""How many states of one shape are looked at; `inf` finds 300,000 states in all."""
COLONY, UID, FOREIGN = "c1", "c1.1", "c9.9"
POOLS = (Pool(name="gpu", accelerator="H100", accelerators_per_node=8, nodes=2),)
LIMITS = Limits(time_to_live_seconds=3600.0, idle_after_seconds=600.0, warn_before_seconds=60.0)
FIRST = Wish(
    tenant="acme",
    colony="train",
    cluster="a",
    uid=COLONY,
    generation=1,
    need=Need(pools=POOLS),
    limits=LIMITS,
    addons=(AddonRef("driver", "d1"),),
)
OTHER_NEED = msgspec.structs.replace(FIRST, generation=2, need=Need(pools=POOLS, max_price_per_hour=9.0))
LARGER = msgspec.structs.replace(FIRST, generation=2, need=Need(pools=(msgspec.structs.replace(POOLS[0], nodes=3),)))
ELASTIC = msgspec.structs.replace(
    FIRST,
    generation=2,
    need=Need(pools=(msgspec.structs.replace(POOLS[0], min_nodes=1, max_nodes=3),)),
)
WIDER = msgspec.structs.replace(
    FIRST, generation=2, need=Need(pools=(*POOLS, msgspec.structs.replace(POOLS[0], name="more", nodes=1)))
)
ASLEEP = msgspec.structs.replace(FIRST, generation=2, need=msgspec.structs.replace(FIRST.need, hibernate=True))
RISEN = msgspec.structs.replace(
    FIRST, generation=2, need=msgspec.structs.replace(FIRST.need, kubernetes_version="v1.35.0")
)
DELETED = msgspec.structs.replace(FIRST, generation=3, deleting=True)
ANEW = msgspec.structs.replace(FIRST, generation=4, asked_at=T0)
AGAIN = msgspec.structs.replace(OTHER_NEED, generation=9, asked_at=INSTANTS[1])
STRANGER = msgspec.structs.replace(FIRST, uid="c9", generation=9)


def placement(cloud: str, price: float, nodes: int = 2) -> Placement:
    lot = Lot(
        pool="gpu", instance="x8", zone="", accelerator="H100", accelerators_per_node=8,
        nodes=nodes, price_per_hour=price, spot=False,
    )  # fmt: skip
    return Placement(cloud=cloud, region="r", lots=(lot,))


def infra(number: int, **shown) -> InfraSeen:
    return InfraSeen(cluster="train-a", uid=UID, attempt=number, **shown)


def use(nodes: int, attempt: int = 0, **shown) -> ClusterSeen:
    return ClusterSeen(cluster="train-a", uid=UID, attempt=attempt, nodes=nodes, accelerators=8 * nodes, **shown)


CHEAP, DEAR = placement("aws", 10.0), placement("gcp", 12.0)
GROWN, LEAST, NOTHING = (placement("aws", 10.0, nodes) for nodes in (3, 1, 0))
MORE = msgspec.structs.replace(CHEAP.lots[0], pool="more", nodes=1)
TRIED = Attempt(number=1, placement=CHEAP)
LOST = infra(1, backend=FIRST.need.backend)
HEARD_BY_CLUSTER = (
    FIRST, OTHER_NEED, LARGER, ELASTIC, WIDER, ASLEEP, RISEN, DELETED, ANEW,
    changes.Rolling(1, "v1.35.0", "0 of 2 machines run v1.35.0"),
    changes.Upgraded(1, "v1.35.0"), changes.UpgradeRefused(1, "v1.35.0", "no template has it"),
    changes.PoolPriced(1, WIDER.need, (MORE,)), changes.PoolUnavailable(1, WIDER.need, "no x8 left"),
    changes.Resized(1, (*CHEAP.lots, MORE)), changes.ResizeRefused(1, (*CHEAP.lots, MORE), "no x8 left"),
    *(changes.Resized(1, at.lots) for at in (CHEAP, GROWN, LEAST, NOTHING)),
    *(changes.ResizeRefused(1, at.lots, "no x8 left") for at in (CHEAP, GROWN, LEAST, NOTHING)),
    msgspec.structs.replace(FIRST, remains=Remains(found=(LOST,))), AttemptRecovered(1, CHEAP, FIRST.need),
    msgspec.structs.replace(FIRST, remains=Remains(found=(msgspec.structs.replace(LOST, attempt=2),))),
    msgspec.structs.replace(FIRST, remains=Remains(ended="Idle")), AttemptUnrecoverable(1, "it tells too little"),
    msgspec.structs.replace(DELETED, remains=Remains(found=(LOST,))),
    msgspec.structs.replace(DELETED, remains=Remains(found=(msgspec.structs.replace(LOST, reachable=True),))),
    Ranked((CHEAP, DEAR)), Ranked((), "NoOfferFits", "no offer has it"),
    Ranked((), cluster.NOT_INSTALLED, "no Cluster API"),
    Ranked((), "BadTemplate", "it cannot be filled in"), MarketChanged(), OrphanCreated(TRIED),
    *(event for n in (1, 2) for event in (
        LaunchFailed(n, "NoCapacity", "none"), AttemptGone(n),

        AttemptBlocked(n, "no Cluster API"), AttemptBlocked(n),
        infra(n), infra(n, reachable=True), infra(n, failure="Quota", message="over quota"), infra(n, present=False),
        infra(n, deleting=True),
    )),
    use(0), use(2, 1), use(2, 2), use(1, known=False), Due(),
    use(2, idle_since=T0), use(2, used={"H100": 2}, demand=(Demand(accelerators=8, pods=1),)),
    teardown.TeardownReleasing(uid=UID, wish=DELETED, reason="Deleted", deadline=T0),
)  # fmt: skip


def taking_in(wish: Wish, end: OnRelease = OnRelease.KEEP) -> Wish:
    return msgspec.structs.replace(
        wish, need=msgspec.structs.replace(wish.need, adopt=Adopt(name="theirs", on_release=end))
    )


TAKING = taking_in(FIRST)
HEARD_BY_ADOPTED = (
    TAKING, taking_in(LARGER), taking_in(ASLEEP), taking_in(RISEN), taking_in(DELETED), taking_in(ANEW),
    changes.Rolling(1, "v1.35.0", "0 of 2 machines run v1.35.0"),
    changes.Upgraded(1, "v1.35.0"), changes.UpgradeRefused(1, "v1.35.0", "no topology"),
    taking_in(DELETED, OnRelease.DELETE),
    changes.PoolPriced(1, WIDER.need, (MORE,)), changes.PoolUnavailable(1, WIDER.need, "no x8 left"),
    *(changes.Resized(1, at.lots) for at in (CHEAP, GROWN, NOTHING)),
    *(changes.ResizeRefused(1, at.lots, "no topology") for at in (CHEAP, GROWN, NOTHING)),
    msgspec.structs.replace(TAKING, remains=Remains(found=(msgspec.structs.replace(LOST, adopted="theirs"),))),
    AttemptRecovered(1, CHEAP, TAKING.need), AttemptUnrecoverable(1, "it tells too little"),
    Ranked((CHEAP,), adopts="theirs"), Ranked((), "NothingToAdopt", "there is none", "theirs"),
    Ranked((), cluster.NOT_INSTALLED, "no Cluster API", "theirs"), Ranked((), "PriceCap", "it costs more", "theirs"),
    Ranked((CHEAP, DEAR)), MarketChanged(), OrphanCreated(msgspec.structs.replace(TRIED, adopts="theirs")),
    *(event for n in (1, 2) for event in (
        LaunchFailed(n, "AlreadyExists", "not free"), AttemptGone(n, adopts="theirs"),
        AttemptBlocked(n, "no Cluster API"), AttemptBlocked(n),
        infra(n, adopted="theirs"), infra(n, adopted="theirs", reachable=True),
        infra(n, adopted="theirs", present=False), infra(n, adopted="theirs", deleting=True),
    )),
    AttemptGone(1), infra(1), infra(1, present=False), infra(1, adopted="other"), AttemptGone(1, adopts="other"),
    use(0), use(2, 1), use(3, 1), use(1, known=False), Due(),
    teardown.TeardownReleasing(uid=UID, wish=DELETED, reason="Deleted", deadline=T0),
)  # fmt: skip


def as_cluster(kind: type[cluster.ClusterState], minute: int, **fields) -> cluster.ClusterState:
    known: dict[str, Any] = {"uid": UID, "correlation": COLONY, "wish": FIRST, "attempt": TRIED, "billed_since": T0} | {
        "deadline": T0, "kubeconfig": "train-a-1-kubeconfig", "reason": "r", "message": "m",
        "since": T0 + timedelta(minutes=minute), "until": T0,
    }  # fmt: skip
    return kind(**{name: value for name, value in (known | fields).items() if name in kind.__struct_fields__})


CLUSTER_LIFE = (
    *(as_cluster(kind, minute) for minute, kind in enumerate(cluster.LIFECYCLE.states)),
    as_cluster(cluster.Ready, 20, wish=OTHER_NEED),
    as_cluster(cluster.Ready, 21, wish=msgspec.structs.replace(FIRST, generation=3, limits=Limits())),
    as_cluster(cluster.Ready, 22, wish=DELETED),
    as_cluster(cluster.Released, 23, wish=DELETED),
    as_cluster(cluster.Ready, 24, wish=msgspec.structs.replace(DELETED, limits=Limits(drain_timeout_seconds=0.0))),
    as_cluster(cluster.Ready, 25, wish=msgspec.structs.replace(DELETED, force=True)),
    as_cluster(cluster.Releasing, 26, wish=DELETED, blocked="its webhook does not answer"),
)
HEARD_BY_TEARDOWN = (
    *CLUSTER_LIFE, Due(), use(2), use(2, known=False), use(2, idle_since=T0), use(2, idle_since=INSTANTS[1]),
    *(teardown.Blocked(step, "it waits", heard) for step in ("Draining", "Cleaning") for heard in (True, False)),
    teardown.Blocked("Verifying", "1 machine is left"),
    teardown.AddonsListed(("base.nfd",)),
    teardown.Drained(), teardown.CleanedUp(), teardown.Audited({"machines": 0}), teardown.Audited({"machines": 1}),
    addon.Withdrawn(uid=UID, tenant="acme", colony="train", cluster="train-a", addon="driver", digest="d1"),
)  # fmt: skip


def wanted(digest: str, kubeconfig: str = "", minute: int = 0, uid: str = UID) -> addon.AddonWanted:
    return addon.AddonWanted(
        uid=uid, tenant="acme", colony="train", cluster="train-a", addon="driver", digest=digest,
        correlation=COLONY, kubeconfig=kubeconfig, as_of=T0 + timedelta(minutes=minute),
    )  # fmt: skip


def dropped(minute: int, *, lost: bool = False) -> addon.AddonUnwanted:
    return addon.AddonUnwanted(UID, lost=lost, dropped=True, stays=True, as_of=T0 + timedelta(minutes=minute))


HEARD_BY_ADDON = (
    wanted("d1"), wanted("d1", "k1", 1), wanted("d2", "k1", 2), wanted("d2", "", 3), wanted("d2", "k2", 4),
    addon.AddonUnwanted(UID), addon.AddonUnwanted(UID, lost=True), addon.AddonHealthy("d1"), addon.AddonHealthy("d2"),
    addon.AddonLost("d1", "a Deployment is not there"), addon.AddonLost("d2", "a Deployment is not there"),
    addon.AddonFailed("d1", "bad"), addon.AddonFailed("d2", "bad"),
    addon.AddonDiffers("d1", "it differs"), addon.AddonDiffers("d1"), addon.AddonPending("d1", "waits", gated=True),
    addon.AddonPending("d1", "no such kind"), addon.AddonPending("d1"), addon.AddonPending("d2", "no Secret"),
    addon.AddonRemoved(), addon.AddonRemoved("a kind others use"), Due(),
    addon.AddonUnwanted(UID, stays=True), dropped(5), dropped(5, lost=True),
    wanted("d1", "k1", 6), wanted("d2", "k1", 7),
)  # fmt: skip


def alike(state: State) -> bytes:
    """What tells a state from others: of those that differ in their past or in how long they wait, one is enough."""
    if not isinstance(state, cluster.ClusterState):
        return msgspec.json.encode(state)
    waits = {"until": T0} if isinstance(state, cluster.Waiting) else {}
    tried = tuple(msgspec.structs.replace(each, placement=CHEAP, failed_at=T0) for each in state.failed_attempts)
    upgrading = getattr(state, "upgrading", None)
    if upgrading is not None:
        waits["upgrading"] = msgspec.structs.replace(upgrading, until=T0, progress="")
    waits |= {at: T0 for at in ("scale_down_at", "scale_up_from") if getattr(state, at, None) is not None}
    return msgspec.json.encode(
        msgspec.structs.replace(state, short_since=None, orphans=(), cost_usd=0.0, failed_attempts=tried, **waits)
    )


def shape(state: State) -> tuple[object, ...]:
    """Which fields of a state say something, and what the machines decide by most: its attempt and its wish."""
    wish = getattr(state, "wish", None)
    asked = (wish.generation, wish.deleting) if wish else ()
    said = tuple(bool(getattr(state, name)) for name in state.__struct_fields__)
    return type(state), said, asked, getattr(state, "attempts", 0)


@dataclass(frozen=True, eq=False)
class Entity:
    """One kind of entity, and everything it can be told."""

    decide: Machine
    todo: Todo
    heard: tuple[Event, ...]
    strangers: tuple[Event, ...]
    """What is said of another incarnation; each may begin a life, none may touch one."""
    earlier: Callable[[State], Iterator[Event]]
    """What was said before a state was reached, and comes late."""
    answers: Callable[[State, Event, set[str]], Iterator[Event]]
    """What the world says to a command."""
    deletes: Callable[[State], Event]
    """How somebody asks for the end."""
    anew: Event
    """What begins the next incarnation."""
    instants: tuple[datetime, ...] = INSTANTS
    succeeded: tuple[type[State], ...] = ()
    """States of an incarnation that the next one may end before it is over: its machines are not its own any more."""

    @cache  # noqa: B019 - three entities, for as long as the tests run
    def reached(self) -> tuple[State, ...]:
        """States that can be reached, breadth first, in at most two attempts: of each shape as many as `ALIKE` says."""
        found: dict[tuple[type, bytes], State] = {}
        shapes: Counter[tuple[object, ...]] = Counter()
        queue: deque[State | None] = deque((None,))
        while queue:
            state = queue.popleft()
            for event, now in product(self.heard, self.instants):
                new = self.decide.decide(state, event, now)
                if new is state or new is None or getattr(new, "attempts", 0) > 2:
                    continue
                if shapes[kind := shape(new)] < ALIKE and (mark := (type(new), alike(new))) not in found:
                    found[mark] = new
                    shapes[kind] += 1
                    queue.append(new)
        return tuple(found.values())


def at_large(event: Event) -> bool:
    """What begins a life, and what stands of one, concerns whoever bears the name now."""
    return isinstance(event, Wish) or stands(event)


def stands(event: Event) -> bool:
    """What stands of an attempt that is over is no echo: it costs money, however late it is seen."""
    return isinstance(event, InfraSeen) and event.present and not event.deleting


def earlier_for_cluster(state: State) -> Iterator[Event]:
    return earlier(state, HEARD_BY_CLUSTER)


def earlier_for_adopted(state: State) -> Iterator[Event]:
    return earlier(state, HEARD_BY_ADOPTED)


def earlier(state: cluster.ClusterState, heard: tuple[Event, ...]) -> Iterator[Event]:
    current = getattr(state, "attempt", None)
    for event in heard:
        number = getattr(event, "attempt", None)
        of_earlier_try = number and current and number < current.number and not stands(event)
        older_wish = isinstance(event, Wish) and event.generation < state.wish.generation and state.uid == UID
        if of_earlier_try or older_wish:
            yield event


def earlier_for_teardown(state: Any) -> Iterator[Event]:
    # A release is the last word of its incarnation: nothing of it comes later.
    return (e for e in CLUSTER_LIFE if e.since < state.as_of and not isinstance(e, cluster.Released))


def earlier_for_addon(state: Any) -> Iterator[Event]:
    news = (e for e in HEARD_BY_ADDON if isinstance(e, addon.AddonWanted) or getattr(e, "dropped", False))
    return (e for e in news if e.as_of < state.as_of)


def cluster_world(state: State, command: Event, _: set[str]) -> Iterator[Event]:
    if isinstance(command, attempts.Release):
        yield AttemptGone(command.attempt.number, command.attempt.backend, command.attempt.adopts)


def teardown_world(state: State, command: Event, said: set[str]) -> Iterator[Event]:
    answers = {teardown.Drain: teardown.Drained(), teardown.CleanUp: teardown.CleanedUp()}
    if type(command) in answers:
        yield answers[type(command)]
    if isinstance(command, teardown.AuditCluster):
        yield teardown.Audited({"machines": 0})
    if isinstance(command, teardown.CountAddons):
        for name in command.addons:
            yield addon.Withdrawn(uid=command.uid, tenant="acme", colony="", cluster="train-a", addon=name, digest="")
    if isinstance(state, teardown.TeardownReleasing) and "released" not in said:
        said.add("released")  # said once: nobody repeats it for those who come late
        yield as_cluster(cluster.Released, 99, uid=state.uid)


def addon_world(state: State, command: Event, _: set[str]) -> Iterator[Event]:
    if isinstance(command, addon.WithdrawAddon):
        yield addon.AddonRemoved()


def of_another(event: Event) -> Event:
    fields = {"uid": FOREIGN} | ({"cluster": "train-a"} if hasattr(event, "cluster") else {})
    return msgspec.structs.replace(event, **fields)


ENTITIES = {
    "cluster": Entity(
        provisioning.decide, cluster_todo, HEARD_BY_CLUSTER,
        (STRANGER, *(of_another(e) for e in HEARD_BY_CLUSTER if hasattr(e, "uid") and not at_large(e))),
        earlier_for_cluster, cluster_world,
        lambda s: teardown.TeardownReleasing(uid=s.uid, wish=DELETED, reason="Deleted", deadline=T0),
        AGAIN,
        INSTANTS[::2],  # tens of thousands of states otherwise
    ),
    "adopted": Entity(
        provisioning.decide, cluster_todo, HEARD_BY_ADOPTED,
        (STRANGER, *(of_another(e) for e in HEARD_BY_ADOPTED if hasattr(e, "uid") and not at_large(e))),
        earlier_for_adopted, cluster_world,
        lambda s: teardown.TeardownReleasing(uid=s.uid, wish=DELETED, reason="Deleted", deadline=T0),
        AGAIN,
        INSTANTS[::2],
    ),
    "teardown": Entity(
        ending.decide, teardown_todo, HEARD_BY_TEARDOWN,
        tuple(of_another(e) for e in HEARD_BY_TEARDOWN if hasattr(e, "uid")),
        earlier_for_teardown, teardown_world,
        lambda s: as_cluster(cluster.Ready, 98, uid=s.uid, wish=DELETED),
        as_cluster(cluster.Pending, 120, uid="c1.9"),
        succeeded=(teardown.TeardownReleasing, teardown.Verifying, teardown.Stuck),
    ),
    "addon": Entity(
        addons.decide, addon_todo, HEARD_BY_ADDON,
        tuple(of_another(e) for e in HEARD_BY_ADDON if hasattr(e, "uid")),
        earlier_for_addon, addon_world, lambda s: addon.AddonUnwanted(s.uid),
        wanted("d1", minute=120, uid="c1.9"),
    ),
}  # fmt: skip


@pytest.fixture(params=ENTITIES.values(), ids=ENTITIES)
def entity(request: pytest.FixtureRequest) -> Entity:
    """Each of them in turn."""
    return request.param


@pytest.fixture(params=("cluster", "adopted"))
def clusters(request: pytest.FixtureRequest) -> Entity:
    """The one kind whose loss costs money: founded, and taken in."""
    return ENTITIES[request.param]
