"""A story as services would tell it, said on a bus in memory."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from events.bus import Message
from events.memory.bus import MemoryBus
from schemas import addon, cluster, teardown
from schemas.entity import State
from schemas.inventory import ClusterSeen, NodeSeen
from schemas.placement import Attempt, Placement
from schemas.registry import declared
from schemas.subjects import Key, names_of
from schemas.wish import AddonRef, Limits, Need, Wish
from services.cli.demo.story import DemoEvent, Story
from tests.samples import LOT, POOL

# Before 3.14 pytest-asyncio's look at "the loop before" makes one that nobody closes; None says there is none.
asyncio.set_event_loop(None)

START = datetime(2026, 1, 1, tzinfo=UTC)
WISH = Wish(
    tenant="default",
    colony="train",
    cluster="gpu",
    uid="c1",
    generation=1,
    need=Need(pools=(POOL,)),
    limits=Limits(idle_after_seconds=5.0, warn_before_seconds=1.0),
    addons=(AddonRef("job", "abc"),),
)
ATTEMPT = Attempt(number=1, placement=Placement(cloud="aws", region="us-east-1", lots=(LOT,)))
CLUSTER = Key("cluster", "default", "train-gpu")
TEARDOWN = Key("teardown", "default", "train-gpu")
ADDON = Key("addon", "default", "train-gpu.job")


def _at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def _cluster() -> list[State]:
    now: dict[str, Any] = {"uid": "c1.1", "wish": WISH}
    founded: dict[str, Any] = now | {"attempt": ATTEMPT, "billed_since": _at(1), "next_best_per_hour": 30.0}
    return [
        cluster.Pending(**now, revision=1, since=_at(0)),
        cluster.Launching(**founded, revision=2, since=_at(1), deadline=_at(900)),
        cluster.Provisioned(**founded, revision=3, since=_at(3), deadline=_at(900), kubeconfig="k"),
        cluster.Ready(**founded, revision=4, since=_at(4), kubeconfig="k"),
        cluster.Releasing(**now, attempt=ATTEMPT, billed_since=_at(1), reason="Idle", revision=5, since=_at(14)),
        cluster.Released(**now, reason="Idle", cost_usd=0.5, revision=6, since=_at(16)),
    ]


def _teardown() -> list[State]:
    now: dict[str, Any] = {"uid": "c1.1", "wish": WISH, "ready_since": _at(4)}
    return [
        teardown.Armed(**now, revision=1, since=_at(4)),
        teardown.Warned(**now, reason="Idle", until=_at(13), revision=2, since=_at(12)),
        teardown.Draining(**now, reason="Idle", deadline=_at(900), revision=3, since=_at(13)),
        teardown.Gone(**now, reason="Idle", proof={"clusters": 0}, revision=4, since=_at(17)),
    ]


def _addon() -> list[State]:
    now: dict[str, Any] = {
        "uid": "c1.1",
        "tenant": "default",
        "colony": "train",
        "cluster": "train-gpu",
        "addon": "job",
        "digest": "abc",
    }
    return [
        addon.Applying(**now, until=_at(600), revision=1, since=_at(3)),
        addon.Applied(**now, revision=2, since=_at(10)),
        addon.Withdrawn(**now, revision=3, since=_at(14)),
    ]


def _levels() -> list[tuple[float, str, msgspec.Struct]]:
    nodes = [
        (
            3 + n,
            f"inventory.nodes.default.train-gpu.n{n}",
            NodeSeen(uid="c1.1", node=f"n{n}", ready=True, accelerator="H100", accelerators=8),
        )
        for n in (0, 1)
    ]
    whole = ClusterSeen(cluster="train-gpu", uid="c1.1", nodes=2, accelerators=16)
    busy = msgspec.structs.replace(whole, allocated=16, pods=2)
    idle = msgspec.structs.replace(whole, finished=2, idle_since=_at(8))
    return [
        *nodes,
        *((at, "inventory.cluster.default.train-gpu", seen) for at, seen in ((4.1, whole), (4.2, busy), (8, idle))),
    ]


def messages() -> list[tuple[float, str, msgspec.Struct]]:
    """When, on which subject, what; in the order of time."""
    histories = ((CLUSTER, _cluster()), (TEARDOWN, _teardown()), (ADDON, _addon()))
    states = [
        ((state.since - START).total_seconds(), key.state(declared(type(state)).event), state)
        for key, history in histories
        for state in history
    ]
    return sorted([*states, *_levels()], key=lambda message: message[0])


@pytest.fixture
def clock() -> Callable[[float], datetime]:
    """The time so many seconds after the story began."""
    return _at


@pytest.fixture
async def told() -> Callable[[float], Story]:
    """The story as far as it had come at a time, heard from a bus."""
    bus = MemoryBus()
    stored = []
    for at, subject, content in messages():
        sequence = await bus.publish(Message(subject, msgspec.json.encode(content)))
        last = await bus.last("LEVELS" if subject.startswith("inventory") else "EVENTS", subject)
        assert last is not None
        assert last.sequence == sequence
        stored.append((at, last))

    def until(seconds: float) -> Story:
        story = Story()
        for at, message in stored:
            if at <= seconds:
                story.receive(message)
        return story

    return until


@pytest.fixture
def heard() -> list[tuple[float, DemoEvent]]:
    """The same, message by message, with when it was said."""
    return [(at, DemoEvent(names_of(subject), content, _at(at))) for at, subject, content in messages()]


@pytest.fixture
def attempt() -> Attempt:
    """The one try of the story: two machines of one kind."""
    return ATTEMPT
