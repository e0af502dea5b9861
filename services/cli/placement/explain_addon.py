"""`alate explain ADDON` shows why an add-on is not applied: the chain of add-ons up to the first that blocks."""

from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec

from events.bus import Bus
from schemas.addon import AddonState, addon_name, profile_of
from schemas.cluster import ClusterState
from schemas.profile_addons import ProfileAddons
from schemas.registry import Stream, declared
from schemas.subjects import Key
from services.cli.get.labels import label
from services.cli.output.cells import age
from services.cli.output.render import Form, TextWriter, document
from services.cli.placement.blocking import ChainLink, chain, sentence
from services.cli.placement.explain import facts, last
from services.errors import Failed
from services.gateway.preview import message, phase
from services.queries.item import Item


async def show(bus: Bus, key: Key, *, form: Form, write: TextWriter) -> None:
    """Show it. Raises Failed."""
    tenant, (cluster, _, addon) = key.tenant, key.name.partition(".")
    owner = await last(bus, Key("cluster", tenant, cluster))
    state = owner if isinstance(owner, ClusterState) else None
    wanted = await _wanted(bus, tenant, cluster)
    asked = [*(each.name for each in state.wish.addons)] if state is not None else []
    known = await _known(bus, tenant, cluster, {addon, *wanted, *asked})
    if addon not in known and addon not in wanted and addon not in asked:
        there = f": it has {', '.join(sorted({*known, *wanted, *asked}))}" if known or wanted or asked else ""
        raise Failed(f"there is no add-on {addon} on cluster {cluster} in namespace {tenant}{there}")
    links = chain(known, addon)
    why = sentence(links, await _cluster(bus, state) if state is not None else "")
    named = label(state.wish.colony if state is not None else "", cluster)
    told = {
        "addon": addon,
        "profile": profile_of(addon),
        "cluster": named,
        "why": why,
        "chain": list(map(_item, links)),
    }
    write(_written(named, why, links) if form == "table" else document(told, form))


async def _wanted(bus: Bus, tenant: str, cluster: str) -> tuple[str, ...]:
    """Full names of the add-ons that profiles want it to have."""
    stored = await bus.last(Stream.LEVELS, declared(ProfileAddons).at(tenant, cluster))
    found = msgspec.json.decode(stored.data, type=ProfileAddons) if stored is not None and stored.data else None
    return tuple(each.name for each in found.addons) if found is not None else ()


async def _known(bus: Bus, tenant: str, cluster: str, names: Iterable[str]) -> dict[str, AddonState]:
    """The states of these add-ons, and of all that they depend on."""
    known: dict[str, AddonState] = {}
    left, seen = list(names), set[str]()
    while left:
        name = left.pop()
        if name in seen:
            continue
        seen.add(name)
        state = await last(bus, Key("addon", tenant, addon_name(cluster, name)))
        if isinstance(state, AddonState):
            known[name] = state
            left += state.after
    return known


async def _cluster(bus: Bus, state: ClusterState) -> str:
    """What its cluster does, and waits for."""
    known = await facts(bus, state)
    return ": ".join(filter(None, (f"it is {phase(known)}", message(known))))


def _item(link: ChainLink) -> Item:
    since = link.state.since if link.state is not None else None
    return {"addon": link.addon, "state": link.event, "since": since, "message": link.message}


def _written(cluster: str, why: str, links: list[ChainLink]) -> str:
    now = datetime.now(UTC)
    lines = [f"{cluster}: {why}"]
    for depth, each in enumerate(links if len(links) > 1 else ()):
        old = f" for {age(each.state.since, now)}" if each.state is not None else ""
        lines.append(f"{'  ' * depth}{'-> ' if depth else ''}{each.addon} ({each.event}{old})")
    return "".join(f"{line}\n" for line in lines)
