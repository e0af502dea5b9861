"""Creates, updates, patches and applies: one write at a time per object, validated, skipped if nothing changes."""

from collections.abc import Callable
from dataclasses import dataclass, field

from events.kube.client import Object
from services.sandbox.api.objects import admit, managed, meta, patch
from services.sandbox.api.objects.managed import Hand, Manager
from services.sandbox.api.schema.catalog import Catalog
from services.sandbox.api.schema.custom import DEFINITIONS, established, wrong
from services.sandbox.api.schema.fields import json_text
from services.sandbox.api.schema.schema import zero
from services.sandbox.api.status import (
    FieldError,
    StatusError,
    bad_request,
    conflict,
    exists,
    forbidden,
    invalid,
    not_found,
)
from services.sandbox.api.store.store import EncodedObject, ObjectKey, Store, encode
from services.sandbox.api.wire import bodies
from services.sandbox.api.wire.query import PATCH_OPTIONS, Called, declared, known_mode, own_half, strict
from services.sandbox.api.wire.request import ApiRequest, RequestClock, stamp

NewUid = Callable[[], str]


@dataclass(slots=True)
class WriteResult:
    """The result of a write."""

    entry: EncodedObject
    created: bool = False
    warnings: list[str] = field(default_factory=list)


class ObjectWriter:
    """Creates, updates, patches and applies."""

    def __init__(self, store: Store, catalog: Catalog, clock: RequestClock, new_uid: NewUid) -> None:
        self._store = store
        self._catalog = catalog
        self._clock = clock
        self._new_uid = new_uid

    async def create(self, ask: ApiRequest, new: Object) -> WriteResult:
        """Create an object. Raises `StatusError`: 409 if it exists, 404 without its namespace, 422 if invalid."""
        if new["metadata"].get("resourceVersion"):
            raise StatusError(500, "", "resourceVersion should not be set on objects to be created")
        unknown = self._begin(ask, None, new)
        uid = self._new_uid()
        sent = new["metadata"].get("managedFields")
        admit.born(ask.kind, new, ask.place.namespace, uid, stamp(self._clock))
        async with self._store.alone(key := ask.key(new["metadata"]["name"])):
            self._room(ask, key)
            if sent != []:
                self._own(ask, {"metadata": {}, **({} if ask.kind.custom else zero(ask.kind.schema))}, new)
            self._ready(ask, None, new)
            if self._store.get(key):
                raise exists(ask.kind, key.name)
            warnings = [*unknown, *meta.advice(new["metadata"], custom=ask.kind.custom)]
            return WriteResult(await self._put(ask, key, new), created=True, warnings=warnings)

    async def update(self, ask: ApiRequest, change: Callable[[Object], Object], *, through: str = "") -> WriteResult:
        """Replace the object by the result of `change`.

        Raises `StatusError`: 404, 409, 422. `through` is the subresource that was written, if it shows a part of the
        object.
        """
        async with self._store.alone(key := ask.key()):
            entry, old = self._found(ask, key)
            asked = change(entry.read())
            self._fresh(ask, entry, asked)
            unknown = self._begin(ask, old, asked)
            new = admit.kept(ask.kind, old, asked, ask.place.subresource)
            self._ready(ask, old, new)
            self._own(ask, old, new, through=through)
            return WriteResult(await self._settle(ask, key, entry, new), warnings=unknown)

    async def apply(self, ask: ApiRequest, config: Object) -> WriteResult:
        """Server-side apply. Raises `StatusError`: 409 on conflicts, 422, 500 for undeclared fields."""
        sent = config["metadata"]
        hand, config = self._applying(ask, config)
        async with self._store.alone(key := ask.key()):
            entry = self._store.get(key)
            if entry is None:
                return await self._apply_new(ask, key, config, hand)
            self._fresh(ask, entry, {"metadata": {"resourceVersion": entry.revision, **sent}})
            old = _bare(entry)
            ownership = managed.starting(old, old, subresource=True)
            if not ownership.entries:
                ownership = managed.unowned(old, ask.kind.schema, ask.kind.api_version, stamp(self._clock))
            new = managed.apply(old, config, ask.kind.schema, ownership, hand)
            new = admit.kept(ask.kind, old, new, ask.place.subresource)
            admit.shaped(ask.kind, new, old)
            self._ready(ask, old, new)
            new["metadata"]["managedFields"] = ownership.written()
            return WriteResult(await self._settle(ask, key, entry, new))

    async def edit(self, key: ObjectKey, change: Callable[[Object], None]) -> None:
        """Change fields of an object on the server's behalf, if it exists: top-level fields or metadata."""
        async with self._store.alone(key):
            if entry := self._store.get(key):
                new = _bare(entry)
                change(new)
                if new != _bare(entry):
                    self._own_as_the_server(key, _bare(entry), new)
                    await self.store(key, new)

    def _own_as_the_server(self, key: ObjectKey, old: Object, new: Object) -> None:
        kind = self._catalog.by_kind(key.cluster, new["apiVersion"], new["kind"])
        if kind and old["metadata"].get("managedFields"):
            ownership = managed.starting(old, old, subresource=True)
            by = Manager("kube-controller-manager", "Update", kind.api_version)
            managed.updated(old, new, kind.schema, ownership, Hand(by, stamp(self._clock)))
            _written_into(new, ownership)

    async def store(self, key: ObjectKey, new: Object) -> EncodedObject:
        """Store the object, or remove it if its last finalizer is gone (watchers then see its previous version)."""
        entry = self._store.get(key)
        if gone(new) and entry:
            await self._store.remove(key, _bare(entry))
            return EncodedObject(entry.revision, encode(_with_version(_ordered(new), entry.revision)))
        return await self._store.put(key, new)

    async def _apply_new(self, ask: ApiRequest, key: ObjectKey, config: Object, hand: Hand) -> WriteResult:
        if ask.place.subresource:
            raise not_found(ask.kind, key.name)
        self._room(ask, key)
        if uid := config["metadata"].get("uid"):
            why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            raise conflict(ask.kind, key.name, why)
        ownership = managed.Ownership()
        new = managed.apply({}, config, ask.kind.schema, ownership, hand)
        admit.born(ask.kind, new, ask.place.namespace, self._new_uid(), stamp(self._clock))
        admit.shaped(ask.kind, new, None)
        self._ready(ask, None, new)
        new["metadata"]["managedFields"] = ownership.written()
        return WriteResult(await self._put(ask, key, new), created=True)

    def _applying(self, ask: ApiRequest, config: Object) -> tuple[Hand, Object]:
        if not ask.request.query.get("fieldManager"):
            text = "Required value: is required for apply patch"
            raise invalid(PATCH_OPTIONS, "", [FieldError("fieldManager", "FieldValueRequired", text)])
        if config["metadata"].get("managedFields"):
            raise bad_request("metadata.managedFields must be nil")
        self._same_place(ask, config)
        declared(ask, config)
        by = Manager(ask.manager, "Apply", ask.kind.api_version, ask.place.subresource)
        return Hand(by, stamp(self._clock), ask.flag("force")), own_half(ask, config)

    def _begin(self, ask: ApiRequest, old: Object | None, new: Object) -> list[str]:
        known_mode(ask)
        self._same_place(ask, new)
        unknown = [f'unknown field "{path}"' for path in admit.shaped(ask.kind, new, old)]
        mode = ask.request.query.get("fieldValidation") or "Warn"
        if unknown and mode == "Strict":
            raise strict(ask, new, unknown)
        return unknown if mode == "Warn" else []

    def _same_place(self, ask: ApiRequest, new: Object) -> None:
        meta, place = new["metadata"], ask.place
        if place.name and meta.setdefault("name", place.name) != place.name:
            text = f"the name of the object ({meta['name']}) does not match the name on the URL ({place.name})"
            raise bad_request(text)
        if ask.kind.namespaced and (meta.get("namespace") or place.namespace) != place.namespace:
            raise bad_request("the namespace of the provided object does not match the namespace sent on the request")

    def _found(self, ask: ApiRequest, key: ObjectKey) -> tuple[EncodedObject, Object]:
        entry = self._store.get(key)
        if entry is None:
            raise not_found(ask.kind, key.name)
        return entry, _bare(entry)

    def _fresh(self, ask: ApiRequest, entry: EncodedObject, asked: Object) -> None:
        meta = asked["metadata"]
        version = meta.get("resourceVersion") or ""
        if str(version) not in ("", "0", str(entry.revision)):
            raise conflict(ask.kind, ask.place.name)
        if not version and ask.kind.custom:
            text = "Invalid value: 0: must be specified for an update"
            cause = FieldError("metadata.resourceVersion", "FieldValueInvalid", text)
            raise invalid(ask.kind, ask.place.name, [cause], called=ask.kind.plural)
        old = entry.read()["metadata"]["uid"]
        if meta.get("uid") not in (None, "", old):
            if ask.request.method == "PATCH":
                text = f"Invalid value: {json_text(meta['uid'])}: field is immutable"
                raise invalid(ask.kind, ask.place.name, [FieldError("metadata.uid", "FieldValueInvalid", text)])
            why = f"Precondition failed: UID in precondition: {meta['uid']}, UID in object meta: {old}"
            raise conflict(ask.kind, ask.place.name, why)

    def _room(self, ask: ApiRequest, key: ObjectKey) -> None:
        if not ask.kind.namespaced:
            return
        home = self._store.get(ObjectKey(key.cluster, "", "namespaces", "", key.namespace))
        if home is None:
            raise not_found(_NAMESPACES, key.namespace)
        if b'"deletionTimestamp"' in home.data and "deletionTimestamp" in home.read()["metadata"]:
            why = f"unable to create new content in namespace {key.namespace} because it is being terminated"
            cause = FieldError(
                "metadata.namespace", "NamespaceTerminating", f"namespace {key.namespace} is being terminated"
            )
            raise forbidden(ask.kind, key.name, why, cause)

    def _ready(self, ask: ApiRequest, old: Object | None, new: Object) -> None:
        kind = ask.kind
        definition = (kind.group, kind.plural) == DEFINITIONS
        admit.prepared(kind, old, new)
        admit.checked(kind, old, new, wrong(new) if definition else ())
        if definition:
            spec = new["spec"]
            taken = self._catalog.taken(ask.cluster, new["metadata"]["name"], spec["group"], spec["names"]["kind"])
            new["status"] = {**established(new, taken, stamp(self._clock))}
        if old:
            admit.counted(kind, old, new)

    def _own(self, ask: ApiRequest, old: Object, new: Object, *, through: str = "") -> None:
        ownership = managed.starting(old, new, subresource=bool(ask.place.subresource))
        if not ownership.entries and "uid" in old["metadata"]:
            new["metadata"].pop("managedFields", None)
            return  # nobody's object is nobody's until somebody applies to it
        by = Manager(ask.manager, "Update", ask.kind.api_version, through or ask.place.subresource)
        managed.updated(old, new, ask.kind.schema, ownership, Hand(by, stamp(self._clock)))
        _written_into(new, ownership)

    async def _settle(self, ask: ApiRequest, key: ObjectKey, entry: EncodedObject, new: Object) -> EncodedObject:
        new = _ordered(new)
        if _same(_bare(entry), new):
            return entry
        if ask.dry:
            return EncodedObject(entry.revision, encode(_with_version(new, entry.revision)))
        return await self.store(key, new)

    async def _put(self, ask: ApiRequest, key: ObjectKey, new: Object) -> EncodedObject:
        if ask.dry:
            return EncodedObject(0, encode(new))
        return await self._store.put(key, _ordered(new))


