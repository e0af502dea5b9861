"""Real objects are bent: somewhere in them stands what their readers do not expect."""

import copy
import json
from collections.abc import Iterator

from hypothesis import strategies as st

ODD = (
    None, True, 0, -1, 5, 2**70, 1e300, "", "abc", "-1", "9" * 50, "1e99", "a/b", "../x", "\u0000", "8Gi", "é" * 300,
    [], [None], [5], ["a"], [[]], [{}], {}, {"a": None}, {"key": 5}, {"name": "x"}, {"a": {"b": [1]}},
)  # fmt: skip
"""What is put in."""
IDENTITY = {("metadata",), ("metadata", "name"), ("metadata", "namespace"), ("metadata", "uid")}
"""What an object is told apart by: bent only where it is asked for."""
Path = tuple[str | int, ...]


def paths(value: object, at: Path = ()) -> Iterator[Path]:
    """Every place in a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield (*at, key)
        yield from paths(each, (*at, key))


def put(item: dict, path: Path, value: object) -> dict:
    """The same document with another value there."""
    made = copy.deepcopy(item)
    place = made
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = copy.deepcopy(value)
    return made


@st.composite
def bent(draw: st.DrawFn, items: tuple[dict, ...], name: str) -> dict:
    """One of the objects, under this name, bent in one or two places."""
    item = copy.deepcopy(draw(st.sampled_from(items)))
    item["metadata"] |= {"name": name, "uid": f"uid-{name}"}
    for _ in range(draw(st.integers(1, 2))):
        places = sorted((path for path in paths(item) if path not in IDENTITY), key=repr)
        item = put(item, draw(st.sampled_from(places)), draw(st.sampled_from(ODD)))
    return json.loads(json.dumps(item))
