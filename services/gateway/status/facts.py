"""What is known of one cluster of a Colony from every service, and its phase."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from schemas.accelerators import serves
from schemas.addon import AddonState, Applied, Degraded
from schemas.cluster import ClusterState, Placed, Ready, Released
from schemas.infra import InfraSeen
from schemas.inventory import ClusterSeen, PoolSeen
from schemas.placement import Placement
from schemas.registry import declared
from schemas.teardown import Ending, TeardownState
from schemas.wish import AddonRef, Need, Wish
from services.clouds.node_config import POOL
from services.colony.accounting import by_pool, counted_for, unknown_pools, usable


@dataclass(frozen=True)
class Facts:
    """What is known of one cluster of the Colony."""

    wish: Wish
    refused: str = ""
    """Why its wish cannot be followed at all; empty if it can."""
    cluster: ClusterState | None = None
    teardown: TeardownState | None = None
    addons: tuple[AddonState, ...] = ()
    """The states of its add-ons, those of profiles too."""
    seen: ClusterSeen | None = None
    infra: InfraSeen | None = None
    dropped: bool = False
    """The Colony stays, and its spec names this cluster no longer."""
    unseen: str = ""
    """Why it is not known which of its objects exist, if it has no history."""
    profile_addons: tuple[AddonRef, ...] = ()
    """What profiles want this incarnation to have."""


@dataclass(frozen=True)
class ConditionState:
    """A condition without its time: whether it holds, and why."""

    holds: bool | None
    """None: unknown."""
    reason: str
    """CamelCase, for programs."""
    message: str = ""
    """One sentence, for people."""


@dataclass(frozen=True)
class KubeconfigStatus:
    """What the status shows of the Secret with the kubeconfig of all clusters."""

    secret: str | None = None
    """Its name, if it exists."""
    condition: ConditionState | None = None
    """Whether it is as it has to be; None if no cluster can be opened."""


def current_inventory(facts: Facts, state: Placed) -> ClusterSeen | None:
    """What the inventory counted on the cluster of the current attempt; None if it has not."""
    seen = facts.seen
    known = seen is not None and seen.uid == state.uid and seen.attempt in (0, state.attempt.number)
    return seen if known else None


def endpoint(facts: Facts, state: Placed) -> str:
    """The URL of the API server of the current attempt; empty if the back end does not publish it."""
    infra = facts.infra
    known = infra is not None and (infra.uid, infra.attempt) == (state.uid, state.attempt.number)
    return infra.endpoint if infra is not None and known else ""


def wanted(facts: Facts) -> Need | Placement:
    """The nodes and accelerators that the cluster shall have: as its owner decided, or else as its wish asks."""
    state, wish = facts.cluster, facts.wish
    if not isinstance(state, Placed) or has_newer_wish(facts):
        return wish.need
    return state.wanted or state.attempt.placement


def has_newer_wish(facts: Facts) -> bool:
    """Whether the Colony asks for something that the owner of the cluster has not decided on yet."""
    state, wish = facts.cluster, facts.wish
    if isinstance(state, Released):
        return wish.asks_anew(state.wish)
    return state is not None and wish.newer_than(state.wish) and wish.need != state.wish.need


def without_microseconds(moment: datetime) -> datetime:
    """A time as a status shows it."""
    return moment.replace(microsecond=0)


def written_time(moment: datetime) -> str:
    """A time as a message shows it: absolute, so that a message changes only when the facts do."""
    return f"{moment:%Y-%m-%d %H:%M:%S}Z"


def running_teardown(facts: Facts) -> Ending | None:
    """Its teardown while it runs; None before it begins and after nothing is left."""
    return facts.teardown if isinstance(facts.teardown, Ending) else None


def unreachable(facts: Facts) -> ClusterSeen | None:
    """What was last seen of a cluster whose API is unreachable; None if it is reachable, or never was."""
    seen = current_inventory(facts, facts.cluster) if isinstance(facts.cluster, Placed) else None
    return None if seen is None or seen.known else seen


def missing_addons(facts: Facts) -> list[AddonRef]:
    """The add-ons that are not applied as the Colony and the profiles ask for them."""
    there = {(one.addon, one.digest, one.sources) for one in facts.addons if isinstance(one, Applied)}
    asked = (*facts.wish.addons, *facts.profile_addons)
    return [each for each in asked if (each.name, each.digest, each.sources) not in there]


def blocking_addons(facts: Facts) -> list[AddonRef]:
    """The missing add-ons without which the cluster is not ready."""
    return [each for each in missing_addons(facts) if each.required]


UNKNOWN, WITHOUT_ADDONS, ADDONS_DEGRADED = "Unknown", "ApplyingAddons", "AddonsDegraded"
"""Phases of a cluster that its owner calls ready, and that nobody can use as it was asked for."""
STUCK = "Stuck"
PHASES = (
    STUCK,
    "Stalled",
    ADDONS_DEGRADED,
    "Waiting",
    "Pending",
    "Requested",
    "Placing",
    "Launching",
    "Provisioned",
    WITHOUT_ADDONS,
    "Hibernated",
    "Deleting",
    "Draining",
    "Cleaning",
    "Releasing",
    "Verifying",
    UNKNOWN,
    "Ready",
    "Released",
)
"""From the phase that needs people most to the one that needs them least."""


def phase(facts: Facts) -> str:
    """The state of its teardown once that has begun, or else the state of the cluster.

    A cluster that has ended and is asked for again is Pending; Ready is only one that is reachable and has all that is
    required.
    """
    if facts.refused:
        return "Stalled"
    state, end = facts.cluster, running_teardown(facts)
    if state is None or (isinstance(state, Released) and has_newer_wish(facts)):
        return "Pending"
    if end is not None:
        return declared(type(end)).phase
    if facts.wish.deleting and not isinstance(state, Released):
        return "Deleting"
    return _ready(facts) if isinstance(state, Ready) else declared(type(state)).phase


def _ready(facts: Facts) -> str:
    if unreachable(facts) is not None:
        return UNKNOWN
    blocking = {each.name for each in blocking_addons(facts)}
    if not blocking:
        return declared(Ready).phase
    degraded = any(isinstance(one, Degraded) and one.addon in blocking for one in facts.addons)
    return ADDONS_DEGRADED if degraded else WITHOUT_ADDONS


class PoolCount(NamedTuple):
    """The nodes and accelerators of a pool; None: nothing was counted."""

    name: str
    nodes_ready: int | None
    nodes_wanted: int
    accelerators_ready: int | None
    accelerators_wanted: int


def pools(facts: Facts) -> list[PoolCount]:
    """What each pool has, in the order of the Colony."""
    there = _counted_pools(facts)
    return [
        PoolCount(
            name=name,
            nodes_ready=there[name].nodes if name in there else None,
            nodes_wanted=nodes,
            accelerators_ready=usable(there[name], (model,)) if name in there else None,
            accelerators_wanted=nodes * each,
        )
        for name, nodes, each, model in _wanted(facts)
    ]


def ready_totals(facts: Facts, state: Placed, seen: ClusterSeen) -> tuple[int, int]:
    """Ready nodes of its pools, and the accelerators on them that are of the models that were bought."""
    there = counted_for(state, seen)
    return there.nodes, usable(there, {model for _, _, _, model in _wanted(facts)})


def ignored_nodes(facts: Facts, state: Placed, seen: ClusterSeen) -> str:
    """The nodes and accelerators that do not count, and what to do about that; empty if all count."""
    notes = []
    names, others = [name for name, _, _, _ in _wanted(facts)], unknown_pools(state, seen)
    if state.lent and others:
        mine, theirs = " or ".join(names), " and ".join(others)
        notes.append(
            f"nodes belong to pool {theirs}, not {mine}: name the pool {others[0]} or label the nodes {POOL}={names[0]}"
        )
    there, models = counted_for(state, seen), {model for _, _, _, model in _wanted(facts)}
    strange = [
        f"{number} {model}" for model, number in there.by_model.items() if not any(serves(model, one) for one in models)
    ]
    notes += [f"{', '.join(strange)} there, bought were {', '.join(sorted(models))}"] if strange else []
    return "".join(f"; {each}" for each in notes)


def short_pools(facts: Facts) -> str:
    """What each of several pools lacks; empty if there is one pool, or nothing is lacking."""
    shown = pools(facts)
    return "".join(f"; pool {pool.name} has {what}" for pool in shown if len(shown) > 1 and (what := _shortage(pool)))


def _shortage(pool: PoolCount) -> str:
    if pool.nodes_ready is not None and pool.nodes_ready < pool.nodes_wanted:
        return f"{pool.nodes_ready} of {pool.nodes_wanted} nodes"
    if pool.accelerators_ready is not None and pool.accelerators_ready < pool.accelerators_wanted:
        return f"{pool.accelerators_ready} of {pool.accelerators_wanted} accelerators"
    return ""


def _counted_pools(facts: Facts) -> Mapping[str, PoolSeen]:
    state, names = facts.cluster, [name for name, _, _, _ in _wanted(facts)]
    seen = current_inventory(facts, state) if isinstance(state, Placed) else None
    if not isinstance(state, Placed) or seen is None:
        return dict.fromkeys(names, PoolSeen())
    return by_pool(state, seen, names)


def _wanted(facts: Facts) -> Iterator[tuple[str, int, int, str]]:
    """Of each pool its name, its nodes, the accelerators of one node, and their model."""
    shall = wanted(facts)
    if isinstance(shall, Placement):
        yield from ((lot.pool, lot.nodes, lot.accelerators_per_node, lot.accelerator) for lot in shall.lots)
    else:
        yield from (
            (pool.name, 0 if shall.hibernate else pool.nodes, pool.accelerators_per_node, pool.accelerator)
            for pool in shall.pools
        )
