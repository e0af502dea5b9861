"""The controller of Colonies: publishes their wishes, writes their status and holds their finalizer."""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

import structlog

from events.errors import Denied, NotFound, TryLater
from events.kube.client import Kube, Object
from events.kube.resources import COLONIES
from events.telemetry import NOWHERE, Trace
from schemas.cluster import ClusterState, Released
from schemas.crds import InvalidResource
from schemas.registry import declared
from schemas.wish import Wish
from services.gateway.kubeconfig import Kubeconfigs, KubeconfigSources, sources
from services.gateway.read_models import Name, ReadModels, forget_levels
from services.gateway.status import colony as status
from services.gateway.status.facts import Facts, KubeconfigStatus, phase
from services.gateway.status.previous import StatusCosts, is_newer, without_foreign_status
from services.gateway.wishes import (
    MANAGER,
    FindObjects,
    WishReader,
    asks_again,
    is_forced,
    release_trace_of,
    released_wish,
    shown_end,
    trace_of,
    with_dropped_addons,
    with_remains,
)
from services.kubernetes.labels import GROUP
from services.runtime.level_publisher import LevelPublisher

FINALIZER = f"{GROUP}/teardown"
SHOW_FIRST = 2
"""Of so many new Colonies at once the status is written first, as people look for it."""

log = structlog.get_logger()


