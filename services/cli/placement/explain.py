"""`alate explain` shows why a cluster is where it is, from its history on the bus."""

from datetime import UTC, datetime

import msgspec

from events.bus import Bus, Stored
from schemas.addon import AddonState, addon_name
from schemas.classified_labels import ClassifiedLabel, ClassifiedLabels
from schemas.cluster import ClusterState
from schemas.entity import State
from schemas.inventory import ClusterSeen
from schemas.registry import Stream, declared
from schemas.subjects import Key
from schemas.teardown import TeardownState
from services.cli.get.clusters import STATES
from services.cli.get.labels import label
from services.cli.get.unknown import unknown_cluster
from services.cli.output.render import Form, TextWriter, document
from services.cli.placement.tables import accounted
from services.errors import Failed
from services.eventlog.explain import account
from services.gateway.preview import Facts, message, phase, skipped_steps


async def show(bus: Bus, tenant: str, name: str, *, form: Form, write: TextWriter) -> None:
    """Show it. Raises Failed."""
    history = await lived(bus, tenant, name)
    told = msgspec.to_builtins(account(history, datetime.now(UTC)))
    known = await facts(bus, history[-1])
    told |= {"name": label(told["colony"], told["name"]), "phase": phase(known), "now": now(known)}
    told["classified"] = msgspec.to_builtins(await _classified(bus, history[-1]))
    write(accounted(told) if form == "table" else document(told, form))


def now(known: Facts) -> str:
    """What is to be known beyond its own state: that it ends, is not heard, lacks add-ons, or has left something."""
    own = known.cluster is not None and phase(known) == declared(type(known.cluster)).phase
    left = skipped_steps(known.teardown) if known.teardown is not None else []
    return "; ".join(left) if own else f"{phase(known)}: {message(known)}"


async def facts(bus: Bus, state: ClusterState) -> Facts:
    """What is known of a cluster, as the gateway knows it; but for the words of its back end."""
    wish = state.wish
    end = await last(bus, Key("teardown", wish.tenant, wish.name))
    addons = [await last(bus, Key("addon", wish.tenant, addon_name(wish.name, each.name))) for each in wish.addons]
    seen = await bus.last(Stream.LEVELS, declared(ClusterSeen).at(wish.tenant, wish.name))
    return Facts(
        wish,
        cluster=state,
        teardown=end if isinstance(end, TeardownState) and end.uid == state.uid else None,
        addons=tuple(each for each in addons if isinstance(each, AddonState) and each.uid == state.uid),
        seen=msgspec.json.decode(seen.data, type=ClusterSeen) if seen and seen.data else None,
    )


async def _classified(bus: Bus, state: ClusterState) -> dict[str, ClassifiedLabel]:
    """The labels that classifiers give it."""
    stored = await bus.last(Stream.LEVELS, declared(ClassifiedLabels).at(state.wish.tenant, state.wish.name))
    level = msgspec.json.decode(stored.data, type=ClassifiedLabels) if stored is not None and stored.data else None
    return level.labels if level is not None and level.uid == state.uid else {}


async def last(bus: Bus, key: Key) -> State | None:
    """The last state of an entity; None if it has none."""
    stored = await bus.last(Stream.EVENTS, key.history)
    return _read(stored) if stored is not None else None


def _read(stored: Stored) -> State:
    domain, event, *_ = stored.subject.split(".")
    state: State = msgspec.json.decode(stored.data, type=STATES[domain, event])
    return state


async def lived(bus: Bus, tenant: str, name: str) -> list[ClusterState]:
    """Every state of a cluster that is kept, oldest first. Raises Failed if there is none."""
    kept = await bus.read(Stream.EVENTS, Key("cluster", tenant, name).history)
    if not kept:
        raise Failed(await unknown_cluster(bus, tenant, name))
    return [state for each in kept if isinstance(state := _read(each), ClusterState)]
