"""What `alate get` shows of each kind is a table: where its items are, their names, their columns."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from events.bus import Stored
from schemas.addon import Withdrawn
from schemas.placement import price
from schemas.registry import Stream, declared
from schemas.subjects import names_of
from services.cli.get import clusters
from services.cli.output.cells import gibibytes, refused, troubles
from services.cli.output.item import Item, age
from services.queries import offers, resources

Cell = Callable[[Item, datetime], str]


@dataclass(frozen=True)
class Kind:
    """One word after `alate get`."""

    columns: Mapping[str, Cell]
    names: Callable[[Item], tuple[str, ...]]
    """What an item can be asked for by; together they tell it from all others of its namespace."""
    stream: Stream | None = None
    """None: Colonies, which the management cluster keeps."""
    filter: str = ""
    also: tuple[str, ...] = ()
    """Filters of what is not shown itself, but told with what is."""
    levels: tuple[str, ...] = ()
    """The same, of what is seen: of LEVELS, where the stream is another."""
    items: Callable[[Stored], Iterator[Item]] = lambda _: iter(())
    arranged: Callable[[Sequence[Item], Sequence[Item]], list[Item]] = lambda some, _: list(some)
    """Some of the items as they are shown, in order; the second are all there are."""
    over: Callable[[Item], bool] = lambda _: False
    """Whether nothing of an item is there any more: it is shown where it is asked for."""

    def row(self, item: Item, now: datetime) -> tuple[str, ...]:
        """Its cells."""
        return tuple(cell(item, now) for cell in self.columns.values())


def _text(*path: str) -> Cell:
    """The value at a path, in one line; empty if it is not there."""

    def cell(item: Item, _: datetime) -> str:
        value: object = item
        for part in path:
            value = value.get(part) if isinstance(value, Mapping) else None
        return "" if value is None else " ".join(str(value).split())

    return cell


def _since(*path: str) -> Cell:
    read = _text(*path)
    return lambda item, now: age(read(item, now), now)


def _dollars(amount: float | None) -> str:
    return "" if amount is None else f"{amount:.2f}"


def _entity(stored: Stored) -> Iterator[Item]:
    _, event, tenant, name = names_of(stored.subject)
    yield {"namespace": tenant, "name": name, "state": event} | msgspec.json.decode(stored.data)


def _placement(item: Item) -> Item:
    found: Item = (item.get("attempt") or {}).get("placement", {})
    return found


def _bought(item: Item, _: datetime) -> str:
    place = _placement(item)
    kinds = {f"{lot['instance']}{' spot' if lot['spot'] else ''}" for lot in place.get("lots", ())}
    return f"{place['cloud']} {place['region']} {', '.join(sorted(kinds))}" if place else ""


class _Lot(msgspec.Struct, frozen=True):
    price_per_hour: float
    nodes: int
    extra: int = 0


def _price(item: Item, _: datetime) -> str:
    placement = _placement(item)
    lots = msgspec.convert(placement.get("lots", ()), tuple[_Lot, ...])
    return _dollars(price(lots, placement.get("control_plane_per_hour", 0.0))) if lots else ""


SAID = (_text("message"), _text("refused"), _text("because"), _text("ungrown", "message"))


def _said(item: Item, now: datetime) -> str:
    """What went wrong, or is waited for: the first of these that an entity's state tells."""
    return next(filter(None, (cell(item, now) for cell in SAID)), "")


COLONIES = Kind(
    {
        "NAME": _text("metadata", "name"),
        "PHASE": _text("status", "phase"),
        "READY": _text("status", "ready"),
        "ACCELERATORS": _text("status", "accelerators"),
        "OFFER": _text("status", "offer"),
        "PRICE/H": lambda item, _: _dollars(item.get("status", {}).get("pricePerHour")),
        "AGE": _since("metadata", "creationTimestamp"),
        "MESSAGE": _text("status", "message"),
    },
    lambda item: (item["metadata"]["name"],),
)

NODE_NAMES = resources.names("cluster", "node")
GPU_NAMES = resources.names("cluster", "node", "id")
STORAGE_NAMES = resources.names("cluster", "storage_class")

