"""Parses label and field selectors."""

import re
from collections.abc import Callable

from events.kube.client import Object
from services.sandbox.api.status import bad_request

Matches = Callable[[Object], bool]

_TERM = re.compile(
    r"\s*(?:(?P<absent>!)\s*(?P<missing>[\w./-]+)"
    r"|(?P<key>[\w./-]+)\s*(?:(?P<op>==|=|!=|>|<)\s*(?P<value>[\w.-]*)"
    r"|\s(?P<set>in|notin)\s*\((?P<values>[^)]*)\))?)\s*(?:,|$)"
)
_FIELD = re.compile(r"^(?P<path>[\w.\-\[\]/]+?)(?P<op>==|=|!=)(?P<value>.*)$")


def labels(selector: str) -> Matches | None:
    """Read a label selector (``a=b,c!=d,e,!f,g in (h,i)``); None if it selects all. Raises `Refused`."""
    terms: list[Callable[[dict[str, str]], bool]] = []
    position = 0
    while position < len(selector):
        found = _TERM.match(selector, position)
        if not found or found.end() == position:
            raise bad_request(f"unable to parse requirement: {selector!r} is no label selector")
        terms.append(_term(found))
        position = found.end()
    if not terms:
        return None
    return lambda o: (given := o["metadata"].get("labels") or {}) is not None and all(t(given) for t in terms)


def _term(found: re.Match[str]) -> Callable[[dict[str, str]], bool]:
    key, value = found["key"], found["value"]
    if found["absent"]:
        missing = found["missing"]
        return lambda given: missing not in given
    if found["set"]:
        values = {v.strip() for v in found["values"].split(",")}
        return (lambda g: g.get(key) in values) if found["set"] == "in" else (lambda g: g.get(key) not in values)
    if found["op"] == "!=":
        return lambda given: given.get(key) != value
    if found["op"] in (">", "<"):
        return _compared(key, found["op"], value)
    if found["op"]:
        return lambda given: given.get(key) == value
    return lambda given: key in given


def _compared(key: str, op: str, value: str) -> Callable[[dict[str, str]], bool]:
    if not value.lstrip("-").isdecimal():
        raise bad_request(f"unable to parse requirement: {value!r} is no whole number to compare with")
    than = int(value)

    def compare(given: dict[str, str]) -> bool:
        found = given.get(key, "")
        return found.lstrip("-").isdecimal() and (int(found) > than if op == ">" else int(found) < than)

    return compare


def fields(selector: str, known: frozenset[str]) -> Matches | None:
    """Read a field selector (``a.b=c,d!=e``) over the fields a kind knows; None if it selects all."""
    terms = [_field(term, known) for term in selector.split(",") if term]
    return (lambda o: all(term(o) for term in terms)) if terms else None


def _field(term: str, known: frozenset[str]) -> Matches:
    found = _FIELD.match(term)
    if not found:
        raise bad_request(f"invalid field selector: {term!r}")
    path, value = found["path"], found["value"]
    if path not in known:
        raise bad_request(f"field label not supported: {path}")
    steps = tuple(path.split("."))
    if found["op"] == "!=":
        return lambda o: _at(o, steps) != value
    return lambda o: _at(o, steps) == value


def _at(value: object, steps: tuple[str, ...]) -> str:
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def both(first: Matches | None, second: Matches | None) -> Matches | None:
    """A selector of what both select; None if neither selects."""
    if first and second:
        return lambda o: first(o) and second(o)
    return first or second
