"""Provisioning as the runtime knows it: what it owns, hears, decides and does."""

from collections.abc import Mapping
from typing import Any

from events.bus import Bus
from schemas.cluster import InfraSeen
from schemas.inventory import ClusterSeen, Offers
from schemas.subjects import Key
from schemas.teardown import Releasing
from schemas.wish import Wish
from services.clouds.port import Cloud
from services.hearing import hears
from services.provisioning.act import act
from services.provisioning.decide import decide
from services.provisioning.todo import todo
from services.runtime import Service
from services.view import View, levels

HEARS = (
    hears(Wish, lambda _, wish: ((Key("cluster", wish.tenant, wish.name), wish),)),
    hears(InfraSeen, lambda names, seen: ((Key("cluster", names[2], seen.cluster), seen),)),
    hears(ClusterSeen, lambda names, seen: ((Key("cluster", names[2], seen.cluster), seen),)),
    hears(Releasing, lambda names, order: ((Key("cluster", names[2], names[3]), order),)),
)


def service(bus: Bus, clouds: Mapping[str, Cloud]) -> tuple[Service, tuple[View[Any, Any], ...]]:
    """The service, and the views that must run beside it."""
    offers, infra, inventory = levels(bus, Offers), levels(bus, InfraSeen), levels(bus, ClusterSeen)
    provisioning = Service("provisioning", decide, todo, HEARS, act(clouds, offers, infra, inventory))
    return provisioning, (offers, infra, inventory)
