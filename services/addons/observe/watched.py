"""What is known of one watch: its names, its problem, and its objects that wait to be evaluated."""

import asyncio
from dataclasses import dataclass, field
from typing import NamedTuple

from events.kube.client import Object
from schemas.crds import LabelRequirement, ObjectSelectorSpec, WatchedObjectsSpec
from services.addons.plan.target import KnownCluster
from services.expressions.evaluation import EvaluationFailure, Expression, compiled

WatchOwner = tuple[str, str]
"""Namespace and name."""
_FORMS = {"In": "{0} in ({1})", "NotIn": "{0} notin ({1})", "Exists": "{0}", "DoesNotExist": "!{0}"}


class WatchName(NamedTuple):
    """One entry of a Trigger's `objects` in one cluster."""

    tenant: str
    cluster: str
    trigger: str
    watch: str

    @property
    def owner(self) -> WatchOwner:
        """Its Trigger."""
        return self.tenant, self.trigger


class WatchProblem(NamedTuple):
    """Why a watch does not work."""

    reason: str
    """CamelCase, for programs."""
    why: str
    """The end of a sentence."""
    final: bool = False
    """It is watched again only once the Trigger is changed."""


def unreachable(why: str, *, refused: bool) -> WatchProblem:
    """Why a cluster does not answer a watch."""
    return WatchProblem("Refused" if refused else "Unreachable", why.rstrip("."))


PENDING = WatchProblem("Pending", "its objects are not listed yet")


class SeenObject(NamedTuple):
    """An object as the watch has last seen it."""

    item: Object
    gone: bool


@dataclass
class ObjectWatch:
    """One watch."""

    name: WatchName
    spec: WatchedObjectsSpec
    where: str
    """The path of its `when`, for messages."""
    target: KnownCluster
    problem: WatchProblem | None = PENDING
    task: asyncio.Task[None] | None = None
    waiting: dict[str, SeenObject] = field(default_factory=dict)
    """By uid: objects to evaluate."""
    versions: dict[str, str] = field(default_factory=dict)
    """By uid: the resourceVersion of every object that was seen."""
    old: dict[str, Object] = field(default_factory=dict)
    """By uid: the object as it was evaluated last, if the condition speaks of it."""

    @property
    def condition(self) -> Expression:
        """Its `when`."""
        return Expression(self.spec.when, self.where)

    @property
    def compares(self) -> bool:
        """Whether its condition speaks of the object before."""
        program = compiled(self.condition)
        return not isinstance(program, EvaluationFailure) and "old" in program.variables

    def remember(self, uid: str, seen: SeenObject) -> None:
        """It was evaluated as it is."""
        if seen.gone:
            self.old.pop(uid, None)
        elif self.compares:
            self.old[uid] = seen.item

    def end(self) -> None:
        """End its task, and drop what waits."""
        if self.task is not None:
            self.task.cancel()
        self.waiting.clear()


def label_selector(selector: ObjectSelectorSpec | None) -> str:
    """As ``kubectl -l`` takes it."""
    if selector is None:
        return ""
    exact = [f"{key}={value}" for key, value in sorted(selector.match_labels.items())]
    return ",".join([*exact, *map(_requirement, selector.match_expressions)])


def _requirement(each: LabelRequirement) -> str:
    return _FORMS[each.operator].format(each.key, ",".join(each.values))
