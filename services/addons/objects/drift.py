"""Compares an object with what an apply of its manifest would make of it: which fields differ, and by whose hand."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from events.kube.client import Object
from services.addons.objects.ignoring import Ignore, is_ignored, pointer
from services.addons.objects.managed_fields import SENT, Fields, element, is_applied_by, owners, with_keys
from services.addons.objects.values import alike

HIDDEN = "(hidden)"
"""Stands for what a Secret holds."""
LONGEST = 100
"""Characters of a value in a sentence."""


class FieldChange(NamedTuple):
    """One field that is not as it is wanted."""

    path: str
    """A JSON pointer; elements of lists by their index in what is wanted, or else in what there is."""
    live: Any
    """None: the field is not there."""
    wanted: Any
    """None: the field should not be there."""
    manager: str
    """The field manager that wrote it; empty if nobody owns it, as where it was removed."""

    def __str__(self) -> str:
        by = f" by {self.manager}" if self.manager else ""
        return f"{self.path} is {_shown(self.live)}{by} and should be {_shown(self.wanted)}"


def _shown(value: object) -> str:
    if value is None:
        return "not there"
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def drift(live: Object, rehearsed: Object, manager: str, ignore: Iterable[Ignore] = ()) -> tuple[FieldChange, ...]:
    """How an object differs from what a dry run of `manager`'s apply would make of it.

    A field that others own as well, and that is as wanted, is no difference.
    """
    entries = [*owners(live), *owners(rehearsed)]
    walk = _Walk(_merged(each["fieldsV1"] for each in entries), live, manager)
    ignored = tuple(ignore)
    found = walk.between((), (), _body(live), _body(rehearsed))
    return tuple(_hidden(live, each) for path, each in found if not is_ignored(live, path, ignored))


class _Walk(NamedTuple):
    """Two shapes of one object, with what is known of its lists."""

    fields: Fields
    """All fields that anybody owns: they tell which lists have elements with keys, and which are sets."""
    live: Object
    manager: str

    def between(
        self, path: tuple[str, ...], owned: tuple[str, ...], live: object, wanted: object
    ) -> Iterator[tuple[tuple[str, ...], FieldChange]]:
        """The differences below a path, each with its own; `owned` is the same path as managedFields write it."""
        if alike(path[-2] if len(path) > 1 else "", live, wanted):
            return
        if isinstance(live, dict) and isinstance(wanted, dict):
            for name in dict.fromkeys((*wanted, *live)):
                yield from self.between((*path, name), (*owned, f"f:{name}"), live.get(name), wanted.get(name))
            return
        keyed = _children(self.fields, owned)
        if isinstance(live, list) and isinstance(wanted, list) and keyed:
            yield from self._elements(path, owned, keyed, (live, wanted))
            return
        yield path, FieldChange(pointer(path), live, wanted, self._writer(owned))

    def _elements(
        self, path: tuple[str, ...], owned: tuple[str, ...], keyed: Sequence[str], lists: tuple[list[Any], list[Any]]
    ) -> Iterator[tuple[tuple[str, ...], FieldChange]]:
        live, wanted = lists
        for name in keyed:
            there, asked = _position(name, live), _position(name, wanted)
            at = there if asked is None else asked
            if at is not None:
                pair = (_item(live, there), _item(wanted, asked))
                yield from self.between((*path, str(at)), (*owned, name), *pair)

    def _writer(self, owned: tuple[str, ...]) -> str:
        """The manager, other than the one that applies, that wrote a field last."""
        found = [
            each
            for each in owners(self.live)
            if not is_applied_by(each, self.manager) and _holds(each["fieldsV1"], owned)
        ]
        latest = max(found, key=lambda each: str(each.get("time", "")), default={})
        return str(latest.get("manager", ""))


def _body(whole: Object) -> Object:
    meta = {name: value for name, value in whole["metadata"].items() if name in SENT}
    return {**{k: v for k, v in whole.items() if k not in ("apiVersion", "kind", "status")}, "metadata": meta}


def _merged(sets: Iterable[Fields]) -> Fields:
    whole: dict[str, Any] = {}
    for each in sets:
        _merge(whole, each)
    return whole


def _merge(into: dict[str, Any], fields: Fields) -> None:
    for name, below in fields.items():
        if isinstance(below, dict):
            _merge(into.setdefault(name, {}), below)


def _children(fields: Fields, owned: Sequence[str]) -> list[str]:
    """The elements of a list that anybody owns by their keys or values."""
    for name in owned:
        fields = fields.get(name, {})
    return [name for name in fields if name.startswith(("k:", "v:"))]


def _holds(fields: Fields, owned: Sequence[str]) -> bool:
    """Whether a field, or something that it lies in as a whole, is in the set."""
    for name in owned:
        if name not in fields:
            return False
        fields = fields[name]
        if not fields:
            return True
    return True


def _position(name: str, among: Sequence[object]) -> int | None:
    kind, value = element(name)
    found = with_keys(among, value) if kind == "k" else [at for at, item in enumerate(among) if item == value]
    return found[0] if found else None


def _item(among: Sequence[object], at: int | None) -> object:
    return None if at is None else among[at]


def _hidden(live: Object, change: FieldChange) -> FieldChange:
    if live["kind"] != "Secret" or not change.path.startswith("/data"):
        return change
    return change._replace(
        live=change.live if change.live is None else HIDDEN, wanted=change.wanted if change.wanted is None else HIDDEN
    )
