"""Decides, from the revisions that a release has, what brings it to what is wanted."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto

from events.kube.port import Object

CHART, VALUES, REVISION = "alate.dev/chart", "alate.dev/values", "alate.dev/revision"
"""Labels that alate gives a revision: digests of its chart and values, and its number.

Helm copies labels to the next revision: one that others made has not its own number.
"""
DEPLOYED, UNINSTALLED, UNINSTALLING = "deployed", "uninstalled", "uninstalling"
PENDING = ("pending-install", "pending-upgrade", "pending-rollback")
KEPT_AT_LEAST = 2
"""Revisions that Helm cannot do without: the one that works, and a newer one that does not."""


@dataclass(frozen=True)
class ReleaseRevision:
    """One revision, as the labels of its Secret say."""

    number: int
    status: str
    changed: float
    """When, in seconds since the epoch."""
    labels: Mapping[str, str]
    version: str = ""
    """Of its Secret, which holds what it consists of: another one whenever that is written."""

    @property
    def is_ours(self) -> bool:
        """Whether alate made it."""
        return self.labels.get(REVISION) == str(self.number)


class Step(Enum):
    """What to do next."""

    NOTHING = auto()
    WAIT = auto()
    """Others change the release at this moment."""
    INSTALL = auto()
    UPGRADE = auto()
    ROLL_BACK = auto()
    """An operation was ended in the middle: go back to the revision that works, and look again."""
    UNINSTALL = auto()
    """Nothing of it ever worked, or somebody began to take it away: remove the rest, and look again."""


def revisions(secrets: Iterable[Object]) -> tuple[ReleaseRevision, ...]:
    """The revisions that the metadata of Secrets tells of, the oldest first."""
    found = map(_revision, secrets)
    return tuple(sorted((each for each in found if each), key=lambda each: each.number))


def _revision(meta: Object) -> ReleaseRevision | None:
    labels: Mapping[str, str] = meta.get("labels") or {}
    number, changed = labels.get("version", ""), labels.get("modifiedAt") or labels.get("createdAt") or "0"
    if not number.isdecimal() or not changed.isdecimal():
        return None
    version = f"{meta.get('uid', '')}/{meta.get('resourceVersion', '')}"
    return ReleaseRevision(int(number), labels.get("status", ""), float(changed), labels, version)


def is_current(history: tuple[ReleaseRevision, ...], wanted: Mapping[str, str]) -> bool:
    """Whether the newest revision works, and is of the wanted chart and values."""
    if not history or history[-1].status != DEPLOYED or not history[-1].is_ours:
        return False
    return all(history[-1].labels.get(key) == value for key, value in wanted.items())


def next_step(history: tuple[ReleaseRevision, ...], wanted: Mapping[str, str], now: float, patience: float) -> Step:
    """What to do next. A pending revision of others is left alone for `patience` seconds."""
    if not history:
        return Step.INSTALL
    newest = history[-1]
    if is_current(history, wanted):
        return Step.NOTHING
    if newest.status in PENDING:
        if not newest.is_ours and now < newest.changed + patience:
            return Step.WAIT
        return Step.ROLL_BACK if working(history) else Step.UNINSTALL
    if newest.status in (UNINSTALLED, UNINSTALLING):
        return Step.UNINSTALL
    return Step.UPGRADE


def working(history: tuple[ReleaseRevision, ...]) -> int:
    """The number of the newest revision that works; 0 if none does."""
    return max((each.number for each in history if each.status == DEPLOYED), default=0)


def next_labels(history: tuple[ReleaseRevision, ...], wanted: Mapping[str, str]) -> dict[str, str]:
    """The labels of the revision that comes after these."""
    number = history[-1].number + 1 if history else 1
    return {**wanted, REVISION: str(number)}