KINDS: Mapping[str, Kind] = {
    "colonies": COLONIES,
    "clusters": Kind(
        {
            "NAME": _text("name"),
            "STATE": lambda item, _: clusters.word(item),
            "SINCE": _since("since"),
            "OFFER": _bought,
            "PRICE/H": _price,
            "ATTEMPTS": lambda item, _: str(item.get("attempts", 0)),
            "COST": lambda item, _: _dollars(item.get("cost_usd", 0.0)),
            "MESSAGE": _said,
        },
        clusters.names,
        Stream.EVENTS,
        "cluster.*.{tenant}.*",
        ("teardown.*.{tenant}.*", "addon.*.{tenant}.*"),
        ("inventory.cluster.{tenant}.*",),
        clusters.items,
        clusters.arranged,
        clusters.over,
    ),
    "nodes": Kind(
        {
            "CLUSTER": _text("cluster"),
            "NODE": _text("node"),
            "POOL": _text("pool"),
            "READY": _text("ready"),
            "ACCELERATOR": _text("accelerator"),
            "COUNT": _text("accelerators"),
            "FREE": lambda item, _: f"{item['free']:g}",
            "SLICES": _text("slices"),
            "FRESH": _text("freshness"),
            "DEGRADED": lambda item, _: troubles(item),
        },
        NODE_NAMES,
        Stream.LEVELS,
        "inventory.nodes.{tenant}.*.*",
        items=resources.nodes,
        arranged=NODE_NAMES.arranged,
    ),
    "gpus": Kind(
        {
            "CLUSTER": _text("cluster"),
            "NODE": _text("node"),
            "ID": _text("id"),
            "MODEL": _text("model"),
            "MIB": _text("memory_mib"),
            "MIG": _text("mig"),
            "HEALTH": _text("health"),
            "DRIVER": _text("driver"),
            "HELD BY": lambda item, _: ", ".join(item.get("allocated_to", ())),
            "SOURCE": _text("source"),
            "FRESH": _text("freshness"),
        },
        GPU_NAMES,
        Stream.LEVELS,
        "inventory.nodes.{tenant}.*.*",
        items=resources.gpus,
        arranged=GPU_NAMES.arranged,
    ),
    "storage": Kind(
        {
            "CLUSTER": _text("cluster"),
            "CLASS": _text("storage_class"),
            "PROVISIONER": _text("provisioner"),
            "VOLUMES": _text("volumes"),
            "ALLOCATED": lambda item, _: gibibytes(item.get("allocated")),
            "AVAILABLE": lambda item, _: gibibytes(item.get("available")),
            "FRESH": _text("freshness"),
            "DEGRADED": lambda item, _: troubles(item),
        },
        STORAGE_NAMES,
        Stream.LEVELS,
        "inventory.storage.{tenant}.*.*",
        items=resources.storage,
        arranged=STORAGE_NAMES.arranged,
    ),
    "offers": Kind(
        {
            "CLOUD": _text("cloud"),
            "REGION": _text("region"),
            "ZONE": _text("zone"),
            "INSTANCE": _text("instance"),
            "ACCELERATOR": _text("accelerator"),
            "COUNT": _text("accelerators"),
            "PRICE/H": lambda item, _: _dollars(item["price"]),
            "SPOT/H": lambda item, _: _dollars(item.get("spot_price")),
            "LIMIT": _text("limit"),
            "REFUSED": refused,
            "PRICES": _since("as_of"),
        },
        offers.names,
        Stream.LEVELS,
        "inventory.offers.*.*",
        ("inventory.capacity.*.*",),
        items=offers.items,
        arranged=lambda some, everything: offers.arranged(some, everything, datetime.now(UTC)),
    ),
    "addons": Kind(
        {
            "CLUSTER": _text("cluster"),
            "ADDON": _text("addon"),
            "STATE": _text("state"),
            "SINCE": _since("since"),
            "MESSAGE": _text("message"),
        },
        lambda item: (item["cluster"], item["addon"]),
        Stream.EVENTS,
        "addon.*.{tenant}.*",
        items=_entity,
        over=lambda item: item["state"] == declared(Withdrawn).event,
    ),
}
"""By the word that names them; the singular is understood too."""
