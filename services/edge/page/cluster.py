"""What the page of one cluster shows: its row, every transition with its cause, its cost over time and its nodes."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec

from events.bus import Bus, Unavailable
from events.errors import Denied
from schemas import addon, cluster, teardown
from schemas.cluster import ClusterState, Released
from schemas.questions import InventoryAnswer, InventoryQuery
from schemas.registry import UNREADABLE, declared
from services.colony.accounting import billed_attempt, so_far
from services.edge.page.addons import AddonOnPage, addons_on_page
from services.edge.page.causes import Cause, TypedTurn, causes, newest_values
from services.edge.page.colonies import Colonies, ColonyView
from services.eventlog.history import HistoryEntry, history
from services.queries.answer import SUBJECT

DECODERS: dict[tuple[str, str], msgspec.json.Decoder[Any]] = {
    (life.domain, declared(state).event): msgspec.json.Decoder(state)
    for life in (cluster.LIFECYCLE, teardown.LIFECYCLE, addon.LIFECYCLE)
    for state in life.states
}


class Transition(msgspec.Struct, frozen=True, rename="camel"):
    """One entity entered a state."""

    at: datetime
    entity: str
    """``cluster``, ``teardown`` or the name of an add-on."""
    state: str
    seconds: float | None
    """Until the next transition of the entity; None while it lasts."""
    position: str
    id: str
    cause: Cause


class CostPoint(msgspec.Struct, frozen=True, array_like=True):
    """What the cluster had cost at a time, and what it cost per hour from then on (USD)."""

    at: datetime
    cost: float
    price: float


class ClusterPage(msgspec.Struct, frozen=True, rename="camel"):
    """The history of a cluster, its nodes, and what its Colony shows of it."""

    tenant: str
    name: str
    colony: str
    """Empty where no state can be read."""
    cluster: str
    transitions: tuple[Transition, ...]
    costs: tuple[CostPoint, ...]
    nodes: tuple[msgspec.Raw, ...]
    """As `alate get nodes -o json` shows them."""
    addons: tuple[AddonOnPage, ...]
    view: ColonyView | None = None
    """None where the Colony is gone, or cannot be read now."""


async def cluster_page(bus: Bus, colonies: Colonies, tenant: str, name: str) -> ClusterPage:
    """Read all of it. Raises Failed if there never was such a cluster."""
    entries = [TypedTurn(turn, typed(turn)) for turn in await history(bus, tenant, name)]
    states = [entry.state for entry in entries if isinstance(entry.state, ClusterState)]
    wish = states[-1].wish if states else None
    named = await newest_values(bus, tenant, name, frozenset(_objects(states, name)))
    why = causes(entries, named)
    uid = states[-1].uid if states else ""
    return ClusterPage(
        tenant=tenant,
        name=name,
        colony=wish.colony if wish else "",
        cluster=wish.cluster if wish else "",
        addons=await addons_on_page(bus, colonies.kube, (tenant, name), (each.state for each in entries), uid),
        view=await colonies.view(tenant, wish.colony, wish.cluster) if wish else None,
        transitions=tuple(_transition(entry.turn, cause) for entry, cause in zip(entries, why, strict=True)),
        costs=tuple(costs(states)),
        nodes=await _nodes(bus, tenant, name) if states and not isinstance(states[-1], Released) else (),
    )


def typed(turn: HistoryEntry) -> object:
    """The state of a transition; None for one that this release cannot read."""
    decoder = DECODERS.get((turn.key.domain, turn.event))
    try:
        return decoder.decode(turn.record.stored.data) if decoder else None
    except UNREADABLE:
        return None


def costs(states: list[ClusterState]) -> Iterator[CostPoint]:
    """The cost at every transition of a cluster, up to now while the last one lasts."""
    for state in states:
        attempt, since = billed_attempt(state)
        price = attempt.placement.price_per_hour if attempt and since else 0.0
        yield CostPoint(state.since, so_far(state, state.since), price)


def _transition(turn: HistoryEntry, cause: Cause) -> Transition:
    entity = turn.key.name.partition(".")[2] or turn.key.domain
    return Transition(turn.state.since, entity, turn.event, turn.seconds, turn.record.place, turn.record.id, cause)


def _objects(states: list[ClusterState], name: str) -> Iterator[tuple[str, str]]:
    """Back end and name of the objects that were made for it, one an attempt."""
    for state in states:
        attempt, _ = billed_attempt(state)
        if attempt is not None:
            yield attempt.backend or state.wish.need.backend, attempt.object_name(name)


async def _nodes(bus: Bus, tenant: str, name: str) -> tuple[msgspec.Raw, ...]:
    """Its nodes as the inventory knows them; none while the inventory does not answer."""
    question = msgspec.json.encode(InventoryQuery(tenant=tenant, cluster=name))
    try:
        answer = await bus.ask(f"{SUBJECT}nodes", question)
    except (Unavailable, Denied):
        return ()
    return msgspec.json.decode(answer, type=InventoryAnswer).items
