"""What is known of one cluster of a Colony, from wherever it was said."""

from dataclasses import dataclass
from datetime import datetime

from schemas.addon import AddonState
from schemas.cluster import ClusterState, Founded, InfraSeen
from schemas.inventory import ClusterSeen
from schemas.teardown import TeardownState
from schemas.wish import Wish


@dataclass(frozen=True)
class Facts:
    """What is known of one cluster of the Colony."""

    wish: Wish
    refused: str = ""
    """Why its wish cannot be followed at all."""
    cluster: ClusterState | None = None
    teardown: TeardownState | None = None
    addons: tuple[AddonState, ...] = ()
    seen: ClusterSeen | None = None
    infra: InfraSeen | None = None


def counted(facts: Facts, state: Founded) -> ClusterSeen | None:
    """What was counted on the cluster of this very attempt."""
    seen = facts.seen
    known = seen is not None and seen.uid == state.uid and seen.attempt in (0, state.attempt.number)
    return seen if known else None


def whole(moment: datetime) -> datetime:
    """As a status writes times."""
    return moment.replace(microsecond=0)
