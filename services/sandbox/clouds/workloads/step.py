"""One step of all controllers in a workload cluster, in a fixed order."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from events.kube.client import Object, Resource
from events.kube.resources import NODES
from services.kubernetes.malformed import MALFORMED, describe
from services.sandbox.clouds.model.actions import Action
from services.sandbox.clouds.model.objects import name
from services.sandbox.clouds.workloads.jobs import jobs
from services.sandbox.clouds.workloads.pods import collect, run, schedule
from services.sandbox.clouds.workloads.sets import sets
from services.sandbox.clouds.workloads.view import Inside

WorkloadController = Callable[[Inside, datetime], Iterator[Action]]
CONTROLLERS: tuple[WorkloadController, ...] = (collect, run, jobs, sets, schedule)


def step(view: Inside, now: datetime) -> tuple[Action, ...]:
    """The actions of all controllers, waits included."""
    return tuple(change for controller in CONTROLLERS for change in controller(view, now))


def stepped(view: Inside, now: datetime) -> tuple[tuple[Action, ...], tuple[str, ...]]:
    """The actions for all readable objects, and an error for each malformed one."""
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
    """The error in the last of these objects; empty where the controllers can read them."""
    try:
        step(Inside(alone, view.run_seconds), now)
    except MALFORMED as error:
        resource, objects = list(alone.items())[-1]
        return f"{resource.kind} {name(objects[-1])}: {describe(error)}"
    return ""
