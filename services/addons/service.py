"""The addons service: the messages it receives, its decisions, and its calls."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec

from events.kube.client import Kube
from schemas import addon, cluster, teardown
from schemas.addon import AddonUnwanted, AddonWanted, WithdrawAddon, Withdrawn, addon_name
from schemas.cluster import ClusterState, Released, Releasing, Stalled, Waiting, kubeconfig_of
from schemas.entity import State
from schemas.profile_addons import ProfileAddons
from schemas.subjects import Key
from schemas.teardown import Cleaning, Ending
from schemas.wish import AddonRef
from services.addons.act import AddonCalls, act
from services.addons.classifiers.cluster_classifier import ClassifierPorts
from services.addons.classifiers.status_writer import ClassifierStatusWriter
from services.addons.contents import Contents
from services.addons.decide import decide
from services.addons.descriptions import AddonCommand, Description, Descriptions
from services.addons.gates import Gates
from services.addons.helm.pool import HelmWorkers
from services.addons.helm.releases import HelmReleases
from services.addons.objects.watch import ObjectWatches
from services.addons.observe.controller import ObjectObserver, ObserverPorts
from services.addons.plan.controller import PlanController
from services.addons.plan.rules import profile_rules
from services.addons.plan.status_writer import ProfileStatusWriter
from services.addons.ports import AddonPorts
from services.addons.recheck import Rechecks
from services.addons.reference_watches import ReferenceWatches
from services.addons.references import references
from services.addons.references_at_start import ReferencesAtStart
from services.addons.render.renderers import Renderers
from services.addons.sources.request import SourceSettings
from services.addons.sources.sources import Sources
from services.addons.todo import todo
from services.clients.workload_clusters import WorkloadClusters
from services.expressions.evaluators import Evaluators
from services.runtime.consumer import subscribe, subscribe_all
from services.runtime.context import Context
from services.runtime.loop import Resumption, Service
from services.runtime.machine import Event
from services.runtime.read_model import ReadModel, entities

Views = tuple[ReadModel[Key, State], ...]


class Background(Protocol):
    """What runs beside a service as long as that runs."""

    async def run(self) -> None:
        """Run until cancelled."""
        ...


@dataclass(frozen=True)
class AddonSettings:
    """Where the service keeps what it fetches, and what it may fetch."""

    folder: Path
    sources: SourceSettings = field(default_factory=SourceSettings)


WITHOUT_ADDONS = (Releasing, Stalled, Waiting)
"""States in which no add-on is applied to a cluster."""


def addon_events(names: tuple[str, ...], state: msgspec.Struct) -> Iterator[tuple[Key, Event]]:
    """What a cluster's state means for each add-on that it shall have or lose."""
    if not isinstance(state, ClusterState) or isinstance(state, WITHOUT_ADDONS):
        return
    for ref in state.wish.addons:
        key = Key("addon", names[2], addon_name(names[3], ref.name))
        if isinstance(state, Released):
            yield key, AddonUnwanted(state.uid, lost=True)
        elif not state.wish.deleting:
            yield key, wanted(state, ref)
    for name in state.wish.dropped:
        lost = isinstance(state, Released)
        key = Key("addon", names[2], addon_name(names[3], name))
        yield key, AddonUnwanted(state.uid, lost=lost, dropped=True, stays=True, as_of=state.since)


def wanted(state: ClusterState, ref: AddonRef) -> AddonWanted:
    """The cluster shall have the add-on, now or once its API is up."""
    return AddonWanted(
        uid=state.uid,
        tenant=state.wish.tenant,
        colony=state.wish.colony,
        cluster=state.wish.name,
        correlation=state.correlation,
        kubeconfig=kubeconfig_of(state),
        as_of=state.since,
        **_described(ref),
    )


def _described(ref: AddonRef) -> dict[str, Any]:
    fields = msgspec.structs.asdict(ref)
    return {"addon": fields.pop("name"), **fields}


def profile_events(names: tuple[str, ...], level: ProfileAddons) -> Iterator[tuple[Key, Event]]:
    """What profiles want of a cluster, and what they want no longer."""
    tenant, cluster_ = names[2:4]
    for ref in level.addons:
        yield (
            Key("addon", tenant, addon_name(cluster_, ref.name)),
            AddonWanted(
                uid=level.uid,
                tenant=tenant,
                colony=level.colony,
                cluster=cluster_,
                correlation=level.correlation,
                kubeconfig=level.kubeconfig,
                as_of=level.as_of,
                **_described(ref),
            ),
        )
    for one in level.dropped:
        yield (
            Key("addon", tenant, addon_name(cluster_, one.name)),
            AddonUnwanted(level.uid, lost=level.lost, dropped=True, stays=True, as_of=level.as_of, leave=one.leave),
        )


