"""A Colony is followed here: its wishes go to the bus, its status and its finalizer come back."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime

import structlog

from events.errors import Denied, NotFound, TryLater
from events.kube.client import Kube, Object
from events.kube.resources import COLONIES
from events.telemetry import NOWHERE, Trace
from schemas.cluster import ClusterState, Released, Releasing
from schemas.crds import Refused, read_colony
from schemas.infra import InfraSeen
from schemas.wish import Wish, own_name
from services.clouds.labels import GROUP
from services.gateway.annotations import MANAGER, release_of, trace_of
from services.gateway.kubeconfig.controller import Kubeconfigs
from services.gateway.kubeconfig.secret import KubeconfigSources, sources
from services.gateway.read_models import BACKENDS, Books, Name
from services.gateway.status import colony as status
from services.gateway.status.facts import Facts, KubeconfigStatus, phase
from services.gateway.status.previous import StatusCosts, is_newer, without_foreign_status
from services.gateway.wishes import Standing, dropping, ended, forced, no_more, remains, wishes
from services.runtime.level_publisher import LevelPublisher

FINALIZER = f"{GROUP}/teardown"
FEW = 2
"""So many new Colonies at once show a status before anything else, which is what people see first."""

log = structlog.get_logger()


class Colonies:
    """All Colonies of a management cluster, as they are now."""

    def __init__(  # noqa: PLR0913 - its ports, its clock, its two settings
        self,
        kube: Kube,
        levels: LevelPublisher,
        books: Books,
        clock: Callable[[], datetime],
        backend: str,
        *,
        costs: StatusCosts,
        standing: Standing = lambda _tenant, _cluster: (),
        unseen: Callable[[str], str] = lambda _backend: "",
    ) -> None:
        """`standing` gives what bears the marks of a cluster, by its tenant and name.

        `unseen` says of a back end why nobody can know that now; empty if it is known.
        """
        self._kube = kube
        self._levels = levels
        self._books = books
        self._clock = clock
        self._backend = backend
        self._standing = standing
        self._unseen = unseen
        self._unknown: dict[Name, Wish] = {}
        """What was asked of clusters that have no history, by tenant and name: once in this process's life."""
        self._taken = 0
        """New ones that are followed for the first time now."""
        self._costs = costs
        self.kubeconfigs = Kubeconfigs(kube)
        self.objects: dict[Name, Object] = {}
        """The newest that the watch has shown, or a write of ours was answered."""

    def saw(self, colony: Object) -> bool:
        """Take what the watch shows; False if that is nothing but the echo of a write of ours, already answered."""
        meta = colony["metadata"]
        known = self.objects.get((meta["namespace"], meta["name"]))
        if known is not None and known["metadata"]["resourceVersion"] == meta["resourceVersion"]:
            return False
        if known is None or not is_newer(known, colony):
            self.objects[meta["namespace"], meta["name"]] = without_foreign_status(colony)
        return True

    def _answered(self, colony: Object) -> None:
        """Take what a write of ours made of it, unless the watch has shown something newer, or its end."""
        meta = colony["metadata"]
        known = self.objects.get((meta["namespace"], meta["name"]))
        if known is not None and known["metadata"]["uid"] == meta["uid"] and is_newer(colony, known):
            self.objects[meta["namespace"], meta["name"]] = colony

    def _newest(self, colony: Object) -> Object:
        """What is known of a Colony now: this, or what came after it."""
        meta = colony["metadata"]
        return self.objects.get((meta["namespace"], meta["name"]), colony)

    async def follow(self, name: Name) -> None:
        """Bring one Colony and the bus together. Level-driven: does nothing where nothing is to be done."""
        colony = self.objects.get(name)
        if colony is None:
            self.kubeconfigs.forget(name)
            self._costs.forget(name)
            await self._orphans(name)
            return
        try:
            asked = tuple(map(self._dropping, wishes(read_colony(colony), self._backend)))
        except Refused as why:
            await self._show(colony, status.invalid(colony, str(why), self._clock()))
            await self._let_go(colony, ())
            return
        meta = colony["metadata"]
        if FINALIZER in meta.get("finalizers", ()):
            await self._speak(colony, asked)
        elif not meta.get("deletionTimestamp"):
            await self._take(colony, asked)

    async def _take(self, colony: Object, asked: tuple[Wish, ...]) -> None:
        """Put the finalizer on a new one, and go on; among many that comes first, for without a status it costs less.

        Never both side by side: one write would make the API server start anew with the other.
        """
        meta, shown = colony["metadata"], self._status(colony, self._facts(asked, self._refusals(asked)))
        self._taken += 1
        try:
            if few := self._taken <= FEW:
                await self._show(colony, shown)
            if await self._hold(meta):
                await self.follow((meta["namespace"], meta["name"]))
            elif not few:
                await self._show(colony, shown)
        finally:
            self._taken -= 1

    async def _speak(self, colony: Object, asked: tuple[Wish, ...]) -> None:
        """Show what is, and say what is wanted: neither waits for the other, nor is stopped by its failure."""
        refusals = self._refusals(asked)
        wanted = tuple(wish for wish in asked if not refusals[wish.name])
        dropped = self._dropped(colony["metadata"], {wish.name for wish in asked})
        if any(ended(colony, wish) and self._books.cluster(wish.tenant, wish.name) is None for wish in wanted):
            await self._order(colony, asked, wanted)  # its status alone tells that it has ended: it is written later
        orders = self._order(colony, asked, wanted)
        tells = self._tell(colony, [*self._facts(asked, refusals), *dropped])
        for failed in await asyncio.gather(orders, tells, return_exceptions=True):
            if failed is not None:
                raise failed
        await self._let_go(colony, wanted)

    async def _tell(self, colony: Object, facts: list[Facts]) -> None:
        """Show what is, once the kubeconfig of all clusters is as it is shown; as it was known, if that is to wait."""
        meta, late = colony["metadata"], None
        try:
            await self._open(meta, sources(facts))
        except TryLater as why:
            late = why
        if self.kubeconfigs.status(meta) is not None:
            await self._show(colony, self._status(colony, facts))
        if late:
            raise late

    async def _open(self, meta: Object, wanted: KubeconfigSources) -> None:
        unfounded = not any(state.attempts for state in self._own(meta))
        await self.kubeconfigs.ensure(meta, wanted, never_created=unfounded)

    async def _order(self, colony: Object, asked: tuple[Wish, ...], wanted: tuple[Wish, ...]) -> None:
        """Say what is wanted, and that whatever is not asked for any more shall go."""
        meta = colony["metadata"]
        for wish in wanted:
            await self._wish(colony, wish, release_of(meta) if wish.release else trace_of(meta))
        names = {wish.name for wish in asked}
        for state in self._own(meta):
            if state.wish.name not in names and not (isinstance(state, Released) and state.wish.deleting):
                force = forced(meta.get("annotations", {}))
                await self._say(no_more(state.wish, meta["generation"], force=force))

    def _refusals(self, asked: tuple[Wish, ...]) -> dict[str, str]:
        return {wish.name: self._books.collision(wish) for wish in asked}

    def _facts(self, asked: tuple[Wish, ...], refusals: dict[str, str]) -> list[Facts]:
        facts = ((wish, self._books.facts(wish, refusals[wish.name])) for wish in asked)
        return [replace(known, unseen=self._unseen(wish.need.backend)) for wish, known in facts]

    def _dropped(self, meta: Object, asked: set[str]) -> list[Facts]:
        """Clusters that the Colony asks for no more, as long as anything of them is there: they are still paid for."""
        going = (s.wish for s in self._own(meta) if s.wish.name not in asked and not self._books.over(s))
        wishes = (no_more(wish, meta["generation"]) for wish in going)
        facts = (replace(self._books.facts(wish), dropped=True) for wish in wishes)
        return [each for each in facts if phase(each) != Released.__name__]

    def _status(self, colony: Object, facts: list[Facts]) -> Object:
        told = self.kubeconfigs.status(colony["metadata"]) or KubeconfigStatus()
        return status.status(colony, facts, self._clock(), told)

    async def _wish(self, colony: Object, wish: Wish, trace: Trace) -> None:
        """Say what is wanted of a cluster; of one to be founded anew, only once the proof of its end is there."""
        state = self._books.cluster(wish.tenant, wish.name)
        if state is None:
            await self._ask(colony, wish, trace)
            return
        self._unknown.pop((wish.tenant, wish.name), None)
        if state.wish.uid == wish.uid and not _anew(state, wish):
            await self._say(wish, self._unless_edited(wish, trace))
        elif self._books.over(state):
            await self._say(wish, trace, again=self._unheard(wish))
        elif state.wish.uid != wish.uid:  # an earlier Colony of the name left it behind
            await self._say(no_more(state.wish, state.wish.generation))

    async def _ask(self, colony: Object, wish: Wish, trace: Trace) -> None:
        """Say what is wanted of a cluster without a history, with all that is left of one: it may have been lost."""
        if self._unseen(wish.need.backend):
            return
        known = remains(colony, wish, self._standing(wish.tenant, wish.name))
        again = self._unknown.get((wish.tenant, wish.name)) != wish
        await self._say(known, self._unless_edited(wish, trace), again=again)
        self._unknown[wish.tenant, wish.name] = wish

    def _dropping(self, wish: Wish) -> Wish:
        return dropping(wish, self._levels.last(Wish, wish.tenant, wish.name))

    def _unheard(self, wish: Wish) -> bool:
        """It was said while the name was still taken, so nobody could follow it."""
        return not wish.deleting and self._levels.last(Wish, wish.tenant, wish.name) == wish

    def _unless_edited(self, wish: Wish, trace: Trace) -> Trace:
        """The trace of the event that a wish is of; none if it was said for that event already: others changed it."""
        last = self._levels.last(Wish, wish.tenant, wish.name) if trace.parent else None
        said = last is not None and (last.event, last.release) == (wish.event, wish.release)
        return NOWHERE if said else trace

    async def _say(self, wish: Wish, trace: Trace = NOWHERE, *, again: bool = False) -> None:
        await self._levels.publish(
            wish, wish.tenant, wish.name, cause=wish.release or wish.event, trace=trace, force=again
        )

    async def _orphans(self, name: Name) -> None:
        """The Colony is not there any more: whatever of it still is has to go."""
        for state in self._books.of(name):
            if not state.wish.deleting:
                await self._say(no_more(state.wish, state.wish.generation))

    def _own(self, meta: Object) -> list[ClusterState]:
        """The clusters this incarnation of the Colony ever asked for."""
        return [s for s in self._books.of((meta["namespace"], meta["name"])) if s.wish.uid == meta["uid"]]

    async def _hold(self, meta: Object) -> bool:
        """Put our finalizer on, whatever else is written meanwhile; nothing is founded unless the answer shows it."""
        wanted = {key: meta[key] for key in ("name", "namespace", "uid")} | {"finalizers": [FINALIZER]}
        try:
            held = await self._kube.apply(COLONIES, {"metadata": wanted}, manager=MANAGER)
        except (NotFound, Denied) as late:  # it is gone, or going: the watch shows it
            log.debug("colony.changed", name=meta["name"], reason=late.message)
            return False
        self._answered(held)
        return FINALIZER in self._newest(held)["metadata"].get("finalizers", ())

    async def _let_go(self, colony: Object, asked: Iterable[Wish]) -> None:
        """Take the finalizer off once every cluster of the Colony is gone, with its proof."""
        if not colony["metadata"].get("deletionTimestamp"):
            return
        # The status written just now has changed the Colony, and its echo will be no news that brings us here again.
        meta = self._newest(colony)["metadata"]
        if FINALIZER not in meta.get("finalizers", ()):
            return
        states = self._own(meta)
        known = {state.wish.name for state in states}
        if all(map(self._books.over, states)) and all(wish.name in known for wish in asked):
            await self._open(meta, {})  # its spec may have been no Colony's any more, and the rest was never looked at
            for state in states:
                await self._forget(state)
            await self._finalizers(meta, [one for one in meta["finalizers"] if one != FINALIZER])

    async def _forget(self, state: ClusterState) -> None:
        tenant, name = state.wish.tenant, state.wish.name
        await self._levels.forget(Wish, tenant, name)
        for number in range(1, state.attempts + 1):
            for backend in BACKENDS:
                await self._levels.forget(InfraSeen, tenant, backend, own_name(name, number))
        if state.wish.need.adopt is not None:
            for names, seen in self._levels.named(InfraSeen, tenant):
                if seen.cluster == name and seen.adopted:  # its mark may be another Colony's by now
                    await self._levels.forget(InfraSeen, *names)

    async def _finalizers(self, meta: Object, wanted: list[str]) -> None:
        patch = {"metadata": {"resourceVersion": meta["resourceVersion"], "finalizers": wanted}}
        try:
            await self._kube.patch(COLONIES, meta["name"], meta["namespace"], patch, manager=MANAGER)
        except (NotFound, Denied) as late:  # it has changed since: the watch shows it anew, and we come again
            log.debug("colony.changed", name=meta["name"], reason=late.message)

    async def _show(self, colony: Object, computed: Object) -> None:
        """Write the status if it differs from what the watch last showed."""
        meta, shown = colony["metadata"], colony.get("status", {})
        computed = self._costs.with_shown_cost((meta["namespace"], meta["name"]), computed, shown, self._clock())
        if computed == shown:
            return
        wanted = {"metadata": {"name": meta["name"], "namespace": meta["namespace"]}, "status": computed}
        try:
            self._answered(await self._kube.apply(COLONIES, wanted, manager=MANAGER, subresource="status"))
        except NotFound:
            log.debug("colony.gone", name=meta["name"])


def _anew(state: ClusterState, wish: Wish) -> bool:
    return isinstance(state, Releasing | Released) and wish.asks_anew(state.wish)
