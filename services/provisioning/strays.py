"""An attempt that stands though it is over is not forgotten: it is released beside all else.

A launch call can outlive the attempt it was made for: its process hangs, others let the attempt go and find nothing,
then the call comes through. Who made it tells so, if it lives; in any case the back end's object is seen.
"""

import msgspec

from schemas.cluster import Attempt, ClusterState, Gone, InfraSeen, MadeLate, Placement

UNKNOWN = Placement(cloud="", region="", lots=())
"""Where a stray is: its release asks for its number alone."""


def keep(state: ClusterState, late: MadeLate) -> ClusterState:
    """Even where it seems to be the current one: who says so read the stream's last word, which this may not be."""
    if any(stray.number == late.stray.number for stray in state.strays):
        return state
    return msgspec.structs.replace(state, strays=(*state.strays, late.stray))


def find(state: ClusterState, seen: InfraSeen) -> ClusterState:
    """Whatever bears our name and is no attempt of now is a stray, even an earlier incarnation's; what goes is none.

    One in the way of the current attempt, under its very number, is none either: that one fails, and is released.
    """
    own = getattr(state, "attempt", None)
    if not seen.present or seen.going or (own is not None and own.number == seen.attempt):
        return state
    return keep(state, MadeLate(Attempt(number=seen.attempt, placement=UNKNOWN)))


def forget(state: ClusterState, gone: Gone) -> ClusterState:
    if all(stray.number != gone.attempt for stray in state.strays):
        return state
    return msgspec.structs.replace(state, strays=tuple(s for s in state.strays if s.number != gone.attempt))


def free_number(state: ClusterState) -> int:
    """The next attempt's: its objects must not be taken for those of a stray, which are deleted by name."""
    return max((state.attempts, *(stray.number for stray in state.strays))) + 1
