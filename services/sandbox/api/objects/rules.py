"""What a CustomResourceDefinition says of a whole object in CEL (``x-kubernetes-validations``) is checked here.

Rules of parts within are not: no kind that the sandbox serves for alate has any that an update of ours could break.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Any

import msgspec

from events.kube.client import Object
from services.expressions.cel import FAULTS, CelProgram, Variables, bound
from services.expressions.cost import Sizes, estimated_microseconds, measure
from services.sandbox.api.status import FieldError

TEXTS = {"FieldValueForbidden": "Forbidden", "FieldValueInvalid": "Invalid value"}
"""How the real server begins its messages."""
ValidationRule = dict[str, str]
OVER_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run"
OLD, NEW = "oldSelf", "self"
BUDGET = 500_000.0
"""Microseconds that a rule may take by an estimate; more would hold the server for as long."""
MOST_PARTS = 1_000_000
"""Parts of an object, more than any request has."""
ALL = ""
"""Stands for every section of an object, or every field of a section."""
_PRESENCE = re.compile(r"\bhas\((self|oldSelf)\.(\w+)\)")
_MENTION = re.compile(r"\b(self|oldSelf)\b(?:\.(\w+)\b(?!\()(?:\.(\w+)\b(?!\())?)?")
"""A variable with a section and a field of it; what is called is no field, but a function of what stands before it."""


def broken(schema: Object, old: Object | None, new: Object) -> Iterator[FieldError]:
    """The rules that an object breaks; rules on the old object apply to updates only."""
    rules = [each for each in schema.get("x-kubernetes-validations", ()) if old or "oldSelf" not in each["rule"]]
    texts = "\n".join(each["rule"] for each in rules)
    seen = [_visible(each, _mentioned(texts, name)) if each else None for each, name in ((old, OLD), (new, NEW))]
    yield from _causes(msgspec.json.encode(rules), msgspec.json.encode(seen)) if rules else ()


@lru_cache(maxsize=64)
def _causes(rules: bytes, seen: bytes) -> tuple[FieldError, ...]:
    """What is wrong, by texts: an object is written many times for each time that what the rules see of it changes."""
    old, new = msgspec.json.decode(seen)
    known = {OLD: old, NEW: new}
    context = cache(lambda: bound(known, {"split": str.split}))  # of Kubernetes' own library of texts
    sizes = cache(lambda: measure(known, MOST_PARTS))
    found = (_checked(rule, context, sizes) for rule in msgspec.json.decode(rules, type=list[ValidationRule]))
    return tuple(each for each in found if each)


def _checked(
    rule: ValidationRule, context: Callable[[], Variables], sizes: Callable[[], Sizes | None]
) -> FieldError | None:
    where, reason = rule.get("fieldPath", "<nil>").removeprefix("."), rule.get("reason", "FieldValueInvalid")
    message = rule.get("message") or f"failed rule: {rule['rule']}"
    try:
        program = _compiled(rule["rule"])
    except ValueError as error:
        return _invalid(where, f"rule compile error: {error}")
    if (size := sizes()) is None or estimated_microseconds(program.shape, size) > BUDGET:
        return _invalid(where, OVER_BUDGET)
    try:
        holds = program.execute(context()) is True
    except KeyError as absent:
        return _invalid(where, f"no such key: {absent.args[0]} evaluating rule: {message}")
    except FAULTS as error:
        return _invalid(where, f"{error} evaluating rule: {message}")
    return None if holds else FieldError(where, reason, f"{TEXTS.get(reason, reason)}: {message}")


def _invalid(where: str, why: str) -> FieldError:
    return FieldError(where, "FieldValueInvalid", f'Invalid value: "object": {why}')


def _visible(whole: Object, mentioned: Mapping[str, set[str]]) -> Object:
    """What rules mention of an object; of the metadata, they see the name alone."""
    names = {key: value for key, value in whole["metadata"].items() if key in ("name", "generateName")}
    seen = {**whole, "metadata": names}
    if ALL in mentioned:
        return seen
    return {section: _picked(seen[section], fields) for section, fields in mentioned.items() if section in seen}


def _picked(section: Any, fields: set[str]) -> Any:  # noqa: ANN401 - any JSON
    if ALL in fields or not isinstance(section, dict):
        return section
    return {name: value for name, value in section.items() if name in fields}


@lru_cache(maxsize=256)
def _mentioned(rules: str, variable: str) -> Mapping[str, set[str]]:
    """The sections of an object that rules mention, each with its fields; of what they only ask for presence, none."""
    found: dict[str, set[str]] = {section: set() for name, section in _PRESENCE.findall(rules) if name == variable}
    for name, section, field in _MENTION.findall(_PRESENCE.sub("", rules)):
        if name == variable:
            found.setdefault(section, set()).add(field)
    return found


@lru_cache(maxsize=256)
def _compiled(rule: str) -> CelProgram:
    """Raises ValueError."""
    return CelProgram(rule)
