"""Reads YAML from outside within bounds; every fault is one error with one sentence."""

import re
from typing import Any

import yaml

DEEPEST = 100
"""Nesting of mappings and lists: far more than any Kubernetes object has."""
LARGEST = 4 << 20
"""Characters, unless a caller allows fewer: more than any Kubernetes object has."""
MOST_VALUES = 1_000_000
"""Once the aliases are written out."""
_FAST: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Ten times faster than the one in Python, which is taken where PyYAML was built without libyaml."""


_TEXTS = ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:value")


class KubernetesLoader(_FAST):  # type: ignore[misc, valid-type] # one of two
    """Reads plain words as Kubernetes does: dates, ``=`` and ``22:30`` are texts, and no numbers to the base of 60."""


KubernetesLoader.yaml_implicit_resolvers = {
    first: [(tag, re.compile(f"(?![^:]*:){shape.pattern}", re.VERBOSE)) for tag, shape in known if tag not in _TEXTS]
    for first, known in _FAST.yaml_implicit_resolvers.items()
}
# What PyYAML raises beside its own errors for numbers, dates and tags that are none.
_SURPRISES = (ValueError, LookupError, ArithmeticError, TypeError, AttributeError, RecursionError)


class InvalidYaml(ValueError):
    """A text is not YAML, or exceeds the bounds; the message is a single line."""


def documents(text: str, largest: int = LARGEST) -> list[Any]:
    """Every document, empty ones too, of a text of at most `largest` characters. Raises InvalidYaml."""
    if len(text) > largest:
        raise InvalidYaml(f"it has {len(text)} characters: at most {largest} are read")
    try:
        _measure(text)
        return list(yaml.load_all(text, KubernetesLoader))
    except InvalidYaml:
        raise
    except yaml.MarkedYAMLError as error:
        place = f"line {error.problem_mark.line + 1}" if error.problem_mark else "some line"
        raise InvalidYaml(f"at {place}: {error.problem or error.context}") from error
    except (yaml.YAMLError, *_SURPRISES) as error:
        said = " ".join(str(error).split())[:200] or type(error).__name__
        raise InvalidYaml(f"it has what cannot be read: {said}") from error


def document(text: str, largest: int = LARGEST) -> Any:  # noqa: ANN401 - whatever somebody wrote
    """The only document of a text; None if it is empty. Raises InvalidYaml."""
    found = documents(text, largest)
    if len(found) > 1:
        raise InvalidYaml(f"it holds {len(found)} documents: one is read")
    return found[0] if found else None


def _measure(text: str) -> None:
    """See how deep it is and how many values it comes to, before any is made. Raises Unreadable.

    libyaml builds values by recursion on the C stack: a hundred thousand brackets end the process. Aliases of aliases,
    or merged into each other, come to any number: each counts as much as what it stands for.
    """
    sizes: dict[str, int] = {}
    opened: list[tuple[str | None, int]] = []
    total = 0
    for event in yaml.parse(text, KubernetesLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            opened.append((event.anchor, total))
            if len(opened) > DEEPEST:
                raise InvalidYaml(f"it is nested more than {DEEPEST} deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = opened.pop()
            sizes |= {anchor: total - before} if anchor else {}
        elif isinstance(event, yaml.AliasEvent):
            if any(event.anchor == anchor for anchor, _ in opened):
                raise InvalidYaml(f"the alias {event.anchor} stands within what it stands for")
            total += sizes.get(event.anchor or "", 0)
        total += isinstance(event, yaml.NodeEvent)
        if total > MOST_VALUES:
            raise InvalidYaml(f"it comes to more than {MOST_VALUES} values once its aliases are written out")
