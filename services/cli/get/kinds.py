"""The kinds of `alate get`: where the items of each come from, how they are named, and their columns."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from events.bus import Stored
from schemas.placement import price
from schemas.registry import Stream, WireStruct
from services.cli.get import addons, clusters
from services.cli.output.cells import dollars, field, gibibytes, refused, since, troubles
from services.cli.output.render import Columns
from services.queries import offers, resources
from services.queries.item import Item

WISHES = "observed.wish.{tenant}.*"
"""The levels that say which cluster of which Colony a cluster's name in the inventory means."""


@dataclass(frozen=True)
class ResourceKind(Columns):
    """One word after `alate get`."""

    names: Callable[[Item], tuple[str, ...]] = lambda item: (item["name"],)
    """What an item can be asked for by; together they tell it from all others of its namespace."""
    stream: Stream | None = None
    """None: Colonies, which the management cluster keeps."""
    filter: str = ""
    also: tuple[str, ...] = ()
    """Filters of what is not shown itself, but needed to show an item."""
    levels: tuple[str, ...] = ()
    """The same in LEVELS, where the stream is another."""
    items: Callable[[Stored], Iterator[Item]] = lambda _: iter(())
    arranged: Callable[[Sequence[Item], Sequence[Item]], list[Item]] = lambda some, _: list(some)
    """Some of the items as they are shown, in order; the second are all that exist."""
    cluster: str = ""
    """Which field of an item names its cluster; empty: an item is of no cluster."""
    over: Callable[[Item], bool] = lambda _: False
    """Whether nothing of an item exists any more: it is shown only where it is asked for."""

    @property
    def cluster_or_colony(self) -> bool:
        """Whether its items are in a namespace, and of a Colony."""
        return bool(self.cluster) or self.stream is None

    def row(self, item: Item, now: datetime) -> tuple[str, ...]:
        """Its cells."""
        return tuple(cell(item, now) for cell in self.columns.values())


def field_name(*path: str) -> Callable[[Item], str]:
    """The text at a path, as ``-o name`` writes it."""
    read = field(*path)
    return lambda item: read(item, datetime.now(UTC))


def _placement(item: Item) -> Item:
    found: Item = (item.get("attempt") or {}).get("placement", {})
    return found


def _lots(item: Item) -> Sequence[Item]:
    lots: Sequence[Item] = _placement(item).get("lots", ())
    return lots


def _bought(item: Item, _: datetime) -> str:
    place = _placement(item)
    kinds = {f"{lot['instance']}{' spot' if lot['spot'] else ''}" for lot in _lots(item)}
    return f"{place['cloud']} {place['region']} {', '.join(sorted(kinds))}" if place else ""


class _Lot(WireStruct, frozen=True):
    price_per_hour: float
    nodes: int
    extra: int = 0


def _price(item: Item, _: datetime) -> str:
    placement = _placement(item)
    lots = msgspec.convert(_lots(item), tuple[_Lot, ...])
    return dollars(price(lots, placement.get("controlPlanePerHour", 0.0))) if lots else ""


SAID = (field("message"), field("refused"), field("reason"), field("unmetDemand", "message"))


def _said(item: Item, now: datetime) -> str:
    """What went wrong, or is waited for: the first of these that an entity's state tells."""
    return next(filter(None, (cell(item, now) for cell in SAID)), "")


COLONIES = ResourceKind(
    columns={
        "NAME": field("metadata", "name"),
        "PHASE": field("status", "phase"),
        "READY": field("status", "ready"),
        "ACCELERATORS": field("status", "accelerators"),
        "OFFER": field("status", "offer"),
        "PRICE/H": lambda item, _: dollars(item.get("status", {}).get("pricePerHour")),
        "AGE": since("metadata", "creationTimestamp"),
        "MESSAGE": field("status", "message"),
    },
    wide={"COST": lambda item, _: dollars(item.get("status", {}).get("costUsd")), "UID": field("metadata", "uid")},
    name=field_name("metadata", "name"),
    names=lambda item: (item["metadata"]["name"],),
)

NODE_NAMES = resources.names("cluster", "node")
GPU_NAMES = resources.names("cluster", "node", "id")
STORAGE_NAMES = resources.names("cluster", "storageClass")