def cleaning_events(names: tuple[str, ...], order: Cleaning) -> Iterator[tuple[Key, Event]]:
    """The cluster is ending: every add-on is withdrawn, in reverse order."""
    for name in reversed(order.addons):
        key = Key("addon", names[2], addon_name(names[3], name))
        yield key, AddonUnwanted(order.uid, stays=order.wish.need.kept or order.lent)


SUBSCRIPTIONS = (
    subscribe_all(cluster.LIFECYCLE, addon_events),
    subscribe(Cleaning, cleaning_events),
    subscribe(ProfileAddons, profile_events),
)


class AddonService(NamedTuple):
    """The service, and what runs beside it."""

    service: Service
    views: Views
    """Read models that must be complete before the service starts."""
    background: tuple[Background, ...]


def service(
    context: Context, management: Kube, workloads: WorkloadClusters, settings: AddonSettings | None = None
) -> AddonService:
    """The service; without settings it knows no sources but what is written in a Colony or a profile."""
    teardowns = entities(context.bus, teardown.LIFECYCLE, context.meters)
    addons = entities(context.bus, addon.LIFECYCLE, context.meters)
    evaluators = Evaluators()
    plans = PlanController(context, management, addons, profile_rules(), ClassifierPorts(workloads, evaluators))
    status = ProfileStatusWriter(management, plans, addons, context)
    classifiers = ClassifierStatusWriter(management, plans, context)
    resumption = Resumption()
    ports = _ports(context, management, workloads, settings, _Shared(plans, addons, evaluators, resumption))

    def ends(tenant: str, cluster_: str) -> bool:
        ending = isinstance(teardowns.get(Key("teardown", tenant, cluster_)), Ending)
        return ending or plans.paused((tenant, cluster_))

    observer = ObjectObserver(context, ObserverPorts(management, workloads, ports.evaluators), plans)
    calls = AddonCalls(ports)
    checks = Rechecks(calls.look, calls.follow, ends)

    def wakes(note: Callable[[str, str, str], None]) -> Callable[[str, str, str], None]:
        def wake(tenant: str, cluster_: str, name: str) -> None:
            note(tenant, cluster_, name)
            resumption(Key("addon", tenant, addon_name(cluster_, name)))

        return wake

    def forget(_: Key, state: State) -> None:
        if isinstance(state, Withdrawn):
            ports.watches.drop((state.tenant, state.cluster), state.addon)
            ports.references.drop((state.tenant, state.cluster, state.addon))

    ports.watches.listen(wakes(checks.changed))
    ports.references.listen(wakes(checks.referred_changed))
    addons.listen(forget)
    return AddonService(
        Service("addons", decide, todo, SUBSCRIPTIONS, act(calls, checks), resumption),
        (teardowns, addons),
        (plans, status, classifiers, ports, observer, ReferencesAtStart(ports.descriptions, addons, plans.ready)),
    )


class _Shared(NamedTuple):
    """What the calls share with what runs beside them."""

    plans: PlanController
    addons: ReadModel[Key, State]
    evaluators: Evaluators
    resumption: Resumption


def _ports(
    context: Context, management: Kube, workloads: WorkloadClusters, settings: AddonSettings | None, shared: _Shared
) -> AddonPorts:
    evaluators, plans, watched = shared.evaluators, shared.plans, ReferenceWatches(management)

    def found(about: AddonCommand, description: Description) -> None:
        if not isinstance(about, WithdrawAddon):
            watched.follow((about.tenant, about.cluster, about.addon), references(description))

    sources = Sources(management, settings.folder, context.clock, settings.sources) if settings else None
    contents = Contents(management, sources, evaluators, Renderers())
    plans.sources.reach(contents.inputs.digest)
    return AddonPorts(
        workloads=workloads,
        descriptions=Descriptions(management, plans.profiles, plans.revisions, plans.rules.expand, found),
        contents=contents,
        evaluators=evaluators,
        gates=Gates(shared.addons, plans.wanted, shared.resumption, plans.paused),
        cluster=plans.target,
        watches=ObjectWatches(),
        references=watched,
        helm=HelmReleases(HelmWorkers()),
        unmatched=lambda name: plans.unmatched.get(name, frozenset()),
        sources=sources,
    )
