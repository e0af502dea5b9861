"""What the page is told of a message: where it belongs, and what it changes; never what it carries."""

from collections.abc import Callable, Mapping
from datetime import datetime

import msgspec

from events.bus import Stored
from schemas.generate.discover import lifecycles
from schemas.placement import price
from schemas.registry import declarations
from schemas.unreadable import UNREADABLE
from services.eventlog.filters import about
from services.eventlog.record import Said

lifecycles()  # finds, and so declares, every message
CHANGING = frozenset({"EVENTS", "LEVELS"})
"""Streams that say something of the fleet."""
LACKING = frozenset({"applying", "degraded"})
"""States of an add-on whose message says what it lacks."""
BY_HEAD = frozenset({"LEVELS", "INTAKE"})
"""Streams whose subjects are told apart by two tokens."""


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one state of a cluster, of its teardown or of an add-on says of the cluster for the fleet."""

    tenant: str
    name: str
    state: str = ""
    since: datetime | None = None
    price: float = 0.0
    """USD per hour, the whole cluster."""
    cost: float = 0.0
    """USD up to `billed_since`; since then it costs what the price says."""
    billed_since: datetime | None = None
    place: str = ""
    """Cloud and region."""
    machines: str = ""
    """E.g. ``2 x 8 H100``."""
    reason: str = ""
    ends: str = ""
    """The state of its teardown."""
    blocked: str = ""
    """What its end waits for."""
    idle_since: datetime | None = None
    heard: bool | None = None
    """Whether its API is heard; None: this says nothing of that."""
    addons: dict[str, str] = {}
    """What is wrong with an add-on, by name; empty once nothing is."""


class Brief(msgspec.Struct, frozen=True, omit_defaults=True):
    """One message."""

    place: str
    """Stream and sequence, as `alate events get` takes it."""
    at: datetime
    lane: str
    event: str
    subject: str
    tenant: str = ""
    name: str = ""
    """The cluster, or the Colony, it is about."""
    id: str = ""
    cause: str = ""
    change: Change | None = None


class Lane(msgspec.Struct, frozen=True):
    """One line of the page: what one service says of one kind of thing."""

    lane: str
    owner: str


class _Lot(msgspec.Struct, frozen=True):
    accelerator: str = ""
    accelerators_per_node: int = 0
    nodes: int = 0
    extra: int = 0
    price_per_hour: float = 0.0


class _Placement(msgspec.Struct, frozen=True):
    cloud: str = ""
    region: str = ""
    lots: tuple[_Lot, ...] = ()
    control_plane_per_hour: float = 0.0


class _Attempt(msgspec.Struct, frozen=True):
    placement: _Placement = _Placement()


class _State(msgspec.Struct, frozen=True):
    """What of a state counts here; read alone, as ten thousand of them are kept."""

    since: datetime | None = None
    attempt: _Attempt | None = None
    reason: str = ""
    why: str = ""
    because: str = ""
    blocked: str = ""
    message: str = ""
    idle_since: datetime | None = None
    known: bool = True
    cost_usd: float = 0.0
    billed_since: datetime | None = None
    addon: str = ""


_state = msgspec.json.Decoder(_State).decode


def lane_of(stream: str, subject: str) -> str:
    """The lane a subject belongs to."""
    tokens = subject.split(".", 2)
    return ".".join(tokens[:2]) if stream in BY_HEAD else tokens[0]


def lanes() -> tuple[Lane, ...]:
    """Every lane there can be, by owner."""
    found = {lane_of(each.stream, each.subject): each.owner for each in declarations()}
    rows = [Lane(lane, owner) for lane, owner in found.items()]
    return (*sorted((*rows, Lane("hook", "edge")), key=lambda row: (row.owner, row.lane)), Lane("dlq", "dead letters"))


def brief(stream: str, stored: Stored) -> Brief:
    """Read one message; of what cannot be read the subject still tells."""
    said = Said(stream, stored)
    tenant, name = about(said)
    domain, event = (*stored.subject.split("."), "")[:2]
    return Brief(
        place=said.place,
        at=stored.time,
        lane=lane_of(stream, stored.subject),
        event=event,
        subject=stored.subject,
        tenant=tenant,
        name=name,
        id=said.id,
        cause=said.cause,
        change=change(domain, event, tenant, name, stored.data) if stream in CHANGING else None,
    )


def change(domain: str, event: str, tenant: str, name: str, data: bytes) -> Change | None:
    """What a state says for the fleet; None if it says nothing, or cannot be read."""
    make = _CHANGES.get(f"{domain}.{event}") or _CHANGES.get(domain)
    try:
        return make(event, tenant, name, _state(data)) if make else None
    except UNREADABLE:  # whatever stands there has its dead letter: the fleet shows what it knew
        return None


def _cluster(event: str, tenant: str, name: str, state: _State) -> Change:
    placement = state.attempt.placement if state.attempt else _Placement()
    return Change(
        tenant,
        name,
        state=event,
        since=state.since,
        price=price(placement.lots, placement.control_plane_per_hour),
        cost=state.cost_usd,
        billed_since=state.billed_since,
        place=f"{placement.cloud} {placement.region}".strip(),
        machines=" + ".join(f"{lot.nodes} x {lot.accelerators_per_node} {lot.accelerator}" for lot in placement.lots),
        reason=state.reason or state.because,
    )


def _teardown(event: str, tenant: str, name: str, state: _State) -> Change:
    blocked = state.blocked or state.message
    return Change(tenant, name, ends=event, blocked=blocked, idle_since=state.idle_since, reason=state.why)


def _seen(_: str, tenant: str, name: str, seen: _State) -> Change:
    return Change(tenant, name, heard=seen.known)


def _addon(event: str, tenant: str, name: str, state: _State) -> Change | None:
    wrong = state.message if event in LACKING else ""
    return Change(tenant, name, addons={state.addon: wrong}) if state.addon else None


_CHANGES: Mapping[str, Callable[[str, str, str, _State], Change | None]] = {
    "addon": _addon,
    "cluster": _cluster,
    "teardown": _teardown,
    "inventory.cluster": _seen,
}
