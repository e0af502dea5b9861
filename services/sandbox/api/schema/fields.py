"""Sets of field paths, as field ownership uses them.

A step of a path is written as in fieldsV1: ``f:<name>`` a field, ``k:<json>`` a list item by its keys, ``v:<json>``
an item of a set. A path that ends in a ``k:`` step is the item itself (``.`` in fieldsV1).
"""

from collections.abc import Callable, Iterator

import msgspec

from events.kube.client import Object
from services.sandbox.api.schema.schema import child

FieldPath = tuple[str, ...]
FieldSet = frozenset[FieldPath]


def json_text(value: object) -> str:
    """A value as JSON."""
    return msgspec.json.encode(value).decode()


def shape(value: object, schema: Object) -> str:
    """How a value is owned: ``map`` by field, ``keyed`` or ``set`` by item, ``leaf`` as a whole."""
    if isinstance(value, dict):
        return "leaf" if schema.get("x-kubernetes-map-type") == "atomic" else "map"
    if isinstance(value, list):
        return {"map": "keyed", "set": "set"}.get(schema.get("x-kubernetes-list-type", ""), "leaf")
    return "leaf"


def parts(value: object, schema: Object) -> dict[str, tuple[object, Object]]:
    """The path elements below a value, each with its value and schema; none below a leaf."""
    match shape(value, schema), value:
        case "map", dict():
            return {f"f:{name}": (below, child(schema, name) or {}) for name, below in value.items()}
        case "keyed", list():
            items = schema.get("items", {})
            return {step_of(item, schema): (item, items) for item in value}
        case "set", list():
            return {f"v:{json_text(item)}": (item, {}) for item in value}
    return {}


def step_of(item: object, schema: Object) -> str:
    """The ``k:`` path element of an item; an omitted key has its default (a port's protocol)."""
    if not isinstance(item, dict):
        return f"v:{json_text(item)}"
    properties = schema.get("items", {}).get("properties", {})
    keys = {k: item.get(k, properties.get(k, {}).get("default")) for k in sorted(schema["x-kubernetes-list-map-keys"])}
    return f"k:{json_text({k: v for k, v in keys.items() if v is not None})}"


def owned(value: object, schema: Object, path: FieldPath = ()) -> Iterator[FieldPath]:
    """The paths that a manager who applies this value owns."""
    below = parts(value, schema)
    # In content that no schema declares, a map is owned too (deduced types of structured-merge-diff).
    deduced = not schema and isinstance(value, dict)
    if path and (not below or path[-1][0] in "kv" or deduced):
        yield path
    for step, (inner, inner_schema) in below.items():
        yield from owned(inner, inner_schema, (*path, step))


def every(value: object, schema: Object, path: FieldPath = ()) -> Iterator[FieldPath]:
    """Every path of a value, containers too."""
    if path:
        yield path
    for step, (inner, inner_schema) in parts(value, schema).items():
        yield from every(inner, inner_schema, (*path, step))


def compare(old: object, new: object, schema: Object) -> tuple[set[FieldPath], set[FieldPath]]:
    """The paths that were added or changed, and those that were removed."""
    found: tuple[set[FieldPath], set[FieldPath]] = (set(), set())
    _compare(old, new, schema, (), found)
    return found


def _compare(
    old: object, new: object, schema: Object, path: FieldPath, found: tuple[set[FieldPath], set[FieldPath]]
) -> None:
    if old == new:
        return
    changed, removed = found
    was, now = parts(old, schema), parts(new, schema)
    if path and not (shape(old, schema) == shape(new, schema) != "leaf"):
        changed.add(path)
    for step in was.keys() - now.keys():
        removed.update(every(*was[step], (*path, step)))
    for step in now.keys() - was.keys():
        changed.update(every(*now[step], (*path, step)))
    for step in was.keys() & now.keys():
        _compare(was[step][0], *now[step], (*path, step), found)


def without(value: object, schema: Object, gone: set[FieldPath]) -> object:
    """The value without the paths in `gone`, and without what is below them."""
    below: dict[str, set[FieldPath]] = {}
    for step, *rest in gone:
        below.setdefault(step, set()).add(tuple(rest))
    kept = {
        step: without(inner, inner_schema, below[step]) if step in below else inner
        for step, (inner, inner_schema) in parts(value, schema).items()
        if () not in below.get(step, ())
    }
    return {step[2:]: inner for step, inner in kept.items()} if isinstance(value, dict) else list(kept.values())


def merged(live: object, config: object, schema: Object) -> object:
    """The live value merged with a configuration."""
    if shape(live, schema) != shape(config, schema) or shape(config, schema) == "leaf":
        return config
    result = {step: inner for step, (inner, _) in parts(live, schema).items()}
    for step, (inner, inner_schema) in parts(config, schema).items():
        result[step] = merged(result[step], inner, inner_schema) if step in result else inner
    if isinstance(config, dict):
        return {step[2:]: inner for step, inner in result.items()}
    return [result[step] for step in _woven(list(parts(live, schema)), list(parts(config, schema)))]


def _woven(live: list[str], config: list[str]) -> list[str]:
    """Merge the order of two lists as structured-merge-diff does: the configuration's, the rest in place."""
    shared = [step for step in config if step in live]
    left, right, woven = list(live), list(config), list[str]()
    while left or right:
        if left and left[0] not in config:
            woven.append(left.pop(0))
            continue
        if left and right and left[0] != right[0] and shared and shared[0] != left[0]:
            left.pop(0)  # shared, but its turn is another
            continue
        if left and (left[0] in woven or left[:1] == right[:1]):
            left.pop(0)
        if right:
            woven.append(right.pop(0))
            shared = shared[1:] if shared[:1] == woven[-1:] else shared
    return woven


def to_v1(fields: FieldSet | set[FieldPath]) -> Object:
    """Write a set as fieldsV1."""
    root: Object = {}
    for path in sorted(fields, key=len):
        node = root
        for step in path:
            node = node.setdefault(step, {})
        node["."] = {}
    return _folded(root)


def _folded(node: Object) -> Object:
    below = {step: _folded(inner) for step, inner in sorted(node.items()) if step != "."}
    return {".": {}, **below} if "." in node and below else below


def from_v1(node: Object, path: FieldPath = ()) -> Iterator[FieldPath]:
    """Read a set from fieldsV1."""
    if path and (not node or "." in node):
        yield path
    for step, inner in node.items():
        if step != ".":
            yield from from_v1(inner, (*path, step))


def dotted(path: FieldPath) -> str:
    """A path as conflict messages show it: ``.spec.ports[port=80].name``."""
    return "".join(_STEPS[step[0]](step[2:]) for step in path)


_STEPS: dict[str, Callable[[str], str]] = {
    "f": lambda name: f".{name}",
    "v": lambda item: f"[={item}]",
    "k": lambda keys: f"[{','.join(f'{k}={json_text(v)}' for k, v in msgspec.json.decode(keys).items())}]",
}
