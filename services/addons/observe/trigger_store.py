"""The Triggers that name objects of clusters, watched and read once per version."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any, NamedTuple

from events.kube.client import Kube, Object
from events.kube.resources import TRIGGERS
from schemas.crds import InvalidResource, WatchedObjectsSpec, read_trigger
from services.addons.observe.watched import WatchOwner
from services.kubernetes.malformed import MALFORMED
from services.runtime.watch_follower import follow


class WatchingTrigger(NamedTuple):
    """A Trigger, and the objects that it names."""

    item: Object
    objects: tuple[WatchedObjectsSpec, ...]

    @property
    def generation(self) -> int:
        """Of its spec."""
        return int(self.item["metadata"].get("generation", 0))


class TriggerStore:
    """Every Trigger that names objects or did so, while `run` runs."""

    def __init__(self, kube: Kube, changed: Callable[[WatchOwner], None]) -> None:
        self.listed = asyncio.Event()
        """Set once all are known."""
        self._kube = kube
        self._changed = changed
        self._known: dict[WatchOwner, WatchingTrigger] = {}

    def __iter__(self) -> Iterator[WatchOwner]:
        return iter(tuple(self._known))

    def get(self, name: WatchOwner) -> WatchingTrigger | None:
        """A Trigger; None if there is none."""
        return self._known.get(name)

    def run(self) -> Coroutine[Any, Any, None]:
        """Watch until cancelled."""
        return follow(self._kube.watch(TRIGGERS), self)

    def on_list(self, items: Sequence[Object]) -> None:
        """These are all."""
        here = {_name(item): item for item in items}
        for gone in self._known.keys() - here.keys():
            self._drop(gone)
        for name, item in here.items():
            self._keep(name, item)

    def on_change(self, item: Object, *, gone: bool) -> None:
        """One was added or changed, or is gone."""
        self._drop(_name(item)) if gone else self._keep(_name(item), item)

    def _keep(self, name: WatchOwner, item: Object) -> None:
        """One that cannot be read keeps the objects that it had: the edge says why."""
        before = self._known.get(name)
        try:
            objects = tuple(read_trigger(item).spec.objects)
        except (InvalidResource, *MALFORMED):
            objects = before.objects if before else ()
        if before is not None and (before.objects, before.generation) == (
            objects,
            WatchingTrigger(item, ()).generation,
        ):
            self._known[name] = before._replace(item=item)
        elif objects or before is not None:
            self._known[name] = WatchingTrigger(item, objects)
            self._changed(name)

    def _drop(self, name: WatchOwner) -> None:
        if self._known.pop(name, None) is not None:
            self._changed(name)


def _name(item: Object) -> WatchOwner:
    return item["metadata"]["namespace"], item["metadata"]["name"]
