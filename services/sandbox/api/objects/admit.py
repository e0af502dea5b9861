"""Sets the fields that the API server itself owns: identity, generation, defaults; prunes and validates."""

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256

from events.kube.client import Object
from services.sandbox.api.objects import meta, rules
from services.sandbox.api.objects.immutable import unchangeable
from services.sandbox.api.schema.fields import json_text
from services.sandbox.api.schema.kinds import ServedKind
from services.sandbox.api.schema.schema import default, lean, prune
from services.sandbox.api.schema.validate import validate
from services.sandbox.api.status import FieldError, bad_request, invalid

_SYSTEM = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "generateName")
_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"  # no vowels: a generated name is never a word
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_KEEPS_STATUS = {"Node", "APIService"}  # who creates them knows how they are


def generated(prefix: str, uid: str) -> str:
    """A name from ``generateName``: five characters derived from the object's uid."""
    digest = sha256(uid.encode()).digest()
    return prefix + "".join(_SUFFIX[byte % len(_SUFFIX)] for byte in digest[:5])


def named(kind: ServedKind, name: str) -> Iterator[FieldError]:
    """The errors in a name."""
    if not name:
        yield FieldError("metadata.name", "FieldValueRequired", "Required value: name or generateName is required")
    elif kind.group == "rbac.authorization.k8s.io":
        if name in (".", "..") or {"/", "%"} & set(name):
            text = f"Invalid value: {json_text(name)}: may not be '.' or '..' or contain '/' or '%'"
            yield FieldError("metadata.name", "FieldValueInvalid", text)
    elif kind.kind == "Namespace" and "." in name:
        yield FieldError(
            "metadata.name", "FieldValueInvalid", f"Invalid value: {json_text(name)}: must not contain dots"
        )
    elif not (_LABEL if kind.kind == "Namespace" else _SUBDOMAIN).fullmatch(name) or len(name) > 253:
        yield FieldError("metadata.name", "FieldValueInvalid", f"Invalid value: {json_text(name)}: {_RFC_1123}")


_RFC_1123 = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    f"and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN.pattern}')"
)


def born(kind: ServedKind, new: Object, namespace: str, uid: str, now: str) -> None:
    """Give a new object its identity, in place."""
    meta = {k: v for k, v in new["metadata"].items() if k not in (*_SYSTEM[:-1], "resourceVersion", "selfLink")}
    if not meta.get("name") and meta.get("generateName"):
        meta["name"] = generated(meta["generateName"], uid)
    where = {"namespace": namespace} if kind.namespaced else {}
    new["metadata"] = {"name": "", **meta, **where, "uid": uid, "creationTimestamp": now}
    if not kind.namespaced:
        new["metadata"].pop("namespace", None)
    if kind.generation:
        new["metadata"]["generation"] = 1
    if kind.status and kind.kind not in _KEEPS_STATUS:
        new.pop("status", None)
        if not kind.custom:
            default(new, kind.schema)  # an empty status is shown


def kept(kind: ServedKind, old: Object, new: Object, subresource: str) -> Object:
    """The object after an update, with the fields restored that a client cannot change."""
    if subresource == "status":
        meta = {**old["metadata"], "managedFields": new["metadata"].get("managedFields")}
        status = {"status": new["status"]} if "status" in new else {}
        return {**{k: v for k, v in old.items() if k != "status"}, "metadata": _present(meta), **status}
    system = {name: old["metadata"].get(name) for name in ("name", "namespace", *_SYSTEM)}
    rest = {k: v for k, v in new["metadata"].items() if k not in {*system, "resourceVersion", "selfLink"}}
    whole = {**new, "apiVersion": old["apiVersion"], "metadata": _present({**system, **rest})}
    if kind.status:
        whole.pop("status", None)
        whole |= {"status": old["status"]} if "status" in old else {}
    return whole


def _present(meta: Object) -> Object:
    return {name: value for name, value in meta.items() if value is not None}


def counted(kind: ServedKind, old: Object, new: Object) -> None:
    """Increment ``metadata.generation`` if the spec changed, in place."""
    if kind.generation and _wanted(kind, old) != _wanted(kind, new):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def _wanted(kind: ServedKind, value: Object) -> Object:
    apart = ("metadata", "apiVersion", "kind", *(("status",) if kind.status else ()))
    return {name: below for name, below in value.items() if name not in apart}


def shaped(kind: ServedKind, new: Object, old: Object | None) -> list[str]:
    """Prune and default by the schema, in place; gives the paths of unknown fields. Raises `Refused`."""
    unknown = list(prune(new, kind.schema))
    _builtin_types(kind, new, old)
    if kind.custom:
        _metadata_types(kind, new, old)
    else:
        lean(new, kind.schema)
    default(new, kind.schema)
    if kind.kind in _COMPUTED and not kind.custom:
        _COMPUTED[kind.kind](new)
    return unknown


