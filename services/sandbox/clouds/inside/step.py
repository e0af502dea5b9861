"""All controllers inside one cluster look in one order, and all they want is done before they look again."""

from collections.abc import Callable, Iterator
from datetime import datetime

from services.sandbox.clouds.changes import Change
from services.sandbox.clouds.inside.jobs import jobs
from services.sandbox.clouds.inside.pods import collect, run, schedule
from services.sandbox.clouds.inside.sets import sets
from services.sandbox.clouds.inside.view import Inside

Controller = Callable[[Inside, datetime], Iterator[Change]]
CONTROLLERS: tuple[Controller, ...] = (collect, run, jobs, sets, schedule)


def step(view: Inside, now: datetime) -> tuple[Change, ...]:
    """What is to be done now; waits are among it."""
    return tuple(change for controller in CONTROLLERS for change in controller(view, now))
