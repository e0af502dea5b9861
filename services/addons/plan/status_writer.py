"""Writes the status of each profile when what is known of it has changed."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import suppress

import structlog

from events.errors import Fault
from events.kube.client import Kube, Object
from schemas.addon import AddonState, Withdrawn, full_name, profile_of
from schemas.entity import State
from schemas.subjects import Key
from services.addons.plan.controller import PlanController
from services.addons.plan.profile_store import KnownProfile, ProfileName
from services.addons.plan.rollout import Decision
from services.addons.plan.status import BY_ROLLOUT, NOT_ACCEPTED, ProfileOnCluster, status
from services.addons.plan.target import ClusterName
from services.runtime.context import Context
from services.runtime.read_model import ReadModel
from services.runtime.workqueue import WorkQueue

MANAGER = "alate-addons"
SOON = 0.2
"""Seconds from a change to the status, as more changes mostly follow."""
PATIENCE = 60.0
"""Seconds, at most, that the first statuses wait until every cluster has the labels by which profiles select it."""

log = structlog.get_logger()


class ProfileStatusWriter:
    """Follows the states of add-ons and what the controller has found."""

    def __init__(
        self,
        management: Kube,
        plans: PlanController,
        addons: ReadModel[Key, State],
        context: Context,
    ) -> None:
        self._management = management
        self._plans = plans
        self._clock = context.clock
        self._states: dict[ClusterName, dict[str, AddonState]] = {}
        """By cluster and full name: states of add-ons of profiles that are not withdrawn."""
        self._queue: WorkQueue[ProfileName] = WorkQueue(self._write, "profile_status", context.jitter)
        addons.listen(self._on_addon)
        plans.listen(self._on_plan)

    async def run(self) -> None:
        """Write until cancelled, once everything is known."""
        await self._plans.ready.wait()
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await self._plans.planned.wait()
        async with self._queue.running():
            for name in self._plans.profiles:
                self._queue.add(name)
            await asyncio.Event().wait()

    def _on_plan(self, name: ProfileName) -> None:
        self._queue.add_after(name, SOON)

    def _on_addon(self, _: Key, state: State) -> None:
        if not isinstance(state, AddonState) or not (profile := profile_of(state.addon)):
            return
        known = self._states.setdefault((state.tenant, state.cluster), {})
        if isinstance(state, Withdrawn):
            known.pop(state.addon, None)
        else:
            known[state.addon] = state
        self._queue.add_after(ProfileName.of(profile, state.tenant), SOON)

    async def _write(self, name: ProfileName) -> None:
        known = self._plans.profiles.get(name)
        if known is None:
            return
        places = tuple(self._places(name, known))
        computed = status(known, places, self._clock(), self._plans.rollouts.decision(name))
        if computed == known.item.get("status"):
            return
        meta: Mapping[str, str] = {"name": name.name} | ({"namespace": name.namespace} if name.namespace else {})
        document: Object = {"metadata": meta, "status": computed}
        try:
            await self._management.apply(name.kind, document, manager=MANAGER, subresource="status")
        except Fault as why:
            log.warning("profile.status_unwritten", tenant=name.namespace, name=name.name, reason=str(why))
            self._queue.add_after(name, 30.0)

    def _places(self, name: ProfileName, known: KnownProfile) -> Iterator[ProfileOnCluster]:
        """Every cluster that the profile selects, which one that is not accepted does not, or has add-ons of it."""
        wanted, refused = [full_name(addon.name, name.full) for addon in known.profile.spec.addons], known.invalid
        clusters = {each for each, profiles in self._plans.selected.items() if name.full in profiles and not refused}
        standing = {
            each
            for each, states in self._states.items()
            if name.concerns(each[0]) and any(profile_of(addon) == name.full for addon in states)
        }
        decision = self._plans.rollouts.decision(name)
        for each in clusters | standing:
            if not name.concerns(each[0]):
                continue
            states, selected = self._states.get(each, {}), each in clusters
            names = wanted if selected else [addon for addon in states if profile_of(addon) == name.full]
            conflicts = self._plans.conflicts.get(each, ())
            told = {one.addon: f"{one.addon.rpartition('.')[2]}: {one}" for one in conflicts}
            yield ProfileOnCluster(
                each,
                {addon.rpartition(".")[2]: states.get(addon) for addon in names if addon not in told},
                tuple(told[addon] for addon in names if addon in told),
                selected,
                held=_held(known, each, decision) if selected or refused else "",
            )


def _held(known: KnownProfile, cluster: ClusterName, decision: Decision | None) -> str:
    """Why a cluster keeps what the profile gave it; empty if it does not."""
    if known.invalid:
        return NOT_ACCEPTED
    return BY_ROLLOUT if decision and decision.holds(cluster, known.profile.refs) else ""
