"""YAML that others wrote is read by libyaml where it is there, but never deeper than the stack bears."""

from itertools import accumulate
from typing import Any

import yaml

DEEPEST = 100
"""Mappings and lists within each other: far more than any Kubernetes object has."""
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Ten times faster than the one in Python, which is taken where PyYAML was built without libyaml."""


class TooDeep(yaml.YAMLError):
    """It is nested deeper than `DEEPEST`."""

    def __init__(self) -> None:
        super().__init__(f"nested more than {DEEPEST} deep")


def documents(text: str) -> list[Any]:
    """Every document, those that say nothing too. Raises yaml.YAMLError."""
    # libyaml builds values by recursion on the C stack: a hundred thousand brackets end the process.
    if any(depth > DEEPEST for depth in accumulate(map(_step, yaml.parse(text, LOADER)))):
        raise TooDeep
    return list(yaml.load_all(text, LOADER))


def _step(event: yaml.Event) -> int:
    return isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
