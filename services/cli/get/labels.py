"""Names of clusters as people write them, COLONY/CLUSTER, for the names that events and the inventory carry."""

import msgspec

from events.bus import Stored
from schemas.subjects import names_of
from schemas.wish import cluster_name
from services.errors import BadInput
from services.queries.item import Item


class _Named(msgspec.Struct):
    colony: str
    cluster: str


class ClusterLabels:
    """Which cluster of which Colony a name means, learned from the wishes of Colonies."""

    def __init__(self) -> None:
        self._colonies: dict[tuple[str, str], str] = {}

    def read(self, stored: Stored) -> None:
        """Learn from a wish."""
        wish = msgspec.json.decode(stored.data, type=_Named)
        self._colonies[names_of(stored.subject)[2], cluster_name(wish.colony, wish.cluster)] = wish.colony

    @property
    def clusters(self) -> dict[str, str]:
        """All clusters as people write them, by the names that events carry."""
        return {name: label(colony, name) for (_, name), colony in self._colonies.items()}

    def colony(self, item: Item, field: str) -> str:
        """The Colony of an item's cluster; empty where it is unknown."""
        wish = item.get("wish") or {}
        known = self._colonies.get((str(item.get("namespace")), str(item.get(field))), "")
        return str(item.get("colony") or wish.get("colony") or known)

    def labelled(self, item: Item, field: str) -> Item:
        """The item with its cluster named as people write it; as it is where the Colony is unknown."""
        return item | {field: label(self.colony(item, field), str(item[field]))} if field in item else item


def label(colony: str, name: str) -> str:
    """COLONY/CLUSTER, from a Colony and the name that its cluster has in events."""
    stem = cluster_name(colony, "")
    return f"{colony}/{name.removeprefix(stem)}" if colony and name.startswith(stem) else name


def in_namespace(namespace: str) -> str:
    """The namespace for people; empty where commands look for it by themselves."""
    return "" if namespace == "default" else f" in namespace {namespace}"


def entity(text: str) -> str:
    """The name that a cluster has in events, from COLONY/CLUSTER or from that name itself. Raises BadInput."""
    colony, slash, cluster = text.partition("/")
    if not colony or (slash and not cluster) or "/" in cluster:
        raise BadInput(f"{text!r} names no cluster: must be COLONY/CLUSTER, as `alate get clusters` shows it")
    return cluster_name(colony, cluster) if slash else colony
