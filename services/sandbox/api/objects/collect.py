"""The garbage collector: deletes objects whose owners are gone, and finishes deletions that waited for dependents."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress

import structlog

from events.bus import Unavailable
from events.kube.client import Object
from services.sandbox.api.objects.delete import CLEANUP, FOREGROUND, ORPHAN, Options, Remover
from services.sandbox.api.objects.write import ObjectWriter
from services.sandbox.api.schema.catalog import Catalog
from services.sandbox.api.schema.custom import DEFINITIONS
from services.sandbox.api.schema.kinds import builtins
from services.sandbox.api.status import StatusError
from services.sandbox.api.store.store import EncodedObject, ObjectKey, Store, StoreChange, Topic

_log = structlog.get_logger()


class Collector:
    """Follows the store and keeps a set of objects to check; each check is idempotent."""

    def __init__(self, store: Store, catalog: Catalog, writer: ObjectWriter, remover: Remover) -> None:
        self._store = store
        self._catalog = catalog
        self._writer = writer
        self._remover = remover
        self._dependents: dict[str, set[ObjectKey]] = {}  # by the owner's uid
        self._waiting: set[ObjectKey] = set()  # namespaces and definitions that wait for their objects to go
        self._todo: dict[ObjectKey, None] = {}
        self._more = asyncio.Event()
        store.listeners.append(self._follow)

    def load(self) -> None:
        """Check every object that has owners or dependents, or is being deleted."""
        for cluster, tables in self._store.clusters.items():
            for (group, plural), table in tables.items():
                for (namespace, name), entry in table.items():
                    self._note(ObjectKey(cluster, group, plural, namespace, name), entry)

    async def run(self) -> None:
        """Check one object after the other, until cancelled."""
        while True:
            await self._more.wait()
            self._more.clear()
            while self._todo:
                key = next(iter(self._todo))
                del self._todo[key]
                await self._look(key)

    async def _look(self, key: ObjectKey) -> None:
        try:
            entry = self._store.get(key)
            if entry and key.cluster in self._store.clusters:
                await self._judge(key, entry.read())
        except StatusError as refused:  # somebody else was faster; the next change is looked at again
            _log.info("sandbox.gc.skipped", key=key, reason=str(refused))
        except Unavailable:
            _log.warning("sandbox.gc.delayed", key=key)
            await asyncio.sleep(1.0)
            self._again(key)

    async def _judge(self, key: ObjectKey, found: Object) -> None:
        if "deletionTimestamp" in found["metadata"]:
            await self._leaving(key, found)
        if found["metadata"].get("ownerReferences"):
            await self._dependent(key, found)

    # -- what leaves -------------------------------------------------------------------------------------------

    async def _leaving(self, key: ObjectKey, found: Object) -> None:
        finalizers = found["metadata"].get("finalizers", ())
        if ORPHAN in finalizers:
            for dependent in self._owned_by(found):
                await self._writer.edit(dependent, _disowned({found["metadata"]["uid"]}))
            await self._writer.edit(key, _released(ORPHAN))
        elif FOREGROUND in finalizers:
            await self._foreground(key, found)
        if key[1:3] == ("", "namespaces"):
            await self._empty(key, self._contents(key), _unheld)
        elif CLEANUP in finalizers:
            await self._empty(key, self._objects(key), _released(CLEANUP))

    async def _foreground(self, key: ObjectKey, found: Object) -> None:
        uid = found["metadata"]["uid"]
        blocking = [d for d in self._owned_by(found) if self._blocks(d, uid)]
        for dependent in blocking:
            self._again(dependent)
        if not blocking:
            await self._writer.edit(key, _released(FOREGROUND))

    def _blocks(self, dependent: ObjectKey, uid: str) -> bool:
        entry = self._store.get(dependent)
        owners = entry.read()["metadata"].get("ownerReferences", ()) if entry else ()
        return any(owner["uid"] == uid and owner.get("blockOwnerDeletion") for owner in owners)

    async def _empty(self, key: ObjectKey, contents: list[ObjectKey], release: Callable[[Object], None]) -> None:
        self._waiting.add(key)
        for inner in contents:
            await self._delete(inner, "")
        await self._store.settled(lambda k: key in self._homes(k))
        left = set(self._left(key))
        if left - set(contents):  # written while we were deleting
            self._again(key)
        if not left:
            self._waiting.discard(key)
            await self._writer.edit(key, release)

    def _left(self, key: ObjectKey) -> list[ObjectKey]:
        return self._contents(key) if key.plural == "namespaces" else self._objects(key)

    def _contents(self, key: ObjectKey) -> list[ObjectKey]:
        tables = self._store.clusters.get(key.cluster, {})
        return [ObjectKey(key.cluster, *t, *at) for t, table in tables.items() for at in table if at[0] == key.name]

    def _objects(self, key: ObjectKey) -> list[ObjectKey]:
        topic = _topic_of(key)
        return [ObjectKey(*topic, *at) for at in self._store.table(topic)]

    def _homes(self, key: ObjectKey) -> set[ObjectKey]:
        namespace = ObjectKey(key.cluster, "", "namespaces", "", key.namespace)
        definition = ObjectKey(key.cluster, *DEFINITIONS, "", f"{key.plural}.{key.group}")
        return {namespace, definition} & self._waiting

    # -- what is owned -----------------------------------------------------------------------------------------

    async def _dependent(self, key: ObjectKey, found: Object) -> None:
        owners = {ref["uid"]: self._owner(key, ref) for ref in found["metadata"]["ownerReferences"]}
        staying = {uid for uid, owner in owners.items() if owner and not _waits(owner)}
        waiting = {uid for uid, owner in owners.items() if owner and _waits(owner)}
        if staying:
            if owners.keys() - staying:
                await self._writer.edit(key, _disowned(set(owners) - staying))
        elif "deletionTimestamp" not in found["metadata"]:
            foreground = waiting and self._owned_by(found)
            await self._delete(key, "Foreground" if foreground else _kept_policy(found))

    def _owner(self, key: ObjectKey, reference: Object) -> Object | None:
        kind = self._catalog.by_kind(key.cluster, reference["apiVersion"], reference["kind"])
        if kind is None:
            return None
        namespace = key.namespace if kind.namespaced else ""
        entry = self._store.get(ObjectKey(key.cluster, kind.group, kind.plural, namespace, reference["name"]))
        found = entry.read() if entry else None
        return found if found and found["metadata"]["uid"] == reference["uid"] else None

    def _owned_by(self, owner: Object) -> list[ObjectKey]:
        return sorted(self._dependents.get(owner["metadata"]["uid"], ()))

    async def _delete(self, key: ObjectKey, policy: str) -> None:
        at = next((k for k in builtins().values() if (k.group, k.plural) == key[1:3]), None)
        kind = at or next(k for k in self._catalog.all(key.cluster) if (k.group, k.plural) == key[1:3])
        with suppress(StatusError):  # gone already, or one that stays (default, kube-system)
            await self._remover.delete(kind, key, Options(policy))

    # -- following ---------------------------------------------------------------------------------------------

    def _follow(self, change: StoreChange) -> None:
        self._note(change.key, change.after)
        if change.after is None and change.before:
            self._gone(change.key, change.before.read())

    def _note(self, key: ObjectKey, entry: EncodedObject | None) -> None:
        if entry is None or not (b'"ownerReferences"' in entry.data or b'"deletionTimestamp"' in entry.data):
            return
        for owner in entry.read()["metadata"].get("ownerReferences", ()):
            self._dependents.setdefault(owner["uid"], set()).add(key)
        self._again(key)

    def _gone(self, key: ObjectKey, last: Object) -> None:
        for owner in last["metadata"].get("ownerReferences", ()):
            self._dependents.get(owner["uid"], set()).discard(key)
            for waiting in self._owner_keys(key, owner):
                self._again(waiting)
        for dependent in self._dependents.pop(last["metadata"]["uid"], ()):
            self._again(dependent)
        for home in self._homes(key):
            self._again(home)
        self._more.set()

    def _owner_keys(self, key: ObjectKey, owner: Object) -> Iterator[ObjectKey]:
        if kind := self._catalog.by_kind(key.cluster, owner["apiVersion"], owner["kind"]):
            namespace = key.namespace if kind.namespaced else ""
            yield ObjectKey(key.cluster, kind.group, kind.plural, namespace, owner["name"])

    def _again(self, key: ObjectKey) -> None:
        self._todo[key] = None
        self._more.set()


def _topic_of(definition: ObjectKey) -> Topic:
    plural, _, group = definition.name.partition(".")
    return Topic(definition.cluster, group, plural)


def _waits(owner: Object) -> bool:
    meta = owner["metadata"]
    return "deletionTimestamp" in meta and FOREGROUND in meta.get("finalizers", ())


def _kept_policy(found: Object) -> str:
    finalizers = found["metadata"].get("finalizers", ())
    return "Orphan" if ORPHAN in finalizers else "Foreground" if FOREGROUND in finalizers else "Background"


def _released(finalizer: str) -> Callable[[Object], None]:
    def change(found: Object) -> None:
        kept = [f for f in found["metadata"].get("finalizers", ()) if f != finalizer]
        found["metadata"]["finalizers"] = kept
        if not kept:
            del found["metadata"]["finalizers"]

    return change


def _disowned(uids: set[str]) -> Callable[[Object], None]:
    def change(found: Object) -> None:
        kept = [ref for ref in found["metadata"].get("ownerReferences", ()) if ref["uid"] not in uids]
        found["metadata"]["ownerReferences"] = kept
        if not kept:
            del found["metadata"]["ownerReferences"]

    return change


def _unheld(namespace: Object) -> None:
    namespace["spec"] = {**namespace["spec"], "finalizers": []}
