"""Applies JSON, merge and strategic merge patches."""

from collections.abc import Callable
from typing import cast

import jsonpatch
import jsonpointer

from events.kube.client import Object
from services.sandbox.api.schema.fields import json_text
from services.sandbox.api.schema.schema import child
from services.sandbox.api.status import StatusError, bad_request, unsupported

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"

JsonValue = object


def patched(media: str, old: Object, body: JsonValue, schema: Object, *, custom: bool) -> Object:
    """The object after the patch; `old` stays as it is. Raises `StatusError` (400, 415, 422)."""
    accepted = {**_DIALECTS, **({} if custom else {STRATEGIC: strategic})}
    if media not in accepted:
        raise unsupported(
            "the body of the request was in an unknown format - accepted media types include: "
            + ", ".join((JSON, MERGE, APPLY) if custom else (JSON, MERGE, STRATEGIC, APPLY))
        )
    new = accepted[media](old, body, schema)
    if not isinstance(new, dict) or not isinstance(new.get("metadata"), dict):
        raise bad_request("the patch leaves no object: it must keep an object with metadata")
    return new


def _json(old: JsonValue, patch: JsonValue, _: Object) -> JsonValue:
    try:
        return jsonpatch.JsonPatch(cast("list[Object]", patch)).apply(old)
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException, TypeError):
        raise StatusError(
            422, "Invalid", "the server rejected our request due to an error in our request", {}
        ) from None


def merge(old: JsonValue, patch: JsonValue, _: Object) -> JsonValue:
    """A merge patch (RFC 7386)."""
    if not isinstance(patch, dict):
        return patch
    kept = dict(old) if isinstance(old, dict) else {}
    for name, value in patch.items():
        if value is None:
            kept.pop(name, None)
        else:
            kept[name] = merge(kept.get(name), value, {})
    return kept


_DIALECTS: dict[str, Callable[[JsonValue, JsonValue, Object], JsonValue]] = {MERGE: merge, JSON: _json}


def strategic(old: JsonValue, patch: JsonValue, schema: Object) -> JsonValue:
    """A strategic merge patch: lists are merged by their merge key."""
    if not isinstance(patch, dict):
        return patch
    directive = patch.get("$patch")
    if directive in ("replace", "delete") or not isinstance(old, dict):
        return None if directive == "delete" else _clean(patch, schema)
    kept = _retained(dict(old), patch)
    for name, value in patch.items():
        if value is None:
            kept.pop(name, None)
        elif not name.startswith("$"):
            _lay(kept, name, value, patch, child(schema, name) or {})
    return _less_primitives(kept, patch)


def _retained(old: Object, patch: Object) -> Object:
    if "$retainKeys" not in patch:
        return old
    return {name: value for name, value in old.items() if name in patch["$retainKeys"]}


def _lay(kept: Object, name: str, value: JsonValue, patch: Object, schema: Object) -> None:
    strategy = schema.get("x-kubernetes-patch-strategy") or ""
    if strategy == "replace":
        kept[name] = value
    elif isinstance(value, list) and "merge" in strategy:
        order = patch.get(f"$setElementOrder/{name}")
        kept[name] = _lists(kept.get(name) or [], value, order, schema)
    elif (new := strategic(kept.get(name), value, schema)) is None:
        kept.pop(name, None)
    else:
        kept[name] = new


def _lists(
    old: list[JsonValue], patch: list[JsonValue], order: list[JsonValue] | None, schema: Object
) -> list[JsonValue]:
    key = schema.get("x-kubernetes-patch-merge-key")
    if any(isinstance(item, dict) and item.get("$patch") == "replace" for item in patch):
        return [item for item in patch if not (isinstance(item, dict) and "$patch" in item)]
    if key is None:
        return _woven([*old, *(item for item in patch if item not in old)], old, order or patch, json_text)
    found = {_key(item, key): item for item in old}
    for item in patch:
        at = _key(item, key)
        if isinstance(item, dict) and item.get("$patch") == "delete":
            found.pop(at, None)
        else:
            found[at] = strategic(found.get(at), item, schema.get("items", {}))
    return _woven(list(found.values()), old, order or patch, lambda item: _key(item, key))


def _key(item: JsonValue, key: str) -> str:
    if not isinstance(item, dict) or key not in item:
        said = " ".join(f"{k}:{v}" for k, v in sorted(item.items())) if isinstance(item, dict) else item
        raise StatusError(500, "", f"map: map[{said}] does not contain declared merge key: {key}")
    return json_text(item[key])


def _woven(
    items: list[JsonValue], old: list[JsonValue], order: list[JsonValue], key: Callable[[JsonValue], str]
) -> list[JsonValue]:
    """Order merged items: those of the patch in its order, the rest before the items they preceded; new items first."""
    wanted, before = _places(order, key), _places(old, key)
    named = sorted((item for item in items if key(item) in wanted), key=lambda item: wanted[key(item)])
    rest = [item for item in items if key(item) not in wanted]
    woven: list[JsonValue] = []
    while named and rest:
        there = before.get(key(named[0]))
        woven.append(rest.pop(0) if there is not None and before[key(rest[0])] < there else named.pop(0))
    return [*woven, *named, *rest]


def _places(items: list[JsonValue], key: Callable[[JsonValue], str]) -> dict[str, int]:
    return {key(item): place for place, item in enumerate(items)}


def _less_primitives(kept: Object, patch: Object) -> Object:
    for name, gone in patch.items():
        field = name.removeprefix("$deleteFromPrimitiveList/")
        if field != name and isinstance(kept.get(field), list):
            kept[field] = [item for item in kept[field] if item not in gone]
    return kept


def _clean(patch: Object, schema: Object) -> Object:
    plain = {name: value for name, value in patch.items() if not name.startswith("$") and value is not None}
    new = strategic({}, plain, schema)
    return new if isinstance(new, dict) else {}
