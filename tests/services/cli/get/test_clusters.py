"""`alate get clusters` shows a cluster as its Colony's status does, and what it has cost by now."""

import asyncio
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from events.bus import Message, Stored
from events.memory.bus import MemoryBus
from schemas import addon, cluster, teardown
from schemas.inventory import PoolSeen
from schemas.registry import declared
from schemas.teardown import Skipped
from schemas.wish import Wish
from services.cli.get.kinds import KINDS
from services.cli.get.show import Selection, get
from services.errors import Failed
from tests.services.gateway.known import SEEN, is_, put_on

KIND = KINDS["clusters"]
HOUR_AGO = datetime.now(UTC) - timedelta(hours=1)
READY = is_(cluster.Ready, billed_since=HOUR_AGO)
APPLIED = put_on(addon.Applied)
SILENT = msgspec.structs.replace(SEEN, known=False, fresh_since=datetime(2026, 1, 1, 11, tzinfo=UTC))
LEFT = Skipped(step="Cleaning", reason="its API is unreachable", left="load balancers and volumes of the cluster")
DRAINING = is_(teardown.Draining, reason="TimeToLive", blocked="Job default/train still has 2 pods")


def subject(said):
    name = f"train-a.{said.addon}" if isinstance(said, addon.AddonState) else "train-a"
    return declared(type(said)).at("acme", name)


def stored(said):
    return Stored(subject(said), msgspec.json.encode(said))


def shown(*states, only=None):
    items = [item for state in states for item in KIND.items(stored(state))]
    some = items if only is None else [items[only]]
    rows = KIND.arranged(some, items)
    return [dict(zip(KIND.columns, KIND.row(row, datetime.now(UTC)), strict=True)) for row in rows]


def test_a_cluster_that_drains_is_not_shown_as_ready_and_says_what_it_waits_for():
    (row,) = shown(READY, DRAINING)
    assert row["STATE"] == "draining"
    assert (
        "(its time to live is over): draining, at $20.50 an hour: Job default/train still has 2 pods" in row["MESSAGE"]
    )


def test_news_of_an_end_show_the_clusters_row():
    (row,) = shown(READY, DRAINING, only=1)
    assert (row["NAME"], row["STATE"]) == ("train-a", "draining")


def test_what_has_no_end_in_sight_or_anothers_shows_its_own_state():
    for end in (is_(teardown.Armed), is_(teardown.Draining, uid="u0")):
        (row,) = shown(READY, APPLIED, end)
        assert (row["STATE"], row["MESSAGE"]) == ("ready", "")


def test_the_cost_is_what_it_is_now_and_not_what_it_was_at_the_last_transition():
    (row,) = shown(READY)
    assert float(row["COST"]) >= 22.0


def test_a_state_that_this_release_cannot_read_is_shown_as_it_was_said():
    (item,) = KIND.items(Stored("cluster.ready.acme.train-a", b'{"message":"of a later release","costUsd":3.0}'))
    assert KIND.row(KIND.arranged([item], [item])[0], datetime.now(UTC))[1::5] == ("ready", "3.00")


@pytest.mark.parametrize(
    ("said", "state", "told"),
    [
        ((APPLIED, SILENT), "unknown", "its API is unreachable since 2026-01-01 11:00:00Z"),
        ((SEEN,), "applying-addons", "waiting for driver"),
        ((SEEN, put_on(addon.Degraded)), "addons-degraded", "add-on driver: bad manifest"),
    ],
)
def test_a_cluster_that_is_not_heard_or_lacks_an_addon_is_not_shown_as_ready(said, state, told):
    (row,) = shown(READY, *said)
    assert row["STATE"] == state
    assert row["MESSAGE"].startswith(told)
    assert shown(READY, *said, only=-1) == [row]


def test_a_cluster_whose_nodes_bear_another_pool_says_how_to_name_them():
    others = msgspec.structs.replace(SEEN, pools={"other": PoolSeen(nodes=2, accelerators=16)})
    (row,) = shown(is_(cluster.Provisioned, lent=True), others)
    assert "nodes belong to pool other, not " in row["MESSAGE"]


def test_what_is_seen_or_said_of_another_incarnation_changes_nothing():
    others = (msgspec.structs.replace(SILENT, uid="u0"), put_on(addon.Degraded, addon="old", uid="u0"))
    (row,) = shown(READY, APPLIED, *others)
    assert (row["STATE"], row["MESSAGE"]) == ("ready", "")


def hidden(*states):
    items = [item for state in states for item in KIND.items(stored(state))]
    return [KIND.over(each) for each in KIND.arranged(items, items)] == [True]


def test_what_an_end_may_have_left_is_named_and_never_hidden():
    ended = is_(cluster.Released)
    assert hidden(ended, is_(teardown.Gone))
    assert not hidden(ended, is_(teardown.Verifying))
    assert not hidden(ended, is_(teardown.Gone, skipped=(LEFT,)))
    (row,) = shown(ended, is_(teardown.Gone, skipped=(LEFT,)))
    assert row["STATE"] == "released"
    assert "Cleaning was given up (its API is unreachable): load balancers and volumes" in row["MESSAGE"]


class There:
    """A stack with this bus."""

    def __init__(self, bus):
        self._bus = bus

    @asynccontextmanager
    async def bus(self):
        yield self._bus


async def say(bus, said):
    await bus.publish(Message(subject(said), msgspec.json.encode(said)))


@pytest.mark.parametrize(
    ("kind", "asked", "hint"),
    [
        ("addons", "trian/a", "did you mean train/a?"),
        ("addons", "drivr", "did you mean driver?"),
        ("addons", "xyz", "known are driver, solo/x, train/a"),
        ("addons", "solo/x", "`alate get addons` shows what there is"),
        ("clusters", "trian/a", "did you mean train/a?"),
    ],
)
async def test_what_has_nothing_of_a_name_is_told_with_the_names_that_there_are(kind, asked, hint):
    bus = MemoryBus()
    for said in (READY, APPLIED, is_(teardown.Armed)):
        await say(bus, said)
    for wish in (READY.wish, msgspec.structs.replace(READY.wish, colony="solo", cluster="x")):
        await bus.publish(Message(declared(Wish).at("acme", wish.name), msgspec.json.encode(wish)))
    with pytest.raises(Failed) as failed:
        await get(There(bus), kind, Selection("acme", name=asked), "table")
    assert str(failed.value) == f"there is no {asked} among the {kind}: {hint}"


async def test_whoever_watches_is_told_that_a_cluster_is_not_heard_and_nothing_of_its_pods():
    bus, lines = MemoryBus(), asyncio.Queue()
    for said in (READY, APPLIED, SEEN):
        await say(bus, said)
    looks = asyncio.create_task(get(There(bus), "clusters", Selection("acme", watch=True), "table", lines.put_nowait))
    assert "train/a   ready" in await lines.get()
    await say(bus, msgspec.structs.replace(SEEN, pods=3, allocated=8, idle_since=None, revision=2))
    await say(bus, SILENT)
    assert "its API is unreachable" in await lines.get()
    looks.cancel()
    await asyncio.gather(looks, return_exceptions=True)
