"""`alate get addons` shows each add-on with its profile, its state, and what it waits for."""

from collections.abc import Iterator
from datetime import datetime

import msgspec

from events.bus import Stored
from schemas.addon import Planned, Withdrawn, profile_of
from schemas.registry import declared
from schemas.subjects import names_of
from services.queries.item import Item

OWN = "(Colony)"
"""Stands in the column of profiles for an add-on that a Colony asks for itself."""


def items(stored: Stored) -> Iterator[Item]:
    """The state of an add-on, with the profile and its name there."""
    _, event, tenant, name = names_of(stored.subject)
    state = msgspec.json.decode(stored.data)
    full = str(state.get("addon", ""))
    profile = {"profile": profile_of(full), "shortName": full.rpartition(".")[2]}
    yield {"namespace": tenant, "name": name, "state": event, **profile} | state


def names(item: Item) -> tuple[str, ...]:
    """What an add-on can be asked for by."""
    return (item["cluster"], item["addon"], item["shortName"])


def over(item: Item) -> bool:
    """Whether it is withdrawn."""
    return bool(item["state"] == declared(Withdrawn).event)


def profile(item: Item, _: datetime) -> str:
    """The profile that it is of."""
    return item["profile"] or OWN


def waits_for(item: Item, _: datetime) -> str:
    """What it waits for, or what went wrong."""
    if message := " ".join(str(item.get("message", "")).split()):
        return message
    if item["state"] == declared(Planned).event:
        return "waits for its cluster"
    return f"waits for {', '.join(item['after'])}" if item.get("gated") and item.get("after") else ""
