"""The scale subresource."""

import copy
from collections.abc import Callable
from dataclasses import replace

import msgspec

from events.kube.client import Object
from services.sandbox.api.objects import patch
from services.sandbox.api.print.jsonpath import path
from services.sandbox.api.schema.builtin import schema_of
from services.sandbox.api.schema.kinds import ServedKind
from services.sandbox.api.status import bad_request
from services.sandbox.api.store.store import encode
from services.sandbox.api.wire import bodies
from services.sandbox.api.wire.request import ApiRequest


def shown(kind: ServedKind, data: bytes) -> bytes:
    """The Scale of an object."""
    return encode(_scale(kind, msgspec.json.decode(data)))


def _scale(kind: ServedKind, item: Object) -> Object:
    at = kind.scale
    if at is None:
        raise bad_request(f"{kind.plural} cannot be scaled")
    selector = next(iter(path(at.selector)(item)), None) if at.selector else None
    status: Object = {"replicas": next(iter(path(at.status)(item)), 0)}
    if selector:
        status["selector"] = selector if isinstance(selector, str) else _written(selector)
    meta = {k: item["metadata"][k] for k in _META if k in item["metadata"]}
    spec = {"replicas": next(iter(path(at.spec)(item)), 0)}
    return {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": meta, "spec": spec, "status": status}


_META = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def _written(selector: object) -> str:
    labels = selector.get("matchLabels", {}) if isinstance(selector, dict) else {}
    return ",".join(f"{k}={v}" for k, v in sorted(labels.items()))


def on_the_whole(ask: ApiRequest) -> ApiRequest:
    """The request on the object itself, of which Scale is only a view."""
    return replace(ask, place=ask.place._replace(subresource=""))


def change(ask: ApiRequest) -> Callable[[Object], Object]:
    """The change to the object that a new Scale implies. Raises `Refused`."""
    body = bodies.value(ask)

    def changed(old: Object) -> Object:
        was = _scale(ask.kind, old)
        if ask.request.method == "PUT":
            new = patch.merge(was, body, {})
        else:
            new = patch.patched(ask.media, was, body, schema_of("Scale"), custom=False)
        if not isinstance(new, dict):
            raise bad_request("the body is no Scale: expected an object")
        return _replicated(ask.kind, old, new)

    return changed


def _replicated(kind: ServedKind, old: Object, new: Object) -> Object:
    replicas = new.get("spec", {}).get("replicas", 0)
    if not isinstance(replicas, int) or replicas < 0:
        raise bad_request(f"spec.replicas must be a number of at least 0, not {replicas!r}")
    holder = old = copy.deepcopy(old)
    *above, last = (kind.scale.spec if kind.scale else "").strip(".").split(".")
    for step in above:
        holder = holder.setdefault(step, {})
    holder[last] = replicas
    old["metadata"]["resourceVersion"] = new["metadata"].get("resourceVersion", old["metadata"]["resourceVersion"])
    return old
