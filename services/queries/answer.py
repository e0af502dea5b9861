"""Answers an inventory query from the levels, as a pure function and a table."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from events.bus import Stored
from schemas.inventory import NodeSeen, Offers, StorageSeen
from schemas.market import CapacitySeen
from schemas.questions import LIMIT, InventoryAnswer, InventoryQuery
from schemas.registry import UNREADABLE
from services.queries import offers, resources
from services.queries.filter import InvalidFilter, ItemFilter
from services.queries.item import Item

LARGEST = 512 * 1024
"""Bytes of items in one answer: half of what a message may have."""
SUBJECT = "ask.inventory."
"""Begins the subject of every question; its name follows."""

StoredLevels = Callable[..., Iterable[Stored]]
"""From a kind of level and the first of its names to the newest messages (`level_publisher.Levels.kept`)."""


class BadQuestion(ValueError):
    """The question cannot be answered; the message is one clear sentence."""


@dataclass(frozen=True)
class QuestionKind:
    """One kind of query."""

    levels: tuple[type[msgspec.Struct], ...]
    by: tuple[str, ...]
    """What tells its items apart: fields of `InventoryQuery`."""
    items: Callable[[Stored], Iterator[Item]]
    arranged: Callable[[Sequence[Item], Sequence[Item], datetime], list[Item]]


def _by(*fields: str) -> Callable[[Sequence[Item], Sequence[Item], datetime], list[Item]]:
    names = resources.names(*fields)
    return lambda some, everything, _: names.arranged(some, everything)


PLACE = ("tenant", "cluster")
MARKET = ("accelerator", "cloud", "region", "maxPrice", "spot")
KINDS: Mapping[str, QuestionKind] = {
    "nodes": QuestionKind(
        (NodeSeen,), (*PLACE, "node", "accelerator"), resources.nodes, _by("namespace", "cluster", "node")
    ),
    "gpus": QuestionKind(
        (NodeSeen,), (*PLACE, "node", "accelerator"), resources.gpus, _by("namespace", "cluster", "node", "id")
    ),
    "storage": QuestionKind((StorageSeen,), PLACE, resources.storage, _by("namespace", "cluster", "storageClass")),
    "offers": QuestionKind((Offers, CapacitySeen), MARKET, offers.items, offers.arranged),
}
"""By the question's name; its subject is `SUBJECT` and the name."""


def answer(question: str, asked: bytes, kept: StoredLevels, now: datetime) -> bytes:
    """The JSON of an `InventoryAnswer` to the JSON of an `InventoryQuery`; numbers may be text. Raises BadQuestion."""
    kind = KINDS[question]
    wanted = _read(asked)
    sieve = _checked(question, kind, wanted)
    names = _names(wanted)
    everything = [item for level in kind.levels for stored in kept(level, *names) for item in kind.items(stored)]
    found = [item for item in kind.arranged(everything, everything, now) if sieve.lets(item) and _is_at(item, wanted)]
    return _page(found, wanted)


def _read(asked: bytes) -> InventoryQuery:
    try:
        wanted = msgspec.json.decode(asked or b"{}", type=InventoryQuery, strict=False)
    except UNREADABLE as wrong:
        fields = ", ".join(InventoryQuery.__struct_encode_fields__)
        raise BadQuestion(f"the question is not understood: {wrong}; expected JSON with any of {fields}") from wrong
    if not 1 <= wanted.limit <= LIMIT:
        raise BadQuestion(f"limit is {wanted.limit}: expected 1 to {LIMIT}")
    if wanted.offset < 0:
        raise BadQuestion(f"offset is {wanted.offset}: expected 0 or more")
    return wanted


def _checked(question: str, kind: QuestionKind, wanted: InventoryQuery) -> ItemFilter:
    given = msgspec.to_builtins(wanted)
    foreign = [field for field in given if field not in (*kind.by, "offset", "limit")]
    if foreign:
        raise BadQuestion(f"{question} cannot be told apart by {', '.join(foreign)}: expected {', '.join(kind.by)}")
    sieve = ItemFilter(wanted.accelerator, wanted.cloud, wanted.region, wanted.max_price, wanted.spot)
    try:
        sieve.check()
    except InvalidFilter as wrong:
        raise BadQuestion(str(wrong)) from wrong
    return sieve


def _names(wanted: InventoryQuery) -> tuple[str, ...]:
    """The first names of the subjects to look at, so that not all have to be read."""
    if wanted.tenant is None:
        return ()
    return (wanted.tenant,) if wanted.cluster is None else (wanted.tenant, wanted.cluster)


def _is_at(item: Item, wanted: InventoryQuery) -> bool:
    places = {"namespace": wanted.tenant, "cluster": wanted.cluster, "node": wanted.node}
    return all(value is None or item.get(field) == value for field, value in places.items())


def _page(found: Sequence[Item], wanted: InventoryQuery) -> bytes:
    items: list[msgspec.Raw] = []
    size = 0
    for item in found[wanted.offset : wanted.offset + wanted.limit]:
        data = msgspec.json.encode(item)
        size += len(data)
        if items and size > LARGEST:
            break
        items.append(msgspec.Raw(data))
    remaining = max(0, len(found) - wanted.offset - len(items))
    return msgspec.json.encode(InventoryAnswer(items=tuple(items), total=len(found), remaining=remaining))