_NAMESPACES = Called("", "namespaces", "Namespace")


def gone(new: Object) -> bool:
    """Whether an object is being deleted, without finalizers and without a grace period."""
    meta = new["metadata"]
    held = (
        meta.get("finalizers") or new.get("spec", {}).get("finalizers", ())
        if new["kind"] == "Namespace"
        else meta.get("finalizers")
    )
    return "deletionTimestamp" in meta and not held and not meta.get("deletionGracePeriodSeconds")


def _written_into(new: Object, ownership: managed.Ownership) -> None:
    new["metadata"].pop("managedFields", None)
    if ownership.entries:
        new["metadata"]["managedFields"] = ownership.written()


def patching(ask: ApiRequest) -> Callable[[Object], Object]:
    """The change that a patch's body describes."""
    body = bodies.value(ask)
    return lambda old: patch.patched(ask.media, old, body, ask.kind.schema, custom=ask.kind.custom)


def _bare(entry: EncodedObject) -> Object:
    # What is below the metadata is shared: whoever changes it puts something else in its place.
    found = entry.read()
    return {**found, "metadata": {k: v for k, v in found["metadata"].items() if k != "resourceVersion"}}


def _ordered(new: Object) -> Object:
    # The store finds metadata by its place: see `store._with_revision`.
    return {"kind": new["kind"], "apiVersion": new["apiVersion"], "metadata": new["metadata"], **new}


def _with_version(new: Object, revision: int) -> Object:
    return {**new, "metadata": {"resourceVersion": str(revision), **new["metadata"]}}


def _same(old: Object, new: Object) -> bool:
    return old == new or _timeless(old) == _timeless(new)


def _timeless(value: Object) -> Object:
    entries = [{**entry, "time": ""} for entry in value["metadata"].get("managedFields", ())]
    return {**value, "metadata": {**value["metadata"], "managedFields": entries}}
