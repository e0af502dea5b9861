"""`alate explain ADDON` shows why an add-on is not applied: the chain of add-ons up to the first that blocks."""

from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime

import msgspec

from events.bus import Bus
from events.errors import Fault
from events.kube.client import Object
from schemas.addon import AddonState, addon_name, profile_of
from schemas.cluster import ClusterState
from schemas.profile_addons import ProfileAddons
from schemas.registry import Stream, declared
from schemas.subjects import Key
from services.cli.connection import Connection
from services.cli.get.labels import label
from services.cli.get.unknown import unknown_cluster
from services.cli.output.cells import age
from services.cli.output.render import Form, TextWriter, document
from services.cli.placement.blocking import ChainLink, chain, sentence
from services.cli.placement.explain import facts, last
from services.clients.profiles import find_profile, rollout_hold, unselected
from services.errors import BadInput, Failed
from services.gateway.preview import message, phase
from services.kubernetes.name_list import nearest
from services.local.folder import Absent
from services.queries.item import Item

FindProfile = Callable[[str, str], Awaitable[Object | None]]
"""A profile by tenant and the name that an add-on's full name tells; None: it is not there. Raises as in `UNREAD`."""
UNREAD = (Fault, Failed, BadInput, Absent)
"""The Kubernetes API cannot be asked: the rest is told without it."""


async def show(bus: Bus, key: Key, *, find: FindProfile, form: Form, write: TextWriter) -> None:
    """Show it; `find` gives its profile. Raises Failed."""
    tenant, (cluster, _, addon) = key.tenant, key.name.partition(".")
    owner = await last(bus, Key("cluster", tenant, cluster))
    state = owner if isinstance(owner, ClusterState) else None
    level = await _level(bus, tenant, cluster)
    conflicts = {each.addon: str(each) for each in level.conflicts} if level is not None else {}
    wanted = [each.name for each in level.addons] if level is not None else []
    asked = [each.name for each in state.wish.addons] if state is not None else []
    known = await _known(bus, tenant, cluster, {addon, *wanted, *asked})
    there = {*known, *wanted, *asked, *conflicts}
    links = chain(known, addon)
    held = conflicts.get(links[-1].addon, "") or await _rollout(find, (tenant, cluster), links[-1].addon, level)
    if addon not in there and not held:
        if state is None and not there:
            raise Failed(await unknown_cluster(bus, tenant, cluster))
        raise Failed(await _absent(find, (tenant, cluster), addon, there))
    why = sentence(links, await _cluster(bus, state) if state is not None else "", held)
    named = label(state.wish.colony if state is not None else "", cluster)
    told = {
        "addon": addon,
        "profile": profile_of(addon),
        "cluster": named,
        "why": why,
        "held": held,
        "chain": list(map(_item, links)),
    }
    write(_written(named, why, links) if form == "table" else document(told, form))


async def profile_of_cluster(connection: Connection, tenant: str, profile: str) -> Object | None:
    """A profile that the management cluster of a stack has. Raises what `UNREAD` names."""
    async with connection.kube() as kube:
        return await find_profile(kube, tenant, profile)


async def _level(bus: Bus, tenant: str, cluster: str) -> ProfileAddons | None:
    """What profiles want it to have."""
    stored = await bus.last(Stream.LEVELS, declared(ProfileAddons).at(tenant, cluster))
    return msgspec.json.decode(stored.data, type=ProfileAddons) if stored is not None and stored.data else None


async def _rollout(find: FindProfile, cluster: tuple[str, str], addon: str, level: ProfileAddons | None) -> str:
    """How the rollout of its profile holds an add-on that the cluster has, or is to get, back."""
    profile = profile_of(addon)
    item = await _found(find, cluster[0], profile) if profile else None
    if item is None or all(each["name"] != addon.rpartition(".")[2] for each in item["spec"]["addons"]):
        return ""
    marks = level.rollouts if level is not None else {}
    given = {profile_of(each.name) for each in level.addons} if level is not None else set()
    lines = (item.get("status") or {}).get("clusters", ())
    if profile not in {*marks, *given} and all(each["name"] != "/".join(cluster) for each in lines):
        return ""
    hold = rollout_hold(item, marks.get(profile))
    return hold.why if hold is not None else ""


async def _absent(find: FindProfile, cluster: tuple[str, str], addon: str, there: Iterable[str]) -> str:
    """Why a cluster has no such add-on, and what to do about that."""
    tenant, name = cluster
    text = f"there is no add-on {addon} on cluster {name} in namespace {tenant}"
    more = nearest(addon, there) or "nor any other: `alate get addons -A` shows all"
    if not (profile := profile_of(addon)):
        return f"{text}: {more}"
    try:
        item = await find(tenant, profile)
    except UNREAD:
        return f"{text}: {more}"
    why = f"{text}; {unselected(item, profile, addon.rpartition('.')[2])}"
    return why if item is not None else f"{why}; {more}"


async def _found(find: FindProfile, tenant: str, profile: str) -> Object | None:
    try:
        return await find(tenant, profile)
    except UNREAD:
        return None


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
