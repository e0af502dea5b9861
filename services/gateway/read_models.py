"""The gateway's books: everything it knows of every Colony's clusters, by Colony."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from events.bus import Bus
from events.meters import Meters
from schemas import addon, cluster, teardown
from schemas.addon import AddonState, Withdrawn, addon_name
from schemas.cluster import ClusterState, Founded, Launching, Placing, Provisioned, Releasing, Requested
from schemas.entity import State
from schemas.infra import InfraSeen
from schemas.inventory import ClusterSeen
from schemas.lifecycle import Lifecycle
from schemas.registry import declared
from schemas.subjects import Key, names_of
from schemas.teardown import Armed, Gone, TeardownState
from schemas.wish import Wish
from services.clouds import kinds
from services.gateway.status.facts import Facts
from services.runtime.read_model import ReadModel, entities, levels

BACKENDS = tuple(kinds())
"""Whose objects are seen."""
Name = tuple[str, str]
"""A Colony's namespace and name."""
Look = Callable[[Name], None]
"""Has a Colony looked at."""
FOUNDING = (Requested, Placing, Launching, Provisioned)
"""States of a cluster that is on its way."""
PASSING = (*FOUNDING, Armed)
"""States that others come right after, or that come right after others: one look shows both."""


class Books:
    """Views of every history and of what inventory and back ends show."""

    def __init__(self, bus: Bus, meters: Meters) -> None:
        self.clusters: ReadModel[Key, State] = entities(bus, cluster.LIFECYCLE, meters)
        self.teardowns: ReadModel[Key, State] = entities(bus, teardown.LIFECYCLE, meters)
        self.addons: ReadModel[Key, State] = entities(bus, addon.LIFECYCLE, meters)
        self.seen: ReadModel[str, ClusterSeen] = levels(bus, ClusterSeen, meters)
        self.infra: ReadModel[str, InfraSeen] = levels(bus, InfraSeen, meters)
        self._of: dict[Name, set[Key]] = {}
        self._names: dict[Key, set[Name]] = {}
        self._founding: set[Key] = set()
        self.clusters.listen(self._enter, self._leave)

    def _enter(self, key: Key, state: State) -> None:
        name = (key.tenant, _colony(state))
        self._of.setdefault(name, set()).add(key)
        self._names.setdefault(key, set()).add(name)
        (self._founding.add if isinstance(state, FOUNDING) else self._founding.discard)(key)

    def _leave(self, key: Key) -> None:
        self._founding.discard(key)
        for name in self._names.pop(key, ()):
            self._of[name].discard(key)
            if not self._of[name]:
                del self._of[name]

    @property
    def founding(self) -> int:
        """How many clusters are on their way."""
        return len(self._founding)

    @property
    def views(self) -> tuple[ReadModel[Any, Any], ...]:
        """All of them."""
        return (self.clusters, self.teardowns, self.addons, self.seen, self.infra)

    @property
    def lives(self) -> tuple[tuple[Lifecycle, ReadModel[Key, State]], ...]:
        """Every kind of entity, with all there are of it."""
        return (
            (cluster.LIFECYCLE, self.clusters), (teardown.LIFECYCLE, self.teardowns), (addon.LIFECYCLE, self.addons),
        )  # fmt: skip

    def listen(self, now: Look, soon: Look, later: Look) -> None:
        """Call one of them with the Colony each news is about.

        It is `soon` if the owner is about to make more of the news, `later` if they are words of a back end alone.
        """
        for view in (self.clusters, self.teardowns, self.addons):
            view.listen(lambda key, state: _in(state, now, soon)((key.tenant, _colony(state))))
        for level in (self.seen, self.infra):
            level.listen(lambda subject, news: self._about(subject, news, soon, later))

    def _about(self, subject: str, news: ClusterSeen | InfraSeen, soon: Look, later: Look) -> None:
        tenant = names_of(subject)[2]
        state = self.cluster(tenant, news.cluster)
        if state is not None:
            look = later if isinstance(state, Launching) and _words_alone(news) else soon
            look((tenant, state.wish.colony))

    def cluster(self, tenant: str, name: str) -> ClusterState | None:
        """A cluster's state."""
        state = self.clusters.get(Key("cluster", tenant, name))
        return state if isinstance(state, ClusterState) else None

    def all_clusters(self) -> Iterator[ClusterState]:
        """The state of every cluster that is kept."""
        return (state for _, state in self.clusters if isinstance(state, ClusterState))

    def teardown(self, tenant: str, name: str) -> TeardownState | None:
        """A cluster's teardown."""
        state = self.teardowns.get(Key("teardown", tenant, name))
        return state if isinstance(state, TeardownState) else None

    def of(self, name: Name) -> Iterator[ClusterState]:
        """Every cluster whose last incarnation is of a Colony of this name."""
        for key in self._of.get(name, ()):
            state = self.cluster(key.tenant, key.name)
            if state is not None and state.wish.colony == name[1]:
                yield state

    def alive(self) -> Iterator[Name]:
        """Every Colony of which something is not over yet, or would be kept for it."""
        return (name for name in tuple(self._of) if any(self._kept(state) for state in self.of(name)))

    def _kept(self, state: ClusterState) -> bool:
        return not (state.wish.deleting and self.over(state))

    def facts(self, wish: Wish, refused: str = "") -> Facts:
        """All that is known of a wish's cluster."""
        state = self.cluster(wish.tenant, wish.name)
        if refused or (state is not None and state.wish.uid != wish.uid):
            return Facts(wish, refused)
        teardown = self.teardown(wish.tenant, wish.name)
        return Facts(
            wish,
            cluster=state,
            teardown=teardown if teardown and state and teardown.uid == state.uid else None,
            addons=tuple(self._addons(wish, state)) if state else (),
            seen=self.seen.get(declared(ClusterSeen).at(wish.tenant, wish.name)),
            infra=self._infra(wish, state),
        )

    def _addons(self, wish: Wish, state: ClusterState) -> Iterator[AddonState]:
        """Also of one that is not asked for any more, as long as anything of it is there."""
        for name in (*(ref.name for ref in wish.addons), *wish.dropped):
            found = self.addons.get(Key("addon", wish.tenant, addon_name(wish.name, name)))
            if not isinstance(found, AddonState) or found.uid != state.uid:
                continue
            if name not in wish.dropped or not isinstance(found, Withdrawn) or found.message:
                yield found

    def _infra(self, wish: Wish, state: ClusterState | None) -> InfraSeen | None:
        """What its own object shows; where its API is may be told by the Cluster beneath, as k0rdent's tells it not."""
        if not isinstance(state, Founded | Releasing):
            return None
        name = state.attempt.object_name(wish.name)
        found = (self.infra.get(declared(InfraSeen).at(wish.tenant, backend, name)) for backend in BACKENDS)
        shown = [seen for seen in found if seen and (seen.uid, seen.attempt) == (state.uid, state.attempt.number)]
        own = next((seen for seen in shown if seen.backend == state.wish.need.backend), None)
        told = next((seen.endpoint for seen in shown if seen.endpoint), "")
        return msgspec.structs.replace(own, endpoint=told) if own else None

    def collision(self, wish: Wish) -> str:
        """Why a wish cannot be followed: another Colony's cluster has its name."""
        state = self.cluster(wish.tenant, wish.name)
        if state is None or state.wish.colony == wish.colony or self.over(state):
            return ""
        return (
            f"the name {wish.name} is taken by cluster {state.wish.cluster} of Colony {state.wish.colony}: rename one"
        )

    def over(self, state: ClusterState) -> bool:
        """Whether a cluster's teardown has reached its end, with its proof."""
        teardown = self.teardown(state.wish.tenant, state.wish.name)
        return isinstance(teardown, Gone) and teardown.uid == state.uid


def _in(state: State, now: Look, soon: Look) -> Look:
    return soon if isinstance(state, PASSING) else now


def _words_alone(news: ClusterSeen | InfraSeen) -> bool:
    """What a back end tells of a launch that its owner goes on waiting for."""
    return isinstance(news, InfraSeen) and news.present and not (news.reachable or news.going or news.failure)


def _colony(state: msgspec.Struct) -> str:
    return state.colony if isinstance(state, AddonState) else str(state.wish.colony)  # type: ignore[attr-defined]
