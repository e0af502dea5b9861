"""An entity that only walks, ten transitions in all, so that nothing but the runtime is measured."""

import msgspec

from events.streams import StreamSpec
from schemas.entity import Lifecycle, State
from schemas.registry import intake, state
from schemas.subjects import Key
from services.runtime.consumer import Subscription, subscribe
from services.runtime.machine import asks, machine, on

DOMAIN = "bench"
STEPS = 10
"""Transitions of one entity."""
SPEC = "x" * 700
"""Makes a message as large as that of a real cluster with one pool, about 1 KB."""

STREAMS = (
    StreamSpec("EVENTS", (f"{DOMAIN}.*.*.*", "timer.>", "due.>"), schedules=True),
    StreamSpec("INTAKE", (f"{DOMAIN}.asked.*",)),
)


class Walker(State, frozen=True, kw_only=True):
    """What both states know."""

    spec: str
    steps: int = 1


@state(DOMAIN, "walking", owner=DOMAIN)
class Walking(Walker, frozen=True, kw_only=True):
    """It has steps before it."""


@state(DOMAIN, "arrived", owner=DOMAIN)
class Arrived(Walker, frozen=True, kw_only=True):
    """It has not."""


@intake(f"{DOMAIN}.asked", f"{DOMAIN}.asked.{{tenant}}")
class Asked(msgspec.Struct, frozen=True):
    """Somebody wants one to walk."""

    tenant: str
    name: str
    spec: str


class Step(msgspec.Struct, frozen=True):
    """Asks for the next step."""

    number: int


class Stepped(msgspec.Struct, frozen=True):
    """It was made."""

    number: int


class Rest(msgspec.Struct, frozen=True):
    """Asks for nothing: somebody counts those that have arrived."""


LIFECYCLE = Lifecycle(DOMAIN, {None: (Walking,), Walking: (Arrived,), Arrived: ()})


def begin(_: None, asked: Asked) -> Walking:
    return Walking(uid=asked.name, correlation=asked.name, spec=asked.spec)


def walk(walker: Walking, stepped: Stepped) -> Walking | Arrived:
    if stepped.number != walker.steps:
        return walker
    steps = walker.steps + 1
    return walker.to(Arrived, steps=steps) if steps == STEPS else walker.to(Walking, steps=steps)


MACHINE = machine(LIFECYCLE, on(type(None), Asked, begin), on(Walking, Stepped, walk))
TODO = asks({Walking: lambda walker: (Step(walker.steps),), Arrived: lambda _: (Rest(),)})
SUBSCRIPTIONS: tuple[Subscription, ...] = (
    subscribe(Asked, lambda _, asked: ((Key(DOMAIN, asked.tenant, asked.name), asked),)),
)
