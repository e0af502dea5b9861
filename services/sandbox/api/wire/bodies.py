"""Decodes request bodies from JSON, YAML or protobuf into objects."""

import msgspec
import yaml

from events.kube.client import Object
from services.sandbox.api.schema.fields import json_text
from services.sandbox.api.schema.kinds import ServedKind
from services.sandbox.api.status import FieldError, StatusError, bad_request, invalid, unsupported
from services.sandbox.api.wire import protobuf
from services.sandbox.api.wire.request import ApiRequest

_JSON = ("application/json", "text/json")
_YAML = ("application/yaml", "application/x-yaml", "text/yaml", "application/apply-patch+yaml")


class _Plain(yaml.CSafeLoader):
    """A YAML loader like Kubernetes': timestamps are text."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's own class attribute
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }


def value(ask: ApiRequest) -> object:
    """The decoded body. Raises `StatusError` (400, 415)."""
    media, body = ask.media, ask.request.body
    if media == protobuf.MEDIA:
        return protobuf.decode(body)
    if media in _YAML and not body.lstrip().startswith((b"{", b"[")):
        return _yaml(body)
    if media in (*_JSON, *_YAML) or media.endswith("+json"):
        return _json(body)
    raise unsupported(f"the body of the request was in an unknown format: {media}")


def object_of(ask: ApiRequest) -> Object:
    """The body as an object of the requested kind; clients may omit apiVersion and kind."""
    found = value(ask)
    if not isinstance(found, dict):
        raise bad_request(f"the body is no {ask.kind.kind}: expected an object")
    for name, called, wanted in (("apiVersion", "API version", ask.kind.api_version), ("kind", "kind", ask.kind.kind)):
        if found.setdefault(name, wanted) != wanted:
            raise _other(ask, name, called, found)
    if not isinstance(found.setdefault("metadata", {}), dict):
        raise bad_request(f"the body is no {ask.kind.kind}: metadata must be an object")
    return {"apiVersion": None, "kind": None, "metadata": None, **found}


def _other(ask: ApiRequest, name: str, called: str, found: Object) -> StatusError:
    kind, given = ask.kind, found[name]
    if name == "kind" and kind.custom:
        sent = ServedKind(kind.group, kind.version, kind.plural, given)
        text = f"Invalid value: {json_text(given)}: must be {kind.kind}"
        return invalid(
            sent, (found.get("metadata") or {}).get("name", ""), [FieldError("kind", "FieldValueInvalid", text)]
        )
    wanted = kind.kind if name == "kind" else kind.api_version
    return bad_request(f"the {called} in the data ({given}) does not match the expected {called} ({wanted})")


def _json(body: bytes) -> object:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise bad_request(f"the body is no JSON: {error}") from None


def _yaml(body: bytes) -> object:
    """YAML converted as Kubernetes does it, by way of JSON: keys are text, numbers finite."""
    try:
        found = yaml.load(body, Loader=_Plain)  # noqa: S506 - a SafeLoader, less its timestamps
        return msgspec.json.decode(msgspec.json.encode(found))
    except (yaml.YAMLError, TypeError, ValueError, RecursionError) as error:
        raise bad_request(f"the body is no YAML: {error}") from None
