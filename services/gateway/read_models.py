"""The gateway's read models: everything known of every Colony's clusters."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from events.bus import Bus
from events.meters import Meters
from schemas import addon, cluster, teardown
from schemas.addon import AddonState, Withdrawn, addon_name
from schemas.cluster import ClusterState, Launching, Pending, Placed, Placing, Provisioned, Releasing
from schemas.entity import Lifecycle, State
from schemas.infra import InfraSeen
from schemas.inventory import ClusterSeen
from schemas.profile_addons import ProfileAddons
from schemas.registry import declared
from schemas.subjects import Key, names_of
from schemas.teardown import Armed, Gone, TeardownState
from schemas.wish import AddonRef, Wish, own_name
from services.clouds.port import backend_types
from services.gateway.status.facts import Facts
from services.runtime.level_publisher import LevelPublisher
from services.runtime.read_model import ReadModel, entities, levels

BACKENDS = tuple(backend_types())
"""The back ends whose objects are watched."""
Name = tuple[str, str]
"""A Colony's namespace and name."""
Enqueue = Callable[[Name], None]
"""Adds a Colony to the work queue."""
STARTING = (Pending, Placing, Launching, Provisioned)
"""States of a cluster that is being created."""
PASSING = (*STARTING, Armed)
"""States that follow each other within moments: one reconciliation shows them together."""


