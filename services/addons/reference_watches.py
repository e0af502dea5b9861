"""Watches the objects that descriptions of add-ons refer to, and says which add-ons a changed one concerns."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field

import structlog

from events.errors import Fault, NotFound
from events.kube.client import Changed, Kube, Listed, Lost, Object, Resource, Sight
from events.kube.discovery import find
from services.addons.recheck import AddonKey
from services.addons.references import ReferencedKind, ReferencedObject

MOST = 512
"""Watches of one process: a kind of one namespace each. What is beyond it shows when its add-ons are checked."""
AGAIN = 60.0
"""Seconds until a watch that was refused, or of a kind that is not there, is tried again."""
GONE = "gone"
"""The version of an object that is not there."""

log = structlog.get_logger()


@dataclass
class _Followed:
    """One kind of one namespace: which add-ons refer to its objects, and the task that watches them."""

    addons: dict[str, set[AddonKey]] = field(default_factory=dict)
    """By the object's name."""
    versions: dict[str, str] = field(default_factory=dict)
    """The last that was seen of each object, by its name."""
    task: asyncio.Task[None] | None = None


class ReferenceWatches:
    """One watch of metadata per kind and namespace, however many add-ons refer to its objects; `close` it."""

    def __init__(self, management: Kube, most: int = MOST) -> None:
        self._management = management
        self._most = most
        self._changed: Callable[[str, str, str], None] = lambda *_: None
        self._of: dict[AddonKey, frozenset[ReferencedObject]] = {}
        self._kinds: dict[ReferencedKind, _Followed] = {}
        self._running: set[asyncio.Task[None]] = set()

    def listen(self, changed: Callable[[str, str, str], None]) -> None:
        """From now on call this one, with tenant, cluster and add-on, of each add-on that a change concerns."""
        self._changed = changed

    @property
    def number(self) -> int:
        """How many watches there are."""
        return len(self._running)

    def follow(self, addon: AddonKey, refers_to: frozenset[ReferencedObject]) -> None:
        """From now on these are the objects that the add-on's description refers to."""
        before = self._of.get(addon, frozenset())
        for each in before - refers_to:
            self._leave(addon, each)
        for each in refers_to - before:
            followed = self._kinds.setdefault(each.of, _Followed())
            followed.addons.setdefault(each.name, set()).add(addon)
        self._of[addon] = refers_to
        for kind in {each.of for each in refers_to}:
            self._watch(kind, self._kinds[kind])

    def drop(self, addon: AddonKey) -> None:
        """The add-on is withdrawn."""
        for each in self._of.pop(addon, frozenset()):
            self._leave(addon, each)

    async def close(self) -> None:
        """End every watch."""
        for followed in self._kinds.values():
            if followed.task is not None:
                followed.task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    def _leave(self, addon: AddonKey, one: ReferencedObject) -> None:
        followed = self._kinds[one.of]
        followed.addons[one.name].discard(addon)
        if not followed.addons[one.name]:
            del followed.addons[one.name]
            followed.versions.pop(one.name, None)
        if not followed.addons:
            del self._kinds[one.of]
            if followed.task is not None:
                followed.task.cancel()

    def _watch(self, kind: ReferencedKind, followed: _Followed) -> None:
        if followed.task is not None or len(self._running) >= self._most:
            return
        followed.task = asyncio.create_task(self._run(kind, followed))
        self._running.add(followed.task)
        followed.task.add_done_callback(self._running.discard)

    async def _run(self, kind: ReferencedKind, followed: _Followed) -> None:
        """Until it is cancelled; while it is refused, changes show when the add-ons are checked."""
        while True:
            try:
                reason = await self._see_all(kind, followed)
            except Fault as fault:
                reason = fault.message
            log.warning("addons.reference_unwatched", tenant=kind.namespace, kind=kind.kind, reason=reason)
            followed.versions.clear()
            await asyncio.sleep(AGAIN)

    async def _see_all(self, kind: ReferencedKind, followed: _Followed) -> str:
        """Gives why the watch is refused. Raises Fault if nothing is known of the kind."""
        resource = await self._resource(kind)
        namespace = kind.namespace if resource.namespaced else None
        async with aclosing(self._management.watch(resource, namespace, metadata=True)) as sights:
            async for sight in sights:
                if isinstance(sight, Lost) and sight.refused:
                    return sight.reason
                self._see(followed, sight)
        return ""

    async def _resource(self, kind: ReferencedKind) -> Resource:
        for version in kind.versions:
            try:
                return await find(self._management, version, kind.kind)
            except NotFound:
                continue
        raise NotFound(f"the management cluster has no kind {kind.kind}")

    def _see(self, followed: _Followed, sight: Sight) -> None:
        """Objects of a first list are as the add-ons have read them, or else their next check finds that out."""
        if isinstance(sight, Listed):
            there = {item["metadata"]["name"]: _version(item) for item in sight.items}
            for name in tuple(followed.addons):
                self._note(followed, name, there.get(name, GONE), first=name not in followed.versions)
        elif isinstance(sight, Changed):
            self._note(followed, sight.object["metadata"]["name"], GONE if sight.gone else _version(sight.object))

    def _note(self, followed: _Followed, name: str, version: str, *, first: bool = False) -> None:
        addons = followed.addons.get(name)
        if addons is None or followed.versions.get(name) == version:
            return
        followed.versions[name] = version
        for addon in () if first else tuple(addons):
            self._changed(*addon)


def _version(item: Object) -> str:
    return str(item["metadata"].get("resourceVersion", ""))
