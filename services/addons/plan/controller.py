"""Follows profiles and clusters, and publishes which add-ons profiles want each cluster to have."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress

import structlog

from events.bus import Unavailable
from events.kube.client import Kube
from schemas import cluster, teardown
from schemas.addon import AddonState, Withdrawn, profile_of
from schemas.cluster import ClusterState, Placed
from schemas.entity import State
from schemas.infra import InfraSeen
from schemas.inventory import ClusterSeen
from schemas.profile_addons import ProfileAddons, ReleaseConflict
from schemas.registry import declared
from schemas.subjects import Key, names_of
from schemas.teardown import Ending
from schemas.wish import AddonRef
from services.addons.classifiers.cluster_classifier import ClassifierPorts, ClusterClassifications, ClusterPorts
from services.addons.plan.match import Match, lost_level, match
from services.addons.plan.profile import ProfileRules
from services.addons.plan.profile_sources import ProfileSources
from services.addons.plan.profile_store import ProfileName, ProfileStore
from services.addons.plan.registered import RegisteredClusters
from services.addons.plan.revisions import Revisions
from services.addons.plan.rollouts import RolloutPorts, Rollouts
from services.addons.plan.target import ClusterName, KnownCluster, founded
from services.runtime.context import Context
from services.runtime.level_publisher import LevelPublisher
from services.runtime.read_model import ReadModel, entities, levels
from services.runtime.workqueue import WorkQueue

log = structlog.get_logger()


class PlanController:
    """One level per cluster that profiles select or selected; owned by the add-on service."""

    def __init__(
        self,
        context: Context,
        management: Kube,
        addons: ReadModel[Key, State],
        rules: ProfileRules,
        classifiers: ClassifierPorts,
    ) -> None:
        """`addons`: every add-on's state, run by the caller."""
        self.ready = asyncio.Event()
        """Set once every profile and every cluster is known."""
        self.planned = asyncio.Event()
        """Set once every cluster was planned."""
        self._unplanned: set[ClusterName] = set()
        self.profiles = ProfileStore(management, rules, self._on_profile)
        self.sources = ProfileSources(self.profiles, rules, management, context)
        self.revisions = Revisions(management)
        self.conflicts: dict[ClusterName, tuple[ReleaseConflict, ...]] = {}
        self.selected: dict[ClusterName, frozenset[str]] = {}
        """The profiles that select each cluster."""
        self.unmatched: dict[ClusterName, frozenset[str]] = {}
        """The dry runs on each cluster whose profile selects it no longer."""
        self.rules = rules
        self._clock, self._levels = context.clock, LevelPublisher(context, ProfileAddons)
        self._clusters = entities(context.bus, cluster.LIFECYCLE, context.meters)
        self._teardowns = entities(context.bus, teardown.LIFECYCLE, context.meters)
        self._seen = levels(context.bus, ClusterSeen, context.meters)
        self._infra = levels(context.bus, InfraSeen, context.meters)
        self._registered = RegisteredClusters(management, self._add)
        places = ClusterPorts(self._names, self._own, self._on_labels)
        self.classifications = ClusterClassifications(context, management, classifiers, places)
        self._addons = addons
        self.rollouts = self._rollouts(context)
        self._queue: WorkQueue[ClusterName] = WorkQueue(self._plan, "plan", context.jitter)
        self._changed: list[Callable[[ProfileName], None]] = []
        self._on_cluster: list[Callable[[ClusterName], None]] = []
        self._standing: dict[ClusterName, dict[str, str]] = {}
        """By cluster: the incarnation that each add-on of a profile is for, until it is withdrawn."""
        self._listen()

    def _rollouts(self, context: Context) -> Rollouts:
        ports = RolloutPorts(
            self.profiles,
            self.rules,
            self.revisions,
            self._names,
            self.target,
            self._level,
            self._enqueue,
            self._announce,
        )
        return Rollouts(ports, context)

    def _listen(self) -> None:
        for model in (self._clusters, self._teardowns):
            model.listen(
                lambda key, _: self._add((key.tenant, key.name)), lambda key: self._add((key.tenant, key.name))
            )
        self._seen.listen(lambda subject, seen: self._add((names_of(subject)[2], seen.cluster)))
        self._infra.listen(lambda subject, seen: self._add((names_of(subject)[2], seen.cluster)))
        self._addons.listen(self._on_addon, self._on_addon_dropped)

    def listen(self, changed: Callable[[ProfileName], None]) -> None:
        """Call `changed` with every profile of which something new is known."""
        self._changed.append(changed)

    def listen_to_clusters(self, changed: Callable[[ClusterName], None]) -> None:
        """Call `changed` with every cluster of which something new is known."""
        self._on_cluster.append(changed)

    def clusters(self, tenant: str) -> tuple[ClusterName, ...]:
        """The clusters of a namespace, founded, adopted, lent and registered."""
        return tuple(dict.fromkeys(name for name in self._names() if name[0] == tenant))

    def target(self, name: ClusterName) -> KnownCluster | None:
        """A cluster as profiles and templates see it, with the labels of classifiers; None if there is none."""
        own = self._own(name)
        return own if own is None or not self.classifications.in_use else self.classifications.labelled(own)

    def _own(self, name: ClusterName) -> KnownCluster | None:
        if (registered := self._registered.get(name)) is not None:
            return registered
        state = self._clusters.get(Key("cluster", *name))
        if not isinstance(state, ClusterState):
            return None
        ending = isinstance(self._teardowns.get(Key("teardown", *name)), Ending)
        seen = self._seen.get(declared(ClusterSeen).at(*name))
        return founded(
            state,
            ending=ending,
            seen=seen if seen and seen.uid == state.uid else None,
            infra=self._infra_of(name, state),
        )

    def paused(self, name: ClusterName) -> bool:
        """Whether the add-ons of a cluster stay as they are for now."""
        target = self.target(name)
        return target is not None and target.paused

    def wanted(self, name: ClusterName) -> tuple[AddonRef, ...]:
        """What profiles want a cluster to have."""
        last = self._level(name)
        return last.addons if last else ()

    def _level(self, name: ClusterName) -> ProfileAddons | None:
        return self._levels.last(ProfileAddons, *name)

    def _names(self) -> Iterator[ClusterName]:
        yield from ((key.tenant, key.name) for key, _ in self._clusters)
        yield from self._registered

    def _infra_of(self, name: ClusterName, state: ClusterState) -> InfraSeen | None:
        if not isinstance(state, Placed):
            return None
        subject = declared(InfraSeen).at(name[0], state.wish.need.backend, state.attempt.object_name(name[1]))
        return self._infra.get(subject)

    async def run(self) -> None:
        """Follow until cancelled; nothing is published before everything is known."""
        async with asyncio.TaskGroup() as group:
            models = (self._clusters, self._teardowns, self._seen, self._infra)
            for model in models:
                group.create_task(model.run())
            group.create_task(self.profiles.run())
            group.create_task(self.revisions.run())
            group.create_task(self.sources.run())
            group.create_task(self._registered.run())
            group.create_task(self.classifications.store.run())
            for each in (*models, self._addons):
                await each.ready.wait()
            await self.profiles.listed.wait()
            await self.revisions.listed.wait()
            await self._registered.listed.wait()
            await self.classifications.store.listed.wait()
            await self._refresh()
            self._unplanned = set(self._names())
            self._note_planned()
            self.ready.set()
            async with self._queue.running(), self.rollouts.running(), self.classifications.running():
                await asyncio.Event().wait()

    async def _refresh(self) -> None:
        while True:
            with suppress(Unavailable):
                await self._levels.refresh()
                await self.classifications.load()
                break
            await asyncio.sleep(1.0)
        for names, _ in self._levels.named(ProfileAddons):
            self._add((names[0], names[1]))
        self._add_all("")

    def _add(self, name: ClusterName) -> None:
        if self.classifications.in_use:
            self.classifications.touch(name)
        self._on_labels(name)

    def _on_labels(self, name: ClusterName) -> None:
        for changed in self._on_cluster:
            changed(name)
        self.rollouts.on_cluster(name)
        self._enqueue(name)

    def _enqueue(self, name: ClusterName) -> None:
        self._queue.add(name)

    def _add_all(self, namespace: str) -> None:
        for name in self._names():
            if not namespace or name[0] == namespace:
                self._enqueue(name)

    def _on_profile(self, name: ProfileName) -> None:
        self.sources.on_change(name)
        self.rollouts.on_profile(name)
        self._add_all(name.namespace)
        self._announce(name)

    def _announce(self, *names: ProfileName) -> None:
        for changed in self._changed:
            for name in names:
                changed(name)

    def _on_addon(self, _: Key, state: State) -> None:
        if not isinstance(state, AddonState) or not profile_of(state.addon):
            return
        self.rollouts.on_addon(state)
        name, uid = (state.tenant, state.cluster), "" if isinstance(state, Withdrawn) else state.uid
        standing = self._standing.setdefault(name, {})
        if standing.get(state.addon, "") == uid:
            return
        if uid:
            standing[state.addon] = uid
        else:
            del standing[state.addon]
        self._add(name)

    def _on_addon_dropped(self, key: Key) -> None:
        cluster_, _, addon = key.name.partition(".")
        self._standing.get((key.tenant, cluster_), {}).pop(addon, None)

    async def _plan(self, name: ClusterName) -> None:
        if self.classifications.in_use and not self.classifications.is_classified(name):
            return  # it comes again with its labels
        await self._reconcile(name)
        self._note_planned(name)

    def _note_planned(self, *names: ClusterName) -> None:
        self._unplanned -= {*names}
        if not self._unplanned:
            self.planned.set()

    async def _reconcile(self, name: ClusterName) -> None:
        last, target = self._levels.last(ProfileAddons, *name), self.target(name)
        standing = self._standing.get(name, {})
        stale = {addon: uid for addon, uid in standing.items() if target is None or uid != target.uid}
        if stale:
            await self._publish(lost_level(name, stale, last), last, name)
        elif target is None:
            await self._forget(name)
        elif target.paused and not target.lost:
            return
        elif not target.ending or target.lost:  # the teardown withdraws what an ending cluster has, in its time
            profiles, turns = self.profiles.of(name[0]), self.rollouts.turns(name)
            found = match(target, profiles, last, frozenset(standing), self.rules, turns=turns)
            self._note(name, found)
            await self._publish(found.level, last, name)

    def _note(self, name: ClusterName, found: Match) -> None:
        before, self.unmatched[name] = self.selected.get(name, frozenset()), found.unmatched
        if (found.conflicts, found.profiles) == (self.conflicts.get(name, ()), before):
            return
        self.conflicts[name], self.selected[name] = found.conflicts, found.profiles
        self._announce(*(ProfileName.of(full, name[0]) for full in found.profiles | before))

    async def _publish(self, level: ProfileAddons, last: ProfileAddons | None, name: ClusterName) -> None:
        if not (level.addons or level.dropped) and (last is None or level.lost):
            await self._forget(name)
        elif level != last:
            await self._levels.publish(level.but(as_of=self._clock()), *name)
            self.rollouts.on_level(level)

    async def _forget(self, name: ClusterName) -> None:
        self.conflicts.pop(name, None)
        self.unmatched.pop(name, None)
        self._announce(*(ProfileName.of(full, name[0]) for full in self.selected.pop(name, ())))
        if self._levels.last(ProfileAddons, *name) is not None:
            await self._levels.forget(ProfileAddons, *name)