def _metadata_types(kind: ServedKind, new: Object, old: Object | None) -> None:
    known = old["metadata"] if old else None
    for cause in validate(new["metadata"], kind.schema["properties"]["metadata"], "metadata", known):
        if cause.reason == "FieldValueTypeInvalid":
            raise bad_request(f"unable to decode the metadata of a {kind.kind}: {cause.message}")


def _builtin_types(kind: ServedKind, new: Object, old: Object | None) -> None:
    if kind.custom:
        return
    for cause in validate(new, kind.schema, "", old):
        if cause.reason == "FieldValueTypeInvalid":  # the rest is for each kind's own validation
            text = f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {cause.message}'
            raise bad_request(text)


def checked(kind: ServedKind, old: Object | None, new: Object, more: Iterable[FieldError] = ()) -> None:
    """Hold an object against its schema and the rules of the server. Raises `Refused` (422)."""
    name = new["metadata"]["name"]
    causes = [*_finalizers(old, new), *meta.wrong(new["metadata"], custom=kind.custom), *more]
    causes += named(kind, name) if old is None else ()
    causes += validate(new, kind.schema, "", old) if kind.custom else ()
    causes += unchangeable(kind, old, new) if old else ()
    causes += rules.broken(kind.schema, old, new) if kind.custom and not causes else ()
    if causes:
        raise invalid(kind, name, causes)


def _finalizers(old: Object | None, new: Object) -> Iterator[FieldError]:
    if old and "deletionTimestamp" in old["metadata"]:
        had = old["metadata"].get("finalizers", ())
        if added := [f for f in new["metadata"].get("finalizers", ()) if f not in had]:
            text = (
                "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers "
                f"[]string{{{', '.join(map(json_text, added))}}}"
            )
            yield FieldError("metadata.finalizers", "FieldValueForbidden", text)


def _label_of_its_name(new: Object) -> None:
    labels = new["metadata"].get("labels", {})
    if name := new["metadata"].get("name"):
        new["metadata"]["labels"] = {**labels, "kubernetes.io/metadata.name": name}


def _secret(new: Object) -> None:
    texts = new.pop("stringData", None) or {}
    if texts:
        new["data"] = {**new.get("data", {}), **{k: b64encode(str(v).encode()).decode() for k, v in texts.items()}}


def _pod_spec(new: Object) -> None:
    _pulled(new["spec"])
    new["spec"].setdefault("enableServiceLinks", True)


def _templated(new: Object) -> None:
    _pulled(new["spec"].get("template", {}).get("spec", {}))


def _pulled(spec: Object) -> None:
    for container in (*spec.get("containers", ()), *spec.get("initContainers", ())):
        name, _, tag = container.get("image", "").rpartition("/")[2].partition(":")
        newest = name and tag in ("", "latest") and "@" not in container["image"]
        container.setdefault("imagePullPolicy", "Always" if newest else "IfNotPresent")


def _service(new: Object) -> None:
    for port in new["spec"].get("ports", ()):
        port.setdefault("targetPort", port.get("port"))


_COMPUTED: dict[str, Callable[[Object], None]] = {
    "Namespace": _label_of_its_name,
    "Secret": _secret,
    "Service": _service,
    "Deployment": _templated,
    "StatefulSet": _templated,
    "DaemonSet": _templated,
    "ReplicaSet": _templated,
    "Job": _templated,
    "Pod": _pod_spec,
}
"""Defaults that follow from what was sent; the sender owns them."""


Prepare = Callable[[Object | None, Object], None]


def prepared(kind: ServedKind, old: Object | None, new: Object) -> None:
    """Fill in a built-in kind's computed defaults, in place."""
    if kind.kind in _PREPARE and not kind.custom:
        _PREPARE[kind.kind](old, new)


def _namespace(old: Object | None, new: Object) -> None:
    _label_of_its_name(new)  # generateName has made the name by now
    if old is None:
        new["spec"] = {"finalizers": ["kubernetes"]}
        new["status"] = {"phase": "Active"}


def _starts_as(status: Object) -> Prepare:
    def prepare(old: Object | None, new: Object) -> None:
        if old is None:
            new["status"] = dict(status)

    return prepare


def _pod(old: Object | None, new: Object) -> None:
    if old is None:
        new["status"] = {"phase": "Pending", "qosClass": "BestEffort"}
        new["spec"] = {"priority": 0, "preemptionPolicy": "PreemptLowerPriority", **new["spec"]}
        tolerated = {each.get("key") for each in new["spec"].get("tolerations", ())}
        more = [{**_FIVE_MINUTES, "key": key} for key in _UNREACHABLE if key not in tolerated]
        new["spec"]["tolerations"] = [*new["spec"].get("tolerations", ()), *more]


_FIVE_MINUTES = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
_UNREACHABLE = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


_PREPARE: dict[str, Prepare] = {
    "Namespace": _namespace,
    "Pod": _pod,
    "PersistentVolume": _starts_as({"phase": "Pending"}),
    "PersistentVolumeClaim": _starts_as({"phase": "Pending"}),
}
