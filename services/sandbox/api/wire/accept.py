"""The output formats a client can accept: the object, its metadata, or a Table."""

from collections.abc import Callable
from functools import lru_cache, partial

import msgspec

from events.kube.client import Object
from services.sandbox.api.print.table import table
from services.sandbox.api.schema.kinds import ServedKind
from services.sandbox.api.store.store import encode
from services.sandbox.api.store.watch import ObjectEncoding
from services.sandbox.api.wire.request import ApiRequest, RequestClock

Whole = Callable[[list[bytes], Object], bytes]
"""Encodes a list from its items and its metadata."""

_META = "meta.k8s.io/v1"


@lru_cache(maxsize=256)
def wanted(header: str) -> tuple[str, str, str]:
    """The first (as, group, version) in the header that is not plain JSON; empty for plain JSON."""
    for media in header.split(","):
        kind, *parameters = (part.strip() for part in media.split(";"))
        given = dict(p.partition("=")[::2] for p in parameters)
        if kind == "application/json":
            return given.get("as", ""), given.get("g", ""), given.get("v", "")
    return "", "", ""


class Tables:
    """Encodes objects in the requested format."""

    def __init__(self, clock: RequestClock) -> None:
        self._clock = clock
        self._rows = lru_cache(maxsize=1024)(lambda kind, include: partial(self._one_row, kind, include))

    def one(self, ask: ApiRequest) -> ObjectEncoding | None:
        """The encoder of one object; None: unchanged."""
        match wanted(ask.header("Accept"))[0]:
            case "Table":
                found: ObjectEncoding = self._rows(ask.kind, ask.request.query.get("includeObject", "Metadata"))
                return found
            case "PartialObjectMetadata" | "PartialObjectMetadataList":
                return _metadata
        return None

    def many(self, ask: ApiRequest) -> Whole | None:
        """The encoder of a list; None: unchanged."""
        match wanted(ask.header("Accept"))[0]:
            case "Table":
                include = ask.request.query.get("includeObject", "Metadata")
                return lambda items, meta: self._table(ask.kind, include, items, meta)
            case "PartialObjectMetadata" | "PartialObjectMetadataList":
                return _metadata_list
        return None

    def _one_row(self, kind: ServedKind, include: str, data: bytes) -> bytes:
        version = msgspec.json.decode(data)["metadata"]["resourceVersion"]
        return self._table(kind, include, [data], {"resourceVersion": version})

    def _table(self, kind: ServedKind, include: str, items: list[bytes], meta: Object) -> bytes:
        return encode(table(kind, map(msgspec.json.decode, items), meta, include, self._clock()))


def _partial(data: bytes) -> Object:
    meta = msgspec.json.decode(data)["metadata"]
    return {"kind": "PartialObjectMetadata", "apiVersion": _META, "metadata": meta}


def _metadata(data: bytes) -> bytes:
    return encode(_partial(data))


def _metadata_list(items: list[bytes], meta: Object) -> bytes:
    found = list(map(_partial, items))
    return encode({"kind": "PartialObjectMetadataList", "apiVersion": _META, "metadata": meta, "items": found})
