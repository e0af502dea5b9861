"""OpenAPI documents for kubectl, written when they are first requested."""

from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256

from events.kube.client import Object, Response
from services.sandbox.api.schema.builtin import data, schema_of
from services.sandbox.api.schema.catalog import Catalog
from services.sandbox.api.schema.kinds import ServedKind
from services.sandbox.api.status import JSON, unknown_path
from services.sandbox.api.store.store import encode

_INFO = {"openapi": "3.0.0", "info": {"title": "alate sandbox", "version": "v1.33.0"}}


class OpenApi:
    """The index and its documents."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def answer(self, cluster: str, group_version: str) -> Response:
        """The index (empty path), or ``api/v1``, ``apis/<group>/<version>``. Raises `Refused` (404)."""
        if not group_version:
            return Response(200, JSON, encode({"paths": self._index(cluster)}))
        kinds = tuple(k for k in self._catalog.all(cluster) if _root(k) == group_version)
        if not kinds:
            raise unknown_path()
        return Response(200, JSON, _document(kinds))

    def _index(self, cluster: str) -> Object:
        found: dict[str, list[ServedKind]] = {}
        for kind in self._catalog.all(cluster):
            found.setdefault(_root(kind), []).append(kind)
        # The hash changes with what is served, so that a client's cache of the document does too.
        return {
            root: {"serverRelativeURL": f"/clusters/{cluster}/openapi/v3/{root}?hash={_hash(tuple(kinds))}"}
            for root, kinds in found.items()
        }


def _root(kind: ServedKind) -> str:
    return f"apis/{kind.group}/{kind.version}" if kind.group else f"api/{kind.version}"


@lru_cache(maxsize=256)
def _hash(kinds: tuple[ServedKind, ...]) -> str:
    return sha256(_document(kinds)).hexdigest()[:16] if kinds[0].custom else "builtin"


@lru_cache(maxsize=64)
def _document(kinds: tuple[ServedKind, ...]) -> bytes:
    paths: Object = {}
    schemas: Object = {}
    for kind in kinds:
        paths |= _paths(kind)
        schemas[_name(kind)] = _top(kind)
        schemas |= {_type_name(type_): _properties(type_) for type_ in _types(kind)}
    return encode({**_INFO, "paths": paths, "components": {"schemas": schemas}})


def _name(kind: ServedKind) -> str:
    return ".".join((*reversed(kind.group.split(".")), kind.version, kind.kind)).strip(".")


def _type_name(type_: str) -> str:
    return f"io.k8s.api.{type_}"


def _refer(name: str) -> Object:
    return {"$ref": f"#/components/schemas/{name}"}


def _gvk(kind: ServedKind) -> Object:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _paths(kind: ServedKind) -> Object:
    root = f"/{_root(kind)}" + ("/namespaces/{namespace}" if kind.namespaced else "") + f"/{kind.plural}"
    return {
        root: _operations(kind, "get", "post"),
        f"{root}/{{name}}": _operations(kind, "get", "put", "patch", "delete"),
    }


def _operations(kind: ServedKind, *methods: str) -> Object:
    query = ("fieldManager", "fieldValidation", "dryRun", "force")
    parameters = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in query]
    media = {"application/json": {"schema": _refer(_name(kind))}}
    answers = {"200": {"description": "OK", "content": media}}
    body = {"requestBody": {"content": media}}
    return {
        method: {
            "parameters": parameters,
            "responses": answers,
            "x-kubernetes-action": method,
            "x-kubernetes-group-version-kind": _gvk(kind),
            **(body if method in ("post", "put", "patch") else {}),
        }
        for method in methods
    }


def _top(kind: ServedKind) -> Object:
    meta = {"metadata": {"allOf": [_refer(_type_name("ObjectMeta"))], "default": {}}}
    own = {name: _written(below) for name, below in kind.schema["properties"].items() if name != "metadata"}
    kept = {k: v for k, v in kind.schema.items() if k in ("description", "required", "type")}
    return {**kept, "properties": {**own, **meta}, "x-kubernetes-group-version-kind": [_gvk(kind)]}


def _written(schema: Object) -> Object:
    """A schema without cycles: built-in types are references."""
    if type_ := schema.get("x-alate-type"):
        return {"allOf": [_refer(_type_name(type_))], "default": {}}
    found = dict(schema)
    for keyword in ("items", "additionalProperties"):
        if isinstance(below := schema.get(keyword), dict):
            found[keyword] = _written(below)
    if "properties" in schema:
        found["properties"] = {name: _written(below) for name, below in schema["properties"].items()}
    return found


def _properties(type_: str) -> Object:
    schema = schema_of(type_)
    return {"type": "object", "properties": {name: _written(below) for name, below in schema["properties"].items()}}


def _types(kind: ServedKind) -> Iterator[str]:
    """The built-in types that a kind uses."""
    seen: set[str] = set()
    todo = ["ObjectMeta"] if kind.custom else ["ObjectMeta", str(kind.schema["x-alate-type"])]
    while todo:
        if (type_ := todo.pop()) in seen:
            continue
        seen.add(type_)
        yield type_
        below = (of.replace("[]", "").replace("{}", "") for of in data("types")[type_].values())
        todo += [of for of in below if of in data("types")]
