"""Deletes objects, at once or when their last finalizer is removed."""

from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

from events.kube.client import Object
from services.sandbox.api.objects.write import gone
from services.sandbox.api.schema.custom import DEFINITIONS
from services.sandbox.api.schema.fields import json_text
from services.sandbox.api.schema.kinds import ServedKind
from services.sandbox.api.status import FieldError, conflict, forbidden, invalid, not_found
from services.sandbox.api.store.store import EncodedObject, ObjectKey, Store, encode
from services.sandbox.api.wire import bodies
from services.sandbox.api.wire.request import ApiRequest, RequestClock, stamp

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
"""The finalizer that keeps a definition until its last object is deleted."""
PODS = ("", "pods")
DEFAULT_GRACE = 30
"""The default grace period of a pod, in seconds."""
PROTECTED = ("default", "kube-system", "kube-public")

_POLICIES = {"Foreground": [FOREGROUND], "Background": [], "Orphan": [ORPHAN]}


@dataclass(frozen=True, slots=True)
class Options:
    """How to delete; an empty policy follows the object's finalizers."""

    policy: str = ""
    uid: str = ""
    version: str = ""
    dry: bool = False
    grace: int | None = None
    """Grace period in seconds; None: the object's own."""


def options(ask: ApiRequest) -> Options:
    """From the query, or else from DeleteOptions in the body. Raises `Refused`."""
    body = bodies.value(ask) if ask.request.body.strip() else {}
    given = body if isinstance(body, dict) else {}
    query = ask.request.query
    orphan = {True: "Orphan", False: "Background"}.get(given.get("orphanDependents", ""), "")
    policy = query.get("propagationPolicy") or given.get("propagationPolicy") or orphan
    must = given.get("preconditions") or {}
    dry = ask.dry or given.get("dryRun") == ["All"]
    asked = query.get("gracePeriodSeconds", given.get("gracePeriodSeconds"))
    grace = int(str(asked)) if str(asked).isdigit() else None
    return Options(_known(policy), must.get("uid", ""), must.get("resourceVersion", ""), dry, grace)


class Remover:
    """Deletes objects."""

    def __init__(self, store: Store, clock: RequestClock) -> None:
        self._store = store
        self._clock = clock

    async def delete(self, kind: ServedKind, key: ObjectKey, how: Options) -> tuple[EncodedObject, bool]:
        """Delete an object; returns its last version and whether it is gone. Raises `Refused`: 404, 403, 409."""
        async with self._store.alone(key):
            entry = self._store.get(key)
            if entry is None:
                raise not_found(kind, key.name)
            old = entry.object()
            _allowed(kind, key, old, how)
            new = self._leaving(kind, key, old, how)
            if how.dry:
                return entry, gone(new)
            if gone(new):
                return _last(key, await self._store.remove(key, _bare(old)), new), True
            return (entry if new == _bare(old) else await self._store.put(key, new)), False

    def _leaving(self, kind: ServedKind, key: ObjectKey, old: Object, how: Options) -> Object:
        new = _bare(old)
        meta = new["metadata"] = dict(new["metadata"])
        held = _held(meta.get("finalizers", []), how.policy)
        if self._has_objects(key) and CLEANUP not in held:
            held.append(CLEANUP)
        meta["finalizers"] = held
        if not held:
            del meta["finalizers"]
        grace = _grace(key, old, how)
        if meta.get("deletionGracePeriodSeconds", grace + 1) > grace:
            ends = self._clock() + timedelta(seconds=grace)
            meta |= {"deletionTimestamp": stamp(lambda: ends), "deletionGracePeriodSeconds": grace}
        if "deletionTimestamp" not in old["metadata"]:
            if "generation" in meta:
                meta["generation"] += 1
            if kind.kind == "Namespace" and not kind.custom:
                new["status"] = {**new.get("status", {}), "phase": "Terminating"}
        return new

    def _has_objects(self, key: ObjectKey) -> bool:
        if key[1:3] != DEFINITIONS:
            return False
        plural, _, group = key.name.partition(".")
        return bool(self._store.clusters[key.cluster].get((group, plural)))


def _last(key: ObjectKey, entry: EncodedObject, new: Object) -> EncodedObject:
    """The answer for a deleted object: a pod shows a grace period of zero."""
    if key[1:3] != PODS:
        return entry
    shown = entry.object()
    shown["metadata"] |= {name: new["metadata"][name] for name in ("deletionTimestamp", "deletionGracePeriodSeconds")}
    return EncodedObject(entry.revision, encode(shown))


def _grace(key: ObjectKey, old: Object, how: Options) -> int:
    """The grace period in seconds; zero for everything but a running pod on a node."""
    spec, status, meta = old.get("spec") or {}, old.get("status") or {}, old["metadata"]
    if key[1:3] != PODS or not spec.get("nodeName") or status.get("phase") in ("Succeeded", "Failed"):
        return 0
    wanted = spec.get("terminationGracePeriodSeconds", DEFAULT_GRACE) if how.grace is None else how.grace
    return int(min(wanted, meta.get("deletionGracePeriodSeconds", wanted)))


def _held(finalizers: list[str], policy: str) -> list[str]:
    if not policy:
        return list(finalizers)
    others = [f for f in finalizers if f not in (FOREGROUND, ORPHAN)]
    return others + _POLICIES.get(policy, [])


class _ByKind:
    """Names a kind by its kind and not its plural, as one refusal does."""

    def __init__(self, kind: ServedKind) -> None:
        self.group, self.plural, self.kind = kind.group, kind.kind, kind.kind


class _Options(NamedTuple):
    group: str = "meta.k8s.io"
    plural: str = "deleteoptions"
    kind: str = "DeleteOptions"


def _known(policy: str) -> str:
    if policy and policy not in _POLICIES:
        named = ", ".join(map(json_text, (*_POLICIES, "nil")))
        text = f"Unsupported value: {json_text(policy)}: supported values: {named}"
        raise invalid(_Options(), "", [FieldError("propagationPolicy", "FieldValueNotSupported", text)])
    return policy


def _bare(old: Object) -> Object:
    return {**old, "metadata": {k: v for k, v in old["metadata"].items() if k != "resourceVersion"}}


def _allowed(kind: ServedKind, key: ObjectKey, old: Object, how: Options) -> None:
    meta = old["metadata"]
    for name, wanted, given, then in (
        ("UID", how.uid, meta["uid"], "deleted and then recreated"),
        ("ResourceVersion", how.version, meta["resourceVersion"], "modified"),
    ):
        if wanted and wanted != given:
            why = f"the {name} in the precondition ({wanted}) does not match the {name} in record ({given})."
            raise conflict(_ByKind(kind), key.name, f"{why} The object might have been {then}")
    if key[1:3] == ("", "namespaces") and key.name in PROTECTED:
        raise forbidden(kind, key.name, "this namespace may not be deleted")
