"""The addons service: the messages it receives, its decisions, and its calls."""

from collections.abc import Iterator

import msgspec

from events.kube.client import Kube
from schemas import cluster, teardown
from schemas.addon import AddonUnwanted, AddonWanted, addon_name
from schemas.cluster import ClusterState, Released, Releasing, Stalled, Waiting, kubeconfig_of
from schemas.entity import State
from schemas.subjects import Key
from schemas.teardown import Cleaning, Ending
from services.addons.act import act
from services.addons.decide import decide
from services.addons.todo import todo
from services.clients.workload_clusters import WorkloadClusters
from services.runtime.consumer import subscribe, subscribe_all
from services.runtime.context import Context
from services.runtime.loop import Service
from services.runtime.machine import Event
from services.runtime.read_model import ReadModel, entities

Views = tuple[ReadModel[Key, State], ...]
WITHOUT_ADDONS = (Releasing, Stalled, Waiting)
"""States in which no add-on is applied to a cluster."""


def addon_events(names: tuple[str, ...], state: msgspec.Struct) -> Iterator[tuple[Key, Event]]:
    """What a cluster's state means for each add-on that it shall have or lose."""
    if not isinstance(state, ClusterState) or isinstance(state, WITHOUT_ADDONS):
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


def cleaning_events(names: tuple[str, ...], order: Cleaning) -> Iterator[tuple[Key, Event]]:
    """The cluster is ending: every add-on is withdrawn, in reverse order."""
    for addon in reversed(order.addons):
        key = Key("addon", names[2], addon_name(names[3], addon))
        yield key, AddonUnwanted(order.uid, stays=order.wish.need.kept or order.lent)


SUBSCRIPTIONS = (subscribe_all(cluster.LIFECYCLE, addon_events), subscribe(Cleaning, cleaning_events))


def service(context: Context, management: Kube, workloads: WorkloadClusters) -> tuple[Service, Views]:
    """The service, and the read model it needs."""
    teardowns = entities(context.bus, teardown.LIFECYCLE, context.meters)

    def ends(tenant: str, cluster: str) -> bool:
        return isinstance(teardowns.get(Key("teardown", tenant, cluster)), Ending)

    return Service("addons", decide, todo, SUBSCRIPTIONS, act(management, workloads, ends)), (teardowns,)
