"""Addons as the runtime knows it: what it owns, hears, decides and does."""

from collections.abc import Iterator

import msgspec

from events.bus import Bus
from events.kube.client import Kube
from events.meters import Meters
from schemas import cluster, teardown
from schemas.addon import AddonUnwanted, AddonWanted, addon_name
from schemas.cluster import ClusterState, Released, Releasing, Stalled, Waiting, kubeconfig_of
from schemas.entity import State
from schemas.subjects import Key
from schemas.teardown import Cleaning, Ending
from services.addons.act import act
from services.addons.decide import decide
from services.addons.todo import todo
from services.clients.workload_clusters import Workloads
from services.runtime.loop import Service
from services.runtime.machine import Event
from services.runtime.read_model import ReadModel, entities
from services.runtime.subscriptions import subscribe, subscribe_all

Views = tuple[ReadModel[Key, State], ...]
NOT_FOR_LONG = (Releasing, Stalled, Waiting)
"""A cluster in one of these is no place to put anything on."""


def on_cluster(names: tuple[str, ...], state: msgspec.Struct) -> Iterator[tuple[Key, Event]]:
    """What a cluster's state means for each add-on it shall have, or shall have no more."""
    if not isinstance(state, ClusterState) or isinstance(state, NOT_FOR_LONG):
        return
    for addon in state.wish.addons:
        key = Key("addon", names[2], addon_name(names[3], addon.name))
        if isinstance(state, Released):
            yield key, AddonUnwanted(state.uid, lost=True)
        elif not state.wish.deleting:
            yield key, wanted(state, addon.name, addon.digest)
    for name in state.wish.dropped:
        lost = isinstance(state, Released)
        key = Key("addon", names[2], addon_name(names[3], name))
        yield key, AddonUnwanted(state.uid, lost=lost, dropped=True, stays=True, as_of=state.since)


def wanted(state: ClusterState, addon: str, digest: str) -> AddonWanted:
    """The cluster shall have the add-on, now or once its API is up."""
    return AddonWanted(
        uid=state.uid,
        tenant=state.wish.tenant,
        colony=state.wish.colony,
        cluster=state.wish.name,
        addon=addon,
        digest=digest,
        correlation=state.correlation,
        kubeconfig=kubeconfig_of(state),
        as_of=state.since,
    )


def on_cleaning(names: tuple[str, ...], order: Cleaning) -> Iterator[tuple[Key, Event]]:
    """The cluster is ending: every add-on goes, in the order it was not put on."""
    for addon in reversed(order.addons):
        key = Key("addon", names[2], addon_name(names[3], addon))
        yield key, AddonUnwanted(order.uid, stays=order.wish.need.kept or order.lent)


SUBSCRIPTIONS = (subscribe_all(cluster.LIFECYCLE, on_cluster), subscribe(Cleaning, on_cleaning))


def service(bus: Bus, management: Kube, workloads: Workloads, meters: Meters) -> tuple[Service, Views]:
    """The service, and what it needs to know of others."""
    teardowns = entities(bus, teardown.LIFECYCLE, meters)

    def ends(tenant: str, cluster: str) -> bool:
        return isinstance(teardowns.get(Key("teardown", tenant, cluster)), Ending)

    return Service("addons", decide, todo, SUBSCRIPTIONS, act(management, workloads, ends)), (teardowns,)