class ColonyController:
    """Reconciles the Colonies of a management cluster."""

    def __init__(  # noqa: PLR0913 - its ports, its clock, its two settings
        self,
        kube: Kube,
        levels: LevelPublisher,
        models: ReadModels,
        clock: Callable[[], datetime],
        backend: str,
        *,
        costs: StatusCosts,
        find_objects: FindObjects = lambda _tenant, _cluster: (),
        unseen: Callable[[str], str] = lambda _backend: "",
    ) -> None:
        """`find_objects`: from a cluster's tenant and name to its objects in all back ends.

        `unseen`: from a back end to why its objects are not known now; empty if they are.
        """
        self._kube = kube
        self._levels = levels
        self._models = models
        self._clock = clock
        self._wishes = WishReader(backend)
        self._find_objects = find_objects
        self._why_unseen = unseen
        self._published_without_history: dict[Name, Wish] = {}
        """The wishes published for clusters without a history, by tenant and name: each once in this process's life."""
        self._new_colonies = 0
        """How many new Colonies are being reconciled for the first time now."""
        self._costs = costs
        self.kubeconfigs = Kubeconfigs(kube)
        self.objects: dict[Name, Object] = {}
        """The newest version of each Colony, from the watch or from the answer to a write of ours."""

    def observe(self, colony: Object) -> bool:
        """Take a version that the watch shows; False if it is the one that a write of ours was answered with."""
        meta = colony["metadata"]
        known = self.objects.get((meta["namespace"], meta["name"]))
        if known is not None and known["metadata"]["resourceVersion"] == meta["resourceVersion"]:
            return False
        if known is None or not is_newer(known, colony):
            self.objects[meta["namespace"], meta["name"]] = without_foreign_status(colony)
        return True

    def _remember(self, colony: Object) -> None:
        """Take the answer to a write of ours, unless the watch has shown a newer version or the deletion."""
        meta = colony["metadata"]
        known = self.objects.get((meta["namespace"], meta["name"]))
        if known is not None and known["metadata"]["uid"] == meta["uid"] and is_newer(colony, known):
            self.objects[meta["namespace"], meta["name"]] = colony

    def _newest(self, colony: Object) -> Object:
        """The newest known version of a Colony."""
        meta = colony["metadata"]
        return self.objects.get((meta["namespace"], meta["name"]), colony)

    async def reconcile(self, name: Name) -> None:
        """Publish the wishes of a Colony and write its status, as far as they differ. Level-driven and idempotent."""
        colony = self.objects.get(name)
        if colony is None:
            self.forget(name)
            await self._release_orphans(name)
            return
        try:
            asked = tuple(map(self._with_dropped_addons, self._wishes.read(colony)))
        except InvalidResource as why:
            await self._write_status(colony, status.invalid(colony, str(why), self._clock()))
            await self._remove_finalizer(colony, ())
            return
        meta = colony["metadata"]
        if FINALIZER in meta.get("finalizers", ()):
            await self._reconcile_active(colony, asked)
        elif not meta.get("deletionTimestamp"):
            await self._reconcile_new(colony, asked)

    def forget(self, name: Name) -> None:
        """Forget what was read and computed of a Colony that is gone, or that another replica reconciles now."""
        self.kubeconfigs.forget(name)
        self._costs.forget(name)
        self._wishes.forget(name)

    async def _reconcile_new(self, colony: Object, asked: tuple[Wish, ...]) -> None:
        """Add the finalizer and continue; among many new ones before the status, as that makes the write smaller.

        Never both at once: the API server would have to repeat one write because of the other.
        """
        meta, shown = colony["metadata"], self._status(colony, self._facts(asked, self._refusals(asked)))
        self._new_colonies += 1
        try:
            if few := self._new_colonies <= SHOW_FIRST:
                await self._write_status(colony, shown)
            if await self._add_finalizer(meta):
                await self.reconcile((meta["namespace"], meta["name"]))
            elif not few:
                await self._write_status(colony, shown)
        finally:
            self._new_colonies -= 1

    async def _reconcile_active(self, colony: Object, asked: tuple[Wish, ...]) -> None:
        """Publish the wishes and write the status: neither waits for the other, nor is stopped by its failure."""
        refusals = self._refusals(asked)
        wanted = tuple(wish for wish in asked if not refusals[wish.name])
        dropped = self._removed_clusters(colony["metadata"], {wish.name for wish in asked})
        if any(shown_end(colony, wish) and self._models.cluster(wish.tenant, wish.name) is None for wish in wanted):
            # Only the status shows that such a cluster has ended: it is overwritten after this is published.
            await self._publish_wishes(colony, asked, wanted)
        publishing = self._publish_wishes(colony, asked, wanted)
        showing = self._update_status(colony, [*self._facts(asked, refusals), *dropped])
        for failed in await asyncio.gather(publishing, showing, return_exceptions=True):
            if failed is not None:
                raise failed
        await self._remove_finalizer(colony, wanted)

    async def _update_status(self, colony: Object, facts: list[Facts]) -> None:
        """Write the kubeconfig Secret, then the status; with the last known kubeconfig if the Secret has to wait."""
        meta, late = colony["metadata"], None
        try:
            await self._ensure_kubeconfig(meta, sources(facts))
        except TryLater as why:
            late = why
        if self.kubeconfigs.status(meta) is not None:
            await self._write_status(colony, self._status(colony, facts))
        if late:
            raise late

    async def _ensure_kubeconfig(self, meta: Object, wanted: KubeconfigSources) -> None:
        never_created = not any(state.attempts for state in self._own_clusters(meta))
        await self.kubeconfigs.ensure(meta, wanted, never_created=never_created)

    async def _publish_wishes(self, colony: Object, asked: tuple[Wish, ...], wanted: tuple[Wish, ...]) -> None:
        """Publish a wish per cluster, and that clusters which the spec names no longer shall be released."""
        meta = colony["metadata"]
        for wish in wanted:
            await self._publish_wish(colony, wish, release_trace_of(meta) if wish.release else trace_of(meta))
        names = {wish.name for wish in asked}
        for state in self._own_clusters(meta):
            if state.wish.name not in names and not (isinstance(state, Released) and state.wish.deleting):
                force = is_forced(meta.get("annotations", {}))
                await self._publish(released_wish(state.wish, meta["generation"], force=force))

    def _refusals(self, asked: tuple[Wish, ...]) -> dict[str, str]:
        return {wish.name: self._models.collision(wish) for wish in asked}

    def _facts(self, asked: tuple[Wish, ...], refusals: dict[str, str]) -> list[Facts]:
        facts = ((wish, self._models.facts(wish, refusals[wish.name])) for wish in asked)
        return [replace(known, unseen=self._why_unseen(wish.need.backend)) for wish, known in facts]

    def _removed_clusters(self, meta: Object, asked: set[str]) -> list[Facts]:
        """The facts of clusters that the spec names no longer, as long as anything of them exists and costs money."""
        going = (s.wish for s in self._own_clusters(meta) if s.wish.name not in asked and not self._models.is_gone(s))
        released = (released_wish(wish, meta["generation"]) for wish in going)
        facts = (replace(self._models.facts(wish), dropped=True) for wish in released)
        return [each for each in facts if phase(each) != declared(Released).phase]

    def _status(self, colony: Object, facts: list[Facts]) -> Object:
        kubeconfig = self.kubeconfigs.status(colony["metadata"]) or KubeconfigStatus()
        return status.status(colony, facts, self._clock(), kubeconfig)

    async def _publish_wish(self, colony: Object, wish: Wish, trace: Trace) -> None:
        """Publish the wish for a cluster; for one to be created again after the proof that the last one is gone."""
        state = self._models.cluster(wish.tenant, wish.name)
        if state is None:
            await self._publish_first_wish(colony, wish, trace)
            return
        self._published_without_history.pop((wish.tenant, wish.name), None)
        if state.wish.uid == wish.uid and not asks_again(state, wish):
            await self._publish(wish, self._trace_unless_edited(wish, trace))
        elif self._models.is_gone(state):
            await self._publish(wish, trace, again=self._was_ignored(wish))
        elif state.wish.uid != wish.uid:  # an earlier Colony of the name left it behind
            await self._publish(released_wish(state.wish, state.wish.generation))

    async def _publish_first_wish(self, colony: Object, wish: Wish, trace: Trace) -> None:
        """Publish the wish for a cluster without a history, with the objects that are left if its history was lost."""
        if self._why_unseen(wish.need.backend):
            return
        known = with_remains(colony, wish, self._find_objects(wish.tenant, wish.name))
        again = self._published_without_history.get((wish.tenant, wish.name)) != wish
        await self._publish(known, self._trace_unless_edited(wish, trace), again=again)
        self._published_without_history[wish.tenant, wish.name] = wish

    def _with_dropped_addons(self, wish: Wish) -> Wish:
        return with_dropped_addons(wish, self._levels.last(Wish, wish.tenant, wish.name))

    def _was_ignored(self, wish: Wish) -> bool:
        """Whether it was published while the name was still taken, so that provisioning could not follow it."""
        return not wish.deleting and self._levels.last(Wish, wish.tenant, wish.name) == wish

    def _trace_unless_edited(self, wish: Wish, trace: Trace) -> Trace:
        """The trace of the wish's event; none if a wish was published for that event before, as then it was edited."""
        last = self._levels.last(Wish, wish.tenant, wish.name) if trace.parent else None
        published = last is not None and (last.event, last.release) == (wish.event, wish.release)
        return NOWHERE if published else trace

    async def _publish(self, wish: Wish, trace: Trace = NOWHERE, *, again: bool = False) -> None:
        cause = wish.release or wish.event
        await self._levels.publish(wish, wish.tenant, wish.name, cause=cause, trace=trace, force=again)

    async def _release_orphans(self, name: Name) -> None:
        """Release the clusters of a Colony that no longer exists."""
        for state in self._models.clusters_of(name):
            if not state.wish.deleting:
                await self._publish(released_wish(state.wish, state.wish.generation))

    def _own_clusters(self, meta: Object) -> list[ClusterState]:
        """The clusters that this incarnation of the Colony ever asked for."""
        return [s for s in self._models.clusters_of((meta["namespace"], meta["name"])) if s.wish.uid == meta["uid"]]

    async def _add_finalizer(self, meta: Object) -> bool:
        """Add our finalizer; no wish is published unless the answer shows it."""
        wanted = {key: meta[key] for key in ("name", "namespace", "uid")} | {"finalizers": [FINALIZER]}
        try:
            held = await self._kube.apply(COLONIES, {"metadata": wanted}, manager=MANAGER)
        except (NotFound, Denied) as late:  # it is gone, or going: the watch shows it
            log.debug("colony.changed", name=meta["name"], reason=late.message)
            return False
        self._remember(held)
        return FINALIZER in self._newest(held)["metadata"].get("finalizers", ())

    async def _remove_finalizer(self, colony: Object, asked: Iterable[Wish]) -> None:
        """Remove the finalizer once every cluster of the Colony is proven to be gone."""
        if not colony["metadata"].get("deletionTimestamp"):
            return
        # The status written just now is a newer version, and the watch will not bring us here again for it.
        meta = self._newest(colony)["metadata"]
        if FINALIZER not in meta.get("finalizers", ()):
            return
        states = self._own_clusters(meta)
        known = {state.wish.name for state in states}
        if all(map(self._models.is_gone, states)) and all(wish.name in known for wish in asked):
            await self._ensure_kubeconfig(meta, {})  # with an invalid spec nothing has looked at the Secret so far
            for state in states:
                await forget_levels(self._levels, state)
            await self._set_finalizers(meta, [one for one in meta["finalizers"] if one != FINALIZER])

    async def _set_finalizers(self, meta: Object, wanted: list[str]) -> None:
        patch = {"metadata": {"resourceVersion": meta["resourceVersion"], "finalizers": wanted}}
        try:
            await self._kube.patch(COLONIES, meta["name"], meta["namespace"], patch, manager=MANAGER)
        except (NotFound, Denied) as late:  # it has changed since: the watch shows the new version
            log.debug("colony.changed", name=meta["name"], reason=late.message)

    async def _write_status(self, colony: Object, computed: Object) -> None:
        """Write the status if it differs from what the watch last showed."""
        meta, shown = colony["metadata"], colony.get("status", {})
        computed = self._costs.with_shown_cost((meta["namespace"], meta["name"]), computed, shown, self._clock())
        if computed == shown:
            return
        # With the version: what was decided on an older one, in a replica that was stopped meanwhile, is refused.
        named = {key: self._newest(colony)["metadata"][key] for key in ("name", "namespace", "resourceVersion")}
        wanted = {"metadata": named, "status": computed}
        with suppress(NotFound):  # it is gone: the watch shows it
            self._remember(await self._kube.apply(COLONIES, wanted, manager=MANAGER, subresource="status"))
