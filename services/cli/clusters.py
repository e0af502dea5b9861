"""`alate get clusters` shows each cluster with how far its end is and what it has cost by now."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from events.bus import Stored
from schemas import cluster, teardown
from schemas.registry import declared
from schemas.subjects import names_of
from schemas.teardown import Ending
from services.bill import so_far
from services.cli.item import Item
from services.gateway.ending import ends
from services.gateway.facts import Facts

DOMAIN = "domain"
"""The field that tells a cluster's state from that of its teardown until both are one item."""
STATES: Mapping[tuple[str, str], Any] = {
    (life.domain, declared(state).event): state
    for life in (cluster.LIFECYCLE, teardown.LIFECYCLE)
    for state in life.states
}


def items(stored: Stored) -> Iterator[Item]:
    """A state of a cluster, or of its teardown."""
    domain, event, tenant, name = names_of(stored.subject)
    found: Item = {"namespace": tenant, "name": name, "state": event, DOMAIN: domain}
    yield found | msgspec.json.decode(stored.data)


def names(item: Item) -> tuple[str, ...]:
    """The cluster's; its teardown bears one more."""
    return (item["name"],) if item.get(DOMAIN, "cluster") == "cluster" else (item["name"], item[DOMAIN])


def arranged(some: Sequence[Item], everything: Sequence[Item]) -> list[Item]:
    """Each cluster that some of the states are of, with its end."""
    clusters = {each["name"]: each for each in everything if each[DOMAIN] == "cluster"}
    teardowns = {each["name"]: each for each in everything if each[DOMAIN] == "teardown"}
    asked = dict.fromkeys(each["name"] for each in some)
    return [_whole(clusters[name], teardowns.get(name)) for name in asked if name in clusters]


def over(item: Item) -> bool:
    """Whether it is released, and its end is proven."""
    return bool(item["state"] == declared(cluster.Released).event and "teardown" not in item)


def _whole(item: Item, end: Item | None) -> Item:
    """One that this release cannot read is shown as it was said."""
    found = {key: value for key, value in item.items() if key != DOMAIN}
    try:
        state = msgspec.convert(item, STATES["cluster", item["state"]])
        going = msgspec.convert(end, STATES["teardown", end["state"]]) if end else None
    except (KeyError, msgspec.ValidationError):
        return found
    found["cost_usd"] = so_far(state, datetime.now(UTC))
    if end is not None and isinstance(going, Ending) and going.uid == state.uid:
        found["teardown"] = {"state": end["state"], "message": ends(Facts(state.wish, cluster=state, teardown=going))}
    return found
