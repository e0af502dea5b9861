"""`alate get clusters` shows each cluster as its Colony's status does, with its cost up to now."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from events.bus import Stored
from schemas import addon, cluster, teardown
from schemas.entity import State
from schemas.inventory import ClusterSeen
from schemas.registry import declared
from schemas.subjects import names_of
from schemas.teardown import Gone
from services.colony.accounting import so_far
from services.gateway.preview import Facts, message, phase, skipped_steps
from services.queries.item import Item

DOMAIN = "domain"
"""The field that tells what an item is of until all that is said of a cluster is one item."""
STATES: Mapping[tuple[str, str], Any] = {
    (life.domain, declared(state).event): state
    for life in (cluster.LIFECYCLE, teardown.LIFECYCLE, addon.LIFECYCLE)
    for state in life.states
}
READ: Mapping[tuple[str, str], Any] = {**STATES, ("inventory", "cluster"): ClusterSeen}
QUIET = frozenset(
    {"allocated", "demand", "finished", "idleSince", "models", "observedAt", "pods", "resources", "revision", "used"}
)
"""What comes and goes with every pod, and is no news of the cluster."""


def items(stored: Stored) -> Iterator[Item]:
    """A state of a cluster, of its teardown or of an add-on on it, or what is seen of it."""
    domain, event, tenant, name = names_of(stored.subject)
    found: Item = {"namespace": tenant, "name": name.partition(".")[0], "state": event, DOMAIN: domain}
    yield found | _loud(msgspec.json.decode(stored.data))


def names(item: Item) -> tuple[str, ...]:
    """The cluster's; what else is said of it bears one more, which is no name that a cluster could have."""
    domain = item.get(DOMAIN, "cluster")
    return (item["name"],) if domain == "cluster" else (item["name"], f"{domain}.{item.get('addon', '')}")


def arranged(some: Sequence[Item], everything: Sequence[Item]) -> list[Item]:
    """Each cluster that some of the items are of, with all that is said of it."""
    asked: dict[tuple[str, str], list[Item]] = {(each["namespace"], each["name"]): [] for each in some}
    for each in everything:
        asked.get((each["namespace"], each["name"]), []).append(each)
    return [_whole(state, said) for said in asked.values() for state in said if state[DOMAIN] == "cluster"]


def over(item: Item) -> bool:
    """Whether it is released, its end is proven, and nothing of it may be left."""
    return bool(item["state"] == item.get("phase", "").lower() == RELEASED and not item["left"])


def word(item: Item) -> str:
    """How it is, as a table shows it; of one that cannot be read, as it was said."""
    return re.sub("(?<!^)(?=[A-Z])", "-", item.get("phase") or item["state"]).lower()


RELEASED = declared(cluster.Released).event


def _whole(item: Item, said: Sequence[Item]) -> Item:
    """One that this release cannot read is shown as it was said."""
    found = {key: value for key, value in item.items() if key != DOMAIN}
    facts = _facts(_read(item), [_read(each) for each in said])
    if facts is None or facts.cluster is None:
        return found
    left = skipped_steps(facts.teardown) if isinstance(facts.teardown, Gone) else []
    cost = so_far(facts.cluster, datetime.now(UTC))
    return found | {"costUsd": cost, "phase": phase(facts), "message": message(facts), "left": left}


def _facts(state: object, said: Sequence[object]) -> Facts | None:
    """What is known of it, as its Colony's status is made of it; but for the words of its back end."""
    if not isinstance(state, cluster.ClusterState):
        return None
    own = [each for each in said if isinstance(each, State | ClusterSeen) and each.uid == state.uid]
    return Facts(
        state.wish,
        cluster=state,
        teardown=next((each for each in own if isinstance(each, teardown.TeardownState)), None),
        addons=tuple(each for each in own if isinstance(each, addon.AddonState)),
        seen=next((each for each in own if isinstance(each, ClusterSeen)), None),
    )


def _read(item: Item) -> object:
    """None for what this release cannot read."""
    try:
        return msgspec.convert(item, READ[item[DOMAIN], item["state"]])
    except (KeyError, msgspec.ValidationError):
        return None


def _loud(said: Item) -> Item:
    return {
        name: _loud(value) if isinstance(value, dict) else value for name, value in said.items() if name not in QUIET
    }
