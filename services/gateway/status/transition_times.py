"""A condition keeps its time as long as its status is the same, as Kubernetes conventions have it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from events.kube.port import Object
from schemas.crds import Condition
from schemas.entity import EPOCH


@dataclass(frozen=True)
class Verdict:
    """Whether one aspect holds, and why."""

    holds: bool | None
    """None: nobody can say now."""
    reason: str
    """CamelCase, for programs."""
    message: str = ""
    """One sentence, for people."""


@dataclass(frozen=True)
class Shown:
    """The conditions as the object shows them: what has not changed keeps its time."""

    generation: int
    """That the verdicts are of."""
    before: Mapping[str, Object] = field(default_factory=dict)
    """By type."""
    now: datetime = EPOCH
    """The time of what changes."""

    @classmethod
    def of(cls, conditions: Iterable[Object], generation: int, now: datetime) -> "Shown":
        """From the conditions as they are written."""
        return cls(generation, {each["type"]: each for each in conditions}, now)

    def condition(self, kind: str, verdict: Verdict) -> Condition:
        """The condition for a verdict."""
        status: Literal["True", "False", "Unknown"] = STATUS[verdict.holds]
        before = self.before.get(kind, {})
        kept = before.get("lastTransitionTime") if before.get("status") == status else None
        return Condition(
            type=kind,
            status=status,
            observed_generation=self.generation,
            last_transition_time=datetime.fromisoformat(kept) if kept else self.now,
            reason=verdict.reason,
            message=verdict.message,
        )

    def conditions(self, verdicts: Mapping[str, Verdict]) -> list[Condition]:
        """All of them, by type, in the same order."""
        return [self.condition(kind, verdict) for kind, verdict in verdicts.items()]


STATUS: Mapping[bool | None, Literal["True", "False", "Unknown"]] = {True: "True", False: "False", None: "Unknown"}
