"""NATS permissions per role, derived from the declarations in schemas and the services' subscriptions."""

from events.bus import REDRIVE
from events.jetstream.permissions import Role
from events.streams import STREAMS
from schemas import addon, cluster, teardown
from schemas.entity import Lifecycle
from schemas.member import MEMBER
from schemas.registry import Declaration, Stream, declarations
from schemas.subjects import token
from services.addons.service import SUBSCRIPTIONS as ADDONS_SUBSCRIPTIONS
from services.edge.triggers.bus_subject import EVENTS_CONSUMER, LEVELS_CONSUMER
from services.edge.webhooks.inbox import CONSUMER as HOOKS
from services.eventlog.filters import STREAMS as SHOWN
from services.gateway.intake import CONSUMER as INTAKE
from services.inventory.responder import NAME as INVENTORY_DESK
from services.outbound.outbox import DELIVERY_CONSUMER as TARGETS
from services.outbound.outbox import OUTBOX_CONSUMER
from services.outbound.outbox import STREAM as OUTBOUND
from services.provisioning.service import SUBSCRIPTIONS as PROVISIONING_SUBSCRIPTIONS
from services.queries.answer import SUBJECT as QUESTIONS
from services.runtime.consumer import Subscription, consumers, wildcard
from services.teardown.service import SUBSCRIPTIONS as TEARDOWN_SUBSCRIPTIONS

EVENTS, LEVELS, MEMBERS = Stream.EVENTS.value, Stream.LEVELS.value, Stream.MEMBERS.value
ALL = tuple(spec.name for spec in STREAMS)
NOT_RAW = tuple(name for name in ALL if name != "HOOKS")
"""Raw bodies of others' webhooks may hold what they should not."""
ASKED = (f"{QUESTIONS}*",)
"""What the inventory answers."""

REQUESTED = ("cluster.requested.*", "colony.release.*.*", "profile.requested.*", "profile.withdraw.*.*")
"""What Triggers request."""


def _entry(service: str) -> str:
    """The entries of a service's replicas among the members."""
    return MEMBER.under(service)


def _owned(owner: str) -> tuple[str, ...]:
    """The subjects of all that a service alone may say."""
    return tuple(wildcard(subject) for each in declarations() if each.owner == owner for subject in each.subjects)


def _owner(
    name: str, lifecycle: Lifecycle, hears: tuple[Subscription, ...], *more: str, looks: tuple[str, ...] = ()
) -> Role:
    """A service that owns entities: their states, their timers, its places in the streams."""
    return Role(
        name,
        looks=looks,
        says=(*_owned(name), _entry(name), f"timer.{lifecycle.domain}.*.*"),
        works=consumers(name, lifecycle.domain, hears),
        reads=(EVENTS, MEMBERS, *more),
        forgets=(EVENTS,),
    )


SERVICES = (
    Role(
        "gateway",
        says=(*_owned("gateway"), _entry("gateway")),
        tells=True,
        works=(INTAKE,),
        reads=(EVENTS, LEVELS, MEMBERS),
        looks=(Stream.INTAKE.value,),
        forgets=(LEVELS,),
    ),
    Role(
        "inventory",
        says=(*_owned("inventory"), _entry("inventory")),
        answers=ASKED,
        desk=INVENTORY_DESK,
        reads=(EVENTS, LEVELS, MEMBERS),
    ),
    _owner("provisioning", cluster.LIFECYCLE, PROVISIONING_SUBSCRIPTIONS, LEVELS),
    _owner("addons", addon.LIFECYCLE, ADDONS_SUBSCRIPTIONS, LEVELS),
    _owner("teardown", teardown.LIFECYCLE, TEARDOWN_SUBSCRIPTIONS, looks=(LEVELS,)),
    Role(
        "edge",
        says=("hook.>", _entry("edge"), *REQUESTED, *(f"{REDRIVE}.{name}.>" for name in SHOWN)),
        asks=ASKED,
        works=(HOOKS, EVENTS_CONSUMER, LEVELS_CONSUMER),
        reads=(*SHOWN, MEMBERS),
        lists=(*SHOWN, OUTBOUND),
        drops=("DLQ",),
    ),
    Role(
        "outbound",
        says=("outbound.>", _entry("outbound")),
        works=(OUTBOX_CONSUMER, TARGETS),
        reads=(EVENTS, MEMBERS),
    ),
)
PEOPLE = (
    Role("setup", makes=ALL),
    Role(
        "operator",
        says=(*_owned("anyone"), f"{REDRIVE}.>"),
        told=True,
        asks=ASKED,
        reads=ALL,
        lists=ALL,
        forgets=("DLQ",),
        drops=("DLQ",),
    ),
    Role("reader", asks=ASKED, reads=NOT_RAW, lists=NOT_RAW, apart=True),
    Role("publisher", says=_owned("anyone"), told=True, apart=True),
)
ROLES = (*SERVICES, *PEOPLE)
"""Everybody a house of alate knows; tenants come beside them."""
SANDBOX = Role("sandbox", says=("kube.>",), reads=("KUBE",), forgets=("KUBE",), drops=("KUBE",), makes=("KUBE",))
"""The laptop's Kubernetes: its objects are nobody else's, founded clusters' secrets among them."""


def tenant(name: str) -> Role:
    """Who asks for one tenant's clusters and sees what becomes of them, in an account of its own."""
    own = token(name)
    asks = [s for each in declarations() if each.owner == "anyone" for s in each.subjects if "{tenant}" in s]
    return Role(
        f"tenant-{own}",
        says=tuple(wildcard(subject.replace("{tenant}", own)) for subject in asks),
        sees=tuple(dict.fromkeys((each.stream.value, _seen(each, own)) for each in declarations() if _concerns(each))),
        told=True,
        apart=True,
    )


def _concerns(each: Declaration) -> bool:
    return "{tenant}" in each.subject and each.owner != "anyone"


def _seen(each: Declaration, own: str) -> str:
    """The filter of a tenant's own: of an entity every state, as the last one is the truth."""
    domain, event, *rest = each.subject.replace("{tenant}", own).split(".")
    return wildcard(".".join((domain, "*" if each.stream is Stream.EVENTS else event, *rest)))
