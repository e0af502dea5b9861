"""`alate explain` shows why a cluster is where it is, read back from its history on the bus."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from events.bus import Bus
from schemas.cluster import LIFECYCLE, ClusterState
from schemas.registry import Stream, declared
from schemas.subjects import Key
from schemas.wish import cluster_name
from services.bad import BadInput, Failed
from services.cli.placing.tables import accounted
from services.cli.show import Write, dumped
from services.provisioning.account import account

STATES: dict[str, Any] = {declared(state).event: state for state in LIFECYCLE.states}


def name_of(asked: str) -> str:
    """A cluster's name, from ``COLONY/CLUSTER`` or as it is. Raises BadInput."""
    colony, slash, cluster = asked.partition("/")
    if not colony or (slash and not cluster) or "/" in cluster:
        raise BadInput(f"{asked!r} names no cluster: must be COLONY/CLUSTER, or a name of `alate get clusters`")
    return cluster_name(colony, cluster) if slash else colony


async def show(bus: Bus, tenant: str, name: str, *, as_json: bool, write: Write) -> None:
    """Show it. Raises Failed."""
    told = msgspec.to_builtins(account(await lived(bus, tenant, name), datetime.now(UTC)))
    write(dumped(told) if as_json else accounted(told))


async def lived(bus: Bus, tenant: str, name: str) -> list[ClusterState]:
    """Every state of a cluster that is kept, oldest first. Raises Failed if there is none."""
    kept = await bus.read(Stream.EVENTS, Key("cluster", tenant, name).history)
    if not kept:
        raise Failed(f"no cluster {name} in namespace {tenant} has a history: see `alate get clusters`")
    return [msgspec.json.decode(each.data, type=STATES[each.subject.split(".")[1]]) for each in kept]