class ReadModels:
    """Read models of every entity, and of the levels of inventory, back ends and profiles."""

    def __init__(self, bus: Bus, meters: Meters) -> None:
        self.clusters: ReadModel[Key, State] = entities(bus, cluster.LIFECYCLE, meters)
        self.teardowns: ReadModel[Key, State] = entities(bus, teardown.LIFECYCLE, meters)
        self.addons: ReadModel[Key, State] = entities(bus, addon.LIFECYCLE, meters)
        self.seen: ReadModel[str, ClusterSeen] = levels(bus, ClusterSeen, meters)
        self.infra: ReadModel[str, InfraSeen] = levels(bus, InfraSeen, meters)
        self.profiles: ReadModel[str, ProfileAddons] = levels(bus, ProfileAddons, meters)
        self._keys_of_colony: dict[Name, set[Key]] = {}
        self._colonies_of_key: dict[Key, set[Name]] = {}
        self._starting: set[Key] = set()
        self.clusters.listen(self._add, self._remove)

    def _add(self, key: Key, state: State) -> None:
        name = (key.tenant, _colony(state))
        self._keys_of_colony.setdefault(name, set()).add(key)
        self._colonies_of_key.setdefault(key, set()).add(name)
        (self._starting.add if isinstance(state, STARTING) else self._starting.discard)(key)

    def _remove(self, key: Key) -> None:
        self._starting.discard(key)
        for name in self._colonies_of_key.pop(key, ()):
            self._keys_of_colony[name].discard(key)
            if not self._keys_of_colony[name]:
                del self._keys_of_colony[name]

    @property
    def starting(self) -> int:
        """How many clusters are being created."""
        return len(self._starting)

    @property
    def views(self) -> tuple[ReadModel[Any, Any], ...]:
        """All read models."""
        return (self.clusters, self.teardowns, self.addons, self.seen, self.infra, self.profiles)

    @property
    def lives(self) -> tuple[tuple[Lifecycle, ReadModel[Key, State]], ...]:
        """Every kind of entity, with its read model."""
        return (
            (cluster.LIFECYCLE, self.clusters), (teardown.LIFECYCLE, self.teardowns), (addon.LIFECYCLE, self.addons),
        )  # fmt: skip

    def listen(self, now: Enqueue, soon: Enqueue, later: Enqueue) -> None:
        """Call one of them with the Colony that each change concerns.

        It is `soon` if the owner is about to publish more, `later` for mere progress messages of a back end.
        """
        for view in (self.clusters, self.teardowns, self.addons):
            view.listen(lambda key, state: _when(state, now, soon)((key.tenant, _colony(state))))
        for model in (self.seen, self.infra):
            model.listen(lambda subject, level: self._enqueue_level(subject, level, soon, later))
        self.profiles.listen(lambda _, level: soon((level.tenant, level.colony)) if level.colony else None)

    def _enqueue_level(self, subject: str, level: ClusterSeen | InfraSeen, soon: Enqueue, later: Enqueue) -> None:
        tenant = names_of(subject)[2]
        state = self.cluster(tenant, level.cluster)
        if state is not None:
            enqueue = later if isinstance(state, Launching) and _is_progress_message(level) else soon
            enqueue((tenant, state.wish.colony))

    def cluster(self, tenant: str, name: str) -> ClusterState | None:
        """A cluster's state."""
        state = self.clusters.get(Key("cluster", tenant, name))
        return state if isinstance(state, ClusterState) else None

    def all_clusters(self) -> Iterator[ClusterState]:
        """The state of every cluster that is known."""
        return (state for _, state in self.clusters if isinstance(state, ClusterState))

    def teardown(self, tenant: str, name: str) -> TeardownState | None:
        """A cluster's teardown."""
        state = self.teardowns.get(Key("teardown", tenant, name))
        return state if isinstance(state, TeardownState) else None

    def clusters_of(self, name: Name) -> Iterator[ClusterState]:
        """Every cluster whose last incarnation is of a Colony of this name."""
        for key in self._keys_of_colony.get(name, ()):
            state = self.cluster(key.tenant, key.name)
            if state is not None and state.wish.colony == name[1]:
                yield state

    def unfinished_colonies(self) -> Iterator[Name]:
        """Every Colony with a cluster that is not released and gone."""
        return (
            name
            for name in tuple(self._keys_of_colony)
            if any(self._unfinished(state) for state in self.clusters_of(name))
        )

    def _unfinished(self, state: ClusterState) -> bool:
        return not (state.wish.deleting and self.is_gone(state))

    def facts(self, wish: Wish, refused: str = "") -> Facts:
        """All that is known of a wish's cluster."""
        state = self.cluster(wish.tenant, wish.name)
        if refused or (state is not None and state.wish.uid != wish.uid):
            return Facts(wish, refused)
        teardown, given = self.teardown(wish.tenant, wish.name), self._given(wish, state)
        return Facts(
            wish,
            cluster=state,
            teardown=teardown if teardown and state and teardown.uid == state.uid else None,
            addons=tuple(self._addons(wish, state, given)) if state else (),
            profile_addons=given,
            seen=self.seen.get(declared(ClusterSeen).at(wish.tenant, wish.name)),
            infra=self._infra(wish, state),
        )

    def _given(self, wish: Wish, state: ClusterState | None) -> tuple[AddonRef, ...]:
        """What profiles want this incarnation of a cluster to have."""
        level = self.profiles.get(declared(ProfileAddons).at(wish.tenant, wish.name))
        return level.addons if level and state and level.uid == state.uid else ()

    def _addons(self, wish: Wish, state: ClusterState, given: tuple[AddonRef, ...]) -> Iterator[AddonState]:
        """The wanted add-ons, and dropped ones of the Colony as long as anything of them is left."""
        for name in (*(ref.name for ref in (*wish.addons, *given)), *wish.dropped):
            found = self.addons.get(Key("addon", wish.tenant, addon_name(wish.name, name)))
            if not isinstance(found, AddonState) or found.uid != state.uid:
                continue
            if name not in wish.dropped or not isinstance(found, Withdrawn) or found.message:
                yield found

    def _infra(self, wish: Wish, state: ClusterState | None) -> InfraSeen | None:
        """What its own object shows; the endpoint may come from the Cluster API object beneath, as with k0rdent."""
        if not isinstance(state, Placed | Releasing):
            return None
        name = state.attempt.object_name(wish.name)
        found = (self.infra.get(declared(InfraSeen).at(wish.tenant, backend, name)) for backend in BACKENDS)
        shown = [seen for seen in found if seen and (seen.uid, seen.attempt) == (state.uid, state.attempt.number)]
        own = next((seen for seen in shown if seen.backend == state.wish.need.backend), None)
        endpoint = next((seen.endpoint for seen in shown if seen.endpoint), "")
        return own.but(endpoint=endpoint) if own else None

    def collision(self, wish: Wish) -> str:
        """Why a wish cannot be followed: another Colony's cluster has its name."""
        state = self.cluster(wish.tenant, wish.name)
        if state is None or state.wish.colony == wish.colony or self.is_gone(state):
            return ""
        return (
            f"the name {wish.name} is taken by cluster {state.wish.cluster} of Colony {state.wish.colony}: rename one"
        )

    def is_gone(self, state: ClusterState) -> bool:
        """Whether a cluster's teardown has reached its end, with its proof."""
        teardown = self.teardown(state.wish.tenant, state.wish.name)
        return isinstance(teardown, Gone) and teardown.uid == state.uid


def _when(state: State, now: Enqueue, soon: Enqueue) -> Enqueue:
    return soon if isinstance(state, PASSING) else now


def _is_progress_message(level: ClusterSeen | InfraSeen) -> bool:
    """Whether it is progress of a launch on which its owner does not act."""
    return isinstance(level, InfraSeen) and level.present and not (level.reachable or level.deleting or level.failure)


def _colony(state: msgspec.Struct) -> str:
    return state.colony if isinstance(state, AddonState) else str(state.wish.colony)  # type: ignore[attr-defined]


async def forget_levels(levels: LevelPublisher, state: ClusterState) -> None:
    """Forget the wish and the objects of a cluster that is gone."""
    tenant, name = state.wish.tenant, state.wish.name
    await levels.forget(Wish, tenant, name)
    for number in range(1, state.attempts + 1):
        for backend in BACKENDS:
            await levels.forget(InfraSeen, tenant, backend, own_name(name, number))
    if state.wish.need.adopt is not None:
        for names, seen in levels.named(InfraSeen, tenant):
            if seen.cluster == name and seen.adopted:  # its label may name another Colony by now
                await levels.forget(InfraSeen, *names)
