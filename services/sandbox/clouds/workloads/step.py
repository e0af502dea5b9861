"""All controllers inside one cluster look in one order, and all they want is done before they look again."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from events.kube.client import Object, Resource
from events.kube.resources import NODES
from services.kubernetes.malformed import MALFORMED, why
from services.sandbox.clouds.model.actions import Change
from services.sandbox.clouds.model.objects import name
from services.sandbox.clouds.workloads.jobs import jobs
from services.sandbox.clouds.workloads.pods import collect, run, schedule
from services.sandbox.clouds.workloads.sets import sets
from services.sandbox.clouds.workloads.view import Inside

Controller = Callable[[Inside, datetime], Iterator[Change]]
CONTROLLERS: tuple[Controller, ...] = (collect, run, jobs, sets, schedule)


def step(view: Inside, now: datetime) -> tuple[Change, ...]:
    """What is to be done now; waits are among it."""
    return tuple(change for controller in CONTROLLERS for change in controller(view, now))


def stepped(view: Inside, now: datetime) -> tuple[tuple[Change, ...], tuple[str, ...]]:
    """The same of what can be read, and what is wrong with the rest: looked for one by one where there is such."""
    try:
        return step(view, now), ()
    except MALFORMED:
        nodes = [each for each in view.nodes if not _odd(view, {NODES: [each]}, now)]
        odd = {
            id(each): conditions
            for resource, objects in view.objects.items()
            for each in objects
            if (conditions := _odd(view, {NODES: nodes, resource: [each]}, now))
        }
        kept: dict[Resource, Sequence[Object]] = {
            key: [each for each in of if id(each) not in odd] for key, of in view.objects.items()
        }
        return step(Inside(kept, view.run_seconds), now), tuple(odd.values())


def _odd(view: Inside, alone: dict[Resource, Sequence[Object]], now: datetime) -> str:
    """What is wrong with the last of these objects; empty where the controllers can read them."""
    try:
        step(Inside(alone, view.run_seconds), now)
    except MALFORMED as error:
        resource, objects = list(alone.items())[-1]
        return f"{resource.kind} {name(objects[-1])}: {why(error)}"
    return ""
