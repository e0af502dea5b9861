"""The provisioning service: the messages it receives, its decisions, and its calls."""

from collections.abc import Mapping
from typing import Any

from schemas.cluster import Released
from schemas.infra import InfraSeen
from schemas.inventory import ClusterSeen, Offers
from schemas.subjects import Key
from schemas.teardown import TeardownReleasing
from schemas.wish import Wish
from services.clouds.port import Cloud
from services.provisioning.act import act
from services.provisioning.lifecycle.decide import decide
from services.provisioning.lifecycle.todo import todo
from services.provisioning.market_view import MarketView
from services.runtime.consumer import subscribe
from services.runtime.context import Context
from services.runtime.loop import Service
from services.runtime.read_model import ReadModel, levels

SUBSCRIPTIONS = (
    subscribe(Wish, lambda _, wish: ((Key("cluster", wish.tenant, wish.name), wish),)),
    subscribe(InfraSeen, lambda names, seen: ((Key("cluster", names[2], seen.cluster), seen),)),
    subscribe(ClusterSeen, lambda names, seen: ((Key("cluster", names[2], seen.cluster), seen),)),
    subscribe(TeardownReleasing, lambda names, order: ((Key("cluster", names[2], names[3]), order),)),
)


def service(
    context: Context, clouds: Mapping[str, Cloud], *, priced: bool = True
) -> tuple[Service, tuple[ReadModel[Any, Any], ...]]:
    """The service and the read models that run beside it; without price catalogs (not `priced`) it buys nothing."""
    bus, meters = context.bus, context.meters
    market_view = MarketView(context)
    infra, inventory = levels(bus, InfraSeen, meters), levels(bus, ClusterSeen, meters)
    signals = market_view.tenant_signals
    moves = (
        subscribe(Offers, lambda _, level: signals.market_moved(offer.accelerator for offer in level.offers)),
        subscribe(Released, lambda _, state: signals.machines_released(state)),
    )
    provisioning = Service(
        "provisioning",
        decide,
        todo,
        (*SUBSCRIPTIONS, *moves),
        act(clouds, market_view, infra, inventory, priced=priced),
    )
    return provisioning, (*market_view.views, infra, inventory)
