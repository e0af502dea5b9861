"""Gets, lists and watches; copies stored bytes unless a selector or another output format needs them decoded."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import msgspec

from events.kube.client import Object, Response
from services.sandbox.api.schema.kinds import ServedKind
from services.sandbox.api.status import JSON, FieldError, bad_request, expired, invalid, not_found
from services.sandbox.api.store.selectors import Matches, both, fields, labels
from services.sandbox.api.store.store import EncodedObject, Store, encode
from services.sandbox.api.store.watch import Hub, ObjectEncoding, OpenWatch, WatchOptions
from services.sandbox.api.wire import accept
from services.sandbox.api.wire.request import ApiRequest

ReadResult = list[tuple[tuple[str, str], EncodedObject]]


class Reader:
    """Gets, lists and watches."""

    def __init__(self, store: Store, hub: Hub, tables: accept.Tables) -> None:
        self._store = store
        self._hub = hub
        self._tables = tables

    @property
    def head(self) -> int:
        """The newest resourceVersion."""
        return self._store.head

    def get(self, ask: ApiRequest) -> Response:
        """One object. Raises `Refused` (404)."""
        entry = self._store.get(ask.key())
        if entry is None:
            raise not_found(ask.kind, ask.place.name)
        shape = self._tables.one(ask) or versioned(ask.kind)
        return Response(200, JSON, shape(entry.data) if shape else entry.data)

    def list(self, ask: ApiRequest) -> Response:
        """All selected objects, or one page of them. Raises `Refused` (400, 410)."""
        found, revision, rest = self._page(ask, self.selected(ask))
        meta = {"resourceVersion": str(revision), **rest}
        if whole := self._tables.many(ask):
            return Response(200, JSON, whole([entry.data for _, entry in found], meta))
        items, meta = listed(ask.kind, found), {**unsaid(ask.kind), **meta}
        head = {"kind": ask.kind.list_kind, "apiVersion": ask.kind.api_version, "metadata": meta}
        return Response(200, JSON, encode(head)[:-1] + b',"items":[' + b",".join(items) + b"]}")

    def selected(self, ask: ApiRequest) -> ReadResult:
        """The objects that a list or a deletecollection selects."""
        chosen, name = _selection(ask)
        found = self._store.scan(ask.topic, ask.place.namespace)
        if name:
            found = [item for item in found if item[0][1] == name]
        return [item for item in found if chosen(item[1].read())] if chosen else found

    def watch(self, ask: ApiRequest) -> OpenWatch:
        """Open a watch. Raises `Refused` (400, 422)."""
        query = ask.request.query
        initial = ask.flag("sendInitialEvents")
        if initial and query.get("resourceVersionMatch") != "NotOlderThan":
            raise _no_match()
        since = _number(query.get("resourceVersion") or "0")
        seconds = _number(query.get("timeoutSeconds") or "0")
        return self._hub.open(self._view(ask), None if initial else since or None, seconds or None, initial_end=initial)

    def _view(self, ask: ApiRequest) -> WatchOptions:
        chosen, name = _selection(ask)
        shape = self._tables.one(ask) or versioned(ask.kind)
        bookmark = _bookmark(ask.kind) if ask.flag("allowWatchBookmarks") else None
        return WatchOptions(ask.topic, ask.place.namespace, ask.place.name or name, chosen, shape, bookmark)

    def _page(self, ask: ApiRequest, found: ReadResult) -> tuple[ReadResult, int, dict[str, object]]:
        query = ask.request.query
        limit = _number(query.get("limit") or "0")
        revision = self._store.head
        if token := query.get("continue"):
            revision, after = _continued(token)
            if revision < self._store.oldest:
                raise expired(revision, self._store.oldest)
            found = [item for item in found if item[0] > after]
        if not limit or len(found) <= limit:
            return found, revision, {}
        page = found[:limit]
        left = {"remainingItemCount": len(found) - limit} if not _selects(ask) else {}
        return page, revision, {"continue": _continue(revision, page[-1][0]), **left}


def _selection(ask: ApiRequest) -> tuple[Matches | None, str]:
    # `metadata.name=x` alone is what clients that wait for one object send: it needs no decoding.
    query = ask.request.query
    wanted = query.get("fieldSelector", "")
    name = wanted.removeprefix("metadata.name=")
    if name != wanted and "," not in name:
        return labels(query.get("labelSelector", "")), name
    return both(labels(query.get("labelSelector", "")), fields(wanted, ask.kind.fields)), ""


def _selects(ask: ApiRequest) -> bool:
    return bool(ask.request.query.get("labelSelector") or ask.request.query.get("fieldSelector"))


def listed(kind: ServedKind, found: ReadResult) -> list[bytes]:
    """The items of a list; those of built-in kinds omit their type."""
    if not kind.custom:
        return [b"{" + entry.data[entry.data.index(b'"metadata":{') :] for _, entry in found]
    shape = versioned(kind)
    return [shape(entry.data) if shape else entry.data for _, entry in found]


def unsaid(kind: ServedKind) -> Object:
    """Empty fields that the real server writes in custom lists."""
    return {"continue": ""} if kind.custom else {}


@lru_cache(maxsize=1024)
def versioned(kind: ServedKind) -> ObjectEncoding | None:
    """Converts an object that may have been written in another version; None if there is only one."""
    if not kind.converted:
        return None
    head = encode({"kind": kind.kind, "apiVersion": kind.api_version})[:-1]
    return lambda data: head + data[data.index(b',"metadata":{') :]


def _bookmark(kind: ServedKind) -> Callable[[int, bool], bytes]:
    def line(revision: int, initial_end: bool) -> bytes:  # noqa: FBT001 - the shape `WatchOptions` asks for
        marks: Object = {"annotations": {"k8s.io/initial-events-end": "true"}} if initial_end else {}
        meta = {"resourceVersion": str(revision), **marks}
        shown = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": meta}
        return encode({"type": "BOOKMARK", "object": shown}) + b"\n"

    return line


def _no_match() -> Exception:
    text = "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
    return invalid(_LIST_OPTIONS, "", [FieldError("resourceVersionMatch", "FieldValueForbidden", text)])


class _ListOptions(NamedTuple):
    group: str = "meta.k8s.io"
    plural: str = "listoptions"
    kind: str = "ListOptions"


_LIST_OPTIONS = _ListOptions()


def _number(text: str) -> int:
    if not text.isdecimal():
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    return int(text)


def _continue(revision: int, last: tuple[str, str]) -> str:
    return urlsafe_b64encode(encode([revision, *last])).decode().rstrip("=")


def _continued(token: str) -> tuple[int, tuple[str, str]]:
    try:
        revision, namespace, name = msgspec.json.decode(urlsafe_b64decode(token + "=="), type=tuple[int, str, str])
    except (ValueError, msgspec.MsgspecError):
        raise bad_request(f"continue key is not valid: {token!r}") from None
    return revision, (namespace, name)
