"""An attempt that stands though it is over is not forgotten: it is released beside all else.

A launch call can outlive the attempt it was made for: its process hangs, others let the attempt go and find nothing,
then the call comes through. Who made it tells so, if it lives; in any case the back end's object is seen.
"""

from typing import TypeVar

import msgspec

from schemas.cluster import ClusterState
from schemas.founding import Gone, MadeLate
from schemas.infra import InfraSeen
from schemas.placement import Attempt, Placement

S = TypeVar("S", bound=ClusterState)
LATE = "Late"
"""Why a stray came to nothing, where nothing else was wrong: what others made is only handed back, then."""
UNKNOWN = Placement(cloud="", region="", lots=())
"""Where a stray is: its release asks for its number alone."""


def keep(state: S, late: MadeLate) -> S:
    """Even where it seems to be the current one: who says so read the stream's last word, which this may not be."""
    if any(_same(stray, late.stray) for stray in state.strays):
        return state
    stray = msgspec.structs.replace(late.stray, reason=late.stray.reason or LATE)
    return msgspec.structs.replace(state, strays=(*state.strays, stray))


def find(state: S, seen: InfraSeen) -> S:
    """Whatever bears our name and is no attempt of now is a stray, even an earlier incarnation's; what goes is none.

    One in the way of the current attempt, under its very name, is none either: that one fails, and is released. Nor is
    the Cluster that k0rdent makes beneath it, with all its marks.
    It is released where it was seen: an earlier incarnation may have been founded by another back end.
    """
    stray = Attempt(number=seen.attempt, placement=UNKNOWN, backend=seen.backend, adopts=seen.adopted)
    own = getattr(state, "attempt", None) or getattr(state, "standing", None)
    same = own is not None and (own.number, own.adopts) == (seen.attempt, seen.adopted)
    in_the_way = same and (seen.backend in ("", state.wish.need.backend) or seen.uid == state.uid)
    return state if not seen.present or seen.going or in_the_way else keep(state, MadeLate(stray))


def forget(state: ClusterState, gone: Gone) -> ClusterState:
    left = tuple(stray for stray in state.strays if not is_gone(stray, gone))
    return state if left == state.strays else msgspec.structs.replace(state, strays=left)


def is_gone(attempt: Attempt, gone: Gone) -> bool:
    """Whether that is said of this attempt: a stray of another back end, or an adopted one, may bear its number."""
    return (attempt.number, attempt.backend, attempt.adopts) == (gone.attempt, gone.backend, gone.adopts)


def _same(one: Attempt, other: Attempt) -> bool:
    return (one.number, one.backend, one.adopts) == (other.number, other.backend, other.adopts)


def free_number(state: ClusterState) -> int:
    """The next attempt's: its objects must not be taken for those of a stray, which are deleted by name."""
    return max((state.attempts, *(stray.number for stray in state.strays))) + 1
