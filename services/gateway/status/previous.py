"""What the status showed before: conditions keep their times, the cost its last value, foreign shapes are dropped."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

import msgspec

from events.kube.port import Object
from schemas.crds import ConditionStatus
from schemas.entity import EPOCH
from services.gateway.status.facts import ConditionState
from services.kubernetes.object_types import KubeStruct

COST = "costUsd"
ColonyName = tuple[str, str]
"""A Colony's namespace and name."""


class ShownCost(NamedTuple):
    """The cost that a status shows, and since when."""

    cost: float | None
    since: datetime


class StatusCosts:
    """The costs that the statuses of all Colonies show: a cost grows all the time, and is written now and then."""

    def __init__(self, every: timedelta) -> None:
        """`every`: how long a status is left alone if only its cost has grown."""
        self._every = every
        self._shown: dict[ColonyName, ShownCost] = {}

    def with_shown_cost(self, name: ColonyName, computed: Object, shown: Object, now: datetime) -> Object:
        """The status to write: with the cost that it shows already, if nothing else differs and the cost is not due."""
        cost = shown.get(COST)
        before = self._shown.get(name)
        if before is None or before.cost != cost:  # it was written by somebody else, or before the start
            before = self._shown[name] = ShownCost(cost, now)
        if COST in computed and cost is not None and not self._is_due(before, now):
            as_shown = computed | {COST: cost}
            if as_shown == shown:
                return as_shown
        self._shown[name] = ShownCost(computed.get(COST), now)
        return computed

    def due(self, now: datetime) -> Iterator[ColonyName]:
        """The Colonies whose cost has to be written now."""
        return (name for name, each in tuple(self._shown.items()) if self._is_due(each, now))

    def _is_due(self, noted: ShownCost, now: datetime) -> bool:
        """Also true if the clock was set back far since the cost was written."""
        return abs(now - noted.since) >= self._every

    def forget(self, name: ColonyName) -> None:
        """Drop what is known of a Colony that is gone."""
        self._shown.pop(name, None)


@dataclass(frozen=True)
class PreviousConditions:
    """The conditions that an object shows: one whose status does not change keeps its time."""

    generation: int
    """The generation of the new conditions."""
    before: Mapping[str, Object] = field(default_factory=dict)
    """By type."""
    now: datetime = EPOCH
    """The time of conditions that change."""

    @classmethod
    def of(cls, conditions: Iterable[Object], generation: int, now: datetime) -> "PreviousConditions":
        """Read the conditions off the object."""
        return cls(generation, {each["type"]: each for each in conditions}, now)

    def condition(self, kind: str, state: ConditionState) -> ConditionStatus:
        """The condition as it is written."""
        status: Literal["True", "False", "Unknown"] = STATUS[state.holds]
        before = self.before.get(kind, {})
        kept = before.get("lastTransitionTime") if before.get("status") == status else None
        return ConditionStatus(
            type=kind,
            status=status,
            observed_generation=self.generation,
            last_transition_time=datetime.fromisoformat(kept) if kept else self.now,
            reason=state.reason,
            message=state.message,
        )

    def conditions(self, states: Mapping[str, ConditionState]) -> list[ConditionStatus]:
        """All conditions, in the given order."""
        return [self.condition(kind, state) for kind, state in states.items()]


STATUS: Mapping[bool | None, Literal["True", "False", "Unknown"]] = {True: "True", False: "False", None: "Unknown"}


class _Condition(KubeStruct):
    type: str
    status: str
    last_transition_time: datetime | None = None


class _Cluster(KubeStruct):
    name: str
    conditions: list[_Condition] | None = None


class _Status(KubeStruct):
    conditions: list[_Condition] | None = None
    clusters: list[_Cluster] | None = None


class _Colony(KubeStruct):
    status: _Status | None = None


def without_foreign_status(colony: Object) -> Object:
    """The Colony; without its status if that has a shape that alate never writes, so that it is written again."""
    try:
        msgspec.convert(colony, _Colony)
    except msgspec.ValidationError:
        return {key: value for key, value in colony.items() if key != "status"}
    return colony


def is_newer(one: Object, other: Object) -> bool:
    """Of two versions of one object: the resourceVersion is a growing number, by contract since Kubernetes 1.35."""
    return int(one["metadata"]["resourceVersion"]) > int(other["metadata"]["resourceVersion"])
