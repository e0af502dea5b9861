"""All controllers of a cluster in a fixed order, so that the same objects always lead to the same changes."""

from collections import deque
from collections.abc import Callable, Iterator
from datetime import datetime

from services.sandbox.clouds.capi.cluster import cluster
from services.sandbox.clouds.capi.control_plane import control
from services.sandbox.clouds.capi.fault_targets import choose_targets
from services.sandbox.clouds.capi.health_check import health
from services.sandbox.clouds.capi.infrastructure import infra
from services.sandbox.clouds.capi.machine import machines
from services.sandbox.clouds.capi.machine_deployments import pools
from services.sandbox.clouds.capi.machine_sets import sets
from services.sandbox.clouds.capi.topology import topology
from services.sandbox.clouds.k0rdent.controller import credential, deployment
from services.sandbox.clouds.model.actions import Action, WaitUntil
from services.sandbox.clouds.model.snapshot import ClusterSnapshot, SimulationRules

ClusterController = Callable[[ClusterSnapshot, datetime, SimulationRules], Iterator[Action]]

CONTROLLERS: tuple[ClusterController, ...] = (
    credential, deployment, topology, cluster, infra, control, pools, sets, health, choose_targets, machines,
)  # fmt: skip
"""Controllers that sum up come before those they sum up, so that every step between shows, as in a watch."""
BUSY = CONTROLLERS[::-1]
"""Where steps are combined, controllers that sum up come last, as in a work queue that is never empty."""


def order(rules: SimulationRules) -> deque[ClusterController]:
    """The controllers in their order."""
    return deque(BUSY if rules.combined else CONTROLLERS)


def step(
    view: ClusterSnapshot, now: datetime, rules: SimulationRules, turns: deque[ClusterController]
) -> tuple[Action, ...]:
    """What the first controller with anything to do wants done; if there is none, the waits of all.

    Whoever has nothing to do goes to the end of the queue: who spoke is asked first, should it be looked at again.
    """
    waits: list[Action] = []
    for controller in tuple(turns):
        wanted = tuple(controller(view, now, rules))
        if changes := tuple(one for one in wanted if not isinstance(one, WaitUntil)):
            return changes
        waits += wanted
        turns.rotate(-1)
    return tuple(waits)