KINDS: Mapping[str, ResourceKind] = {
    "colonies": COLONIES,
    "clusters": ResourceKind(
        {
            "NAME": field("name"),
            "STATE": lambda item, _: clusters.word(item),
            "SINCE": since("since"),
            "OFFER": _bought,
            "PRICE/H": _price,
            "ATTEMPTS": lambda item, _: str(item.get("attempts", 0)),
            "COST": lambda item, _: dollars(item.get("costUsd", 0.0)),
            "MESSAGE": _said,
        },
        wide={
            "ZONE": lambda item, _: ", ".join(sorted({lot["zone"] for lot in _lots(item) if lot.get("zone")})),
            "NEXT BEST/H": lambda item, _: dollars(item.get("nextBestPerHour")),
            "UID": field("uid"),
        },
        names=clusters.names,
        stream=Stream.EVENTS,
        filter="cluster.*.{tenant}.*",
        also=("teardown.*.{tenant}.*", "addon.*.{tenant}.*"),
        levels=("inventory.cluster.{tenant}.*",),
        items=clusters.items,
        arranged=clusters.arranged,
        cluster="name",
        over=clusters.over,
    ),
    "nodes": ResourceKind(
        {
            "CLUSTER": field("cluster"),
            "NODE": field("node"),
            "POOL": field("pool"),
            "READY": field("ready"),
            "ACCELERATOR": field("accelerator"),
            "COUNT": field("accelerators"),
            "FREE": lambda item, _: f"{item['free']:g}",
            "SLICES": field("slices"),
            "FRESH": field("freshness"),
            "DEGRADED": troubles,
        },
        wide={"SCHEDULABLE": field("schedulable"), "PODS": field("pods")},
        name=field_name("node"),
        names=NODE_NAMES,
        stream=Stream.LEVELS,
        filter="inventory.nodes.{tenant}.*.*",
        also=(WISHES,),
        cluster="cluster",
        items=resources.nodes,
        arranged=NODE_NAMES.arranged,
    ),
    "gpus": ResourceKind(
        {
            "CLUSTER": field("cluster"),
            "NODE": field("node"),
            "ID": field("id"),
            "MODEL": field("model"),
            "MIB": field("memoryMiB"),
            "MIG": field("mig"),
            "HEALTH": field("health"),
            "DRIVER": field("driver"),
            "HELD BY": lambda item, _: ", ".join(item.get("allocatedTo", ())),
            "SOURCE": field("source"),
            "FRESH": field("freshness"),
        },
        name=field_name("id"),
        names=GPU_NAMES,
        stream=Stream.LEVELS,
        filter="inventory.nodes.{tenant}.*.*",
        also=(WISHES,),
        cluster="cluster",
        items=resources.gpus,
        arranged=GPU_NAMES.arranged,
    ),
    "storage": ResourceKind(
        {
            "CLUSTER": field("cluster"),
            "CLASS": field("storageClass"),
            "PROVISIONER": field("provisioner"),
            "VOLUMES": field("volumes"),
            "ALLOCATED": gibibytes("allocated"),
            "AVAILABLE": gibibytes("available"),
            "FRESH": field("freshness"),
            "DEGRADED": troubles,
        },
        name=field_name("storageClass"),
        names=STORAGE_NAMES,
        stream=Stream.LEVELS,
        filter="inventory.storage.{tenant}.*.*",
        also=(WISHES,),
        cluster="cluster",
        items=resources.storage,
        arranged=STORAGE_NAMES.arranged,
    ),
    "offers": ResourceKind(
        {
            "CLOUD": field("cloud"),
            "REGION": field("region"),
            "ZONE": field("zone"),
            "INSTANCE": field("instance"),
            "ACCELERATOR": field("accelerator"),
            "COUNT": field("accelerators"),
            "PRICE/H": lambda item, _: dollars(item["price"]),
            "SPOT/H": lambda item, _: dollars(item.get("spotPrice")),
            "LIMIT": field("limit"),
            "REFUSED": refused,
            "PRICES": since("asOf"),
        },
        name=lambda item: "/".join(filter(None, offers.names(item))),
        names=offers.names,
        stream=Stream.LEVELS,
        filter="inventory.offers.*.*",
        also=("inventory.capacity.*.*",),
        items=offers.items,
        arranged=lambda some, everything: offers.arranged(some, everything, datetime.now(UTC)),
    ),
    "addons": ResourceKind(
        {
            "CLUSTER": field("cluster"),
            "ADDON": field("shortName"),
            "PROFILE": addons.profile,
            "STATE": field("state"),
            "SINCE": since("since"),
            "WAITS FOR": addons.waits_for,
        },
        wide={"FULL NAME": field("addon"), "DIGEST": field("digest"), "UID": field("uid")},
        name=field_name("addon"),
        names=addons.names,
        stream=Stream.EVENTS,
        filter="addon.*.{tenant}.*",
        levels=(WISHES,),
        items=addons.items,
        cluster="cluster",
        over=addons.over,
    ),
}
"""By the word that names them; the singular is understood, too."""
