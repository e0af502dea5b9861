"""An attempt that was made while it was already let go is not forgotten: it is released beside all else."""

import msgspec

from schemas.cluster import ClusterState, Gone, MadeLate


def keep(state: ClusterState, late: MadeLate) -> ClusterState:
    """Even where it seems to be the current one: who says so read the stream's last word, which this may not be."""
    if any(stray.number == late.stray.number for stray in state.strays):
        return state
    return msgspec.structs.replace(state, strays=(*state.strays, late.stray))


def forget(state: ClusterState, gone: Gone) -> ClusterState:
    if all(stray.number != gone.attempt for stray in state.strays):
        return state
    return msgspec.structs.replace(state, strays=tuple(s for s in state.strays if s.number != gone.attempt))
