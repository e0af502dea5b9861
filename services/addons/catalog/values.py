"""Merges, fills and compares values of charts; all pure, and no argument is changed."""

import json
from collections.abc import Mapping
from typing import Any

Values = dict[str, Any]


def merged(*layers: Mapping[str, Any]) -> Values:
    """The layers one over the other: mappings are merged, everything else is replaced."""
    whole: Values = {}
    for layer in layers:
        for name, value in layer.items():
            below = whole.get(name)
            if isinstance(below, dict) and isinstance(value, Mapping):
                whole[name] = merged(below, value)
            else:
                whole[name] = value
    return whole


def filled(written: Any, variables: Mapping[str, Any]) -> Any:  # noqa: ANN401 - values of any shape
    """The value with each ${NAME} of the variables put in; a text that is nothing else becomes the variable itself."""
    if isinstance(written, Mapping):
        return {name: filled(value, variables) for name, value in written.items()}
    if isinstance(written, list | tuple):
        return [filled(value, variables) for value in written]
    if not isinstance(written, str):
        return written
    for name, value in variables.items():
        if written == f"${{{name}}}":
            return value
        written = written.replace(f"${{{name}}}", value if isinstance(value, str) else json.dumps(value))
    return written


def at_path(path: str, value: Any) -> Values:  # noqa: ANN401 - any value
    """Values that hold this one at a path such as image.registry."""
    first, _, rest = path.partition(".")
    return {first: at_path(rest, value) if rest else value}


def difference(whole: Mapping[str, Any], below: Mapping[str, Any]) -> Values:
    """What has to be merged over `below` to get `whole`, which leaves out nothing that is in `below`."""
    over: Values = {}
    for name, value in whole.items():
        under = below.get(name)
        if isinstance(value, Mapping) and isinstance(under, Mapping):
            if inner := difference(value, under):
                over[name] = inner
        elif name not in below or value != under:
            over[name] = value
    return over
