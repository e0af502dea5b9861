"""Checks a request's parameters before any object is touched, with the real server's messages."""

from events.kube.client import Object
from services.sandbox.api.schema.fields import json_text
from services.sandbox.api.schema.schema import prune
from services.sandbox.api.status import FieldError, StatusError, bad_request, invalid
from services.sandbox.api.wire.request import ApiRequest


class Called:
    """The name of a kind for a message."""

    def __init__(self, group: str, plural: str, kind: str) -> None:
        self.group, self.plural, self.kind = group, plural, kind


PATCH_OPTIONS = Called("meta.k8s.io", "patchoptions", "PatchOptions")
_MODES = ("Ignore", "Strict", "Warn")


def known_mode(ask: ApiRequest) -> None:
    """Check ``fieldValidation``. Raises `StatusError` (422)."""
    mode = ask.request.query.get("fieldValidation") or "Warn"
    if mode not in _MODES:
        supported = ", ".join(map(json_text, ("", *_MODES)))
        text = f"Unsupported value: {json_text(mode)}: supported values: {supported}"
        called = {"POST": "CreateOptions", "PUT": "UpdateOptions"}.get(ask.request.method, "PatchOptions")
        options = Called("meta.k8s.io", called.lower(), called)
        raise invalid(options, "", [FieldError("fieldValidation", "FieldValueNotSupported", text)])


def strict(ask: ApiRequest, new: Object, unknown: list[str]) -> StatusError:
    """The refusal of unknown fields."""
    text = f"strict decoding error: {', '.join(unknown)}"
    if ask.request.method == "PATCH":
        cause = FieldError("patch", "FieldValueInvalid", f"Invalid value: {json_text(json_text(new))}: {text}")
        return invalid(Called("", "", ""), "", [cause])
    kind = ask.kind
    return bad_request(f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {text}')


def declared(ask: ApiRequest, config: Object) -> None:
    """Check an apply configuration for undeclared fields. Raises `StatusError` (500)."""
    if unknown := list(prune(config, ask.kind.schema)):
        place = f"{config['metadata'].get('namespace', '')}/{ask.place.name}"
        what = f"({place}; {ask.kind.group}/{ask.kind.version}, Kind={ask.kind.kind})"
        each = [f".{path}: field not declared in schema" for path in unknown]
        said = each[0] if len(each) == 1 else "\n  ".join(("errors:", *each))
        raise StatusError(500, "", f"failed to create typed patch object {what}: {said}")


def own_half(ask: ApiRequest, config: Object) -> Object:
    """The part of a configuration that applies to its path: the object or its status."""
    # A kind with a status of its own is two halves, each of which has its own owners.
    if ask.place.subresource == "status":
        return {k: v for k, v in config.items() if k in ("apiVersion", "kind", "status")}
    return {k: v for k, v in config.items() if k != "status" or not ask.kind.status}
