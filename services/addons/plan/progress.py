"""How far a profile's add-ons have come on one cluster: changing, soaking, done or failed."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from schemas import durations
from schemas.addon import AddonState, Applied, Applying, Degraded
from schemas.crds.profile import RolloutSpec
from schemas.entity import EPOCH
from schemas.profile_addons import RolloutMark
from schemas.wish import AddonRef


class RolloutPhase(StrEnum):
    """How far."""

    CHANGING = "changing"
    SOAKING = "soaking"
    DONE = "done"
    FAILED = "failed"


class RolloutProgress(NamedTuple):
    """How far, and what is to be expected."""

    phase: RolloutPhase
    message: str = ""
    """What failed."""
    until: datetime | None = None
    """When time alone makes it another phase; None: it does not."""


class Given(NamedTuple):
    """What a profile has given a cluster."""

    uid: str
    """The cluster's incarnation."""
    refs: Sequence[AddonRef]
    mark: RolloutMark | None
    """As of the rollout that gave it; None: from before there was one."""


def progress(given: Given, states: Mapping[str, AddonState], rollout: RolloutSpec, now: datetime) -> RolloutProgress:
    """How far the add-ons have come; `states` by full name."""
    lacking = [ref for ref in given.refs if not isinstance(_state(given, ref, states), Applied)]
    if not lacking:
        return _soaking(given, states, rollout.soak or timedelta(), now)
    if given.mark is not None and given.mark.failed:
        return RolloutProgress(RolloutPhase.FAILED, given.mark.failed)
    for ref in lacking:
        state = _state(given, ref, states)
        if isinstance(state, Degraded):
            return RolloutProgress(RolloutPhase.FAILED, f"{_short(ref)}: {state.message}")
    return _within_deadline(given, lacking, states, rollout, now)


def _soaking(given: Given, states: Mapping[str, AddonState], soak: timedelta, now: datetime) -> RolloutProgress:
    since = max((given.mark.since if given.mark else EPOCH, *(states[ref.name].since for ref in given.refs)))
    if now < since + soak:
        return RolloutProgress(RolloutPhase.SOAKING, until=since + soak)
    return RolloutProgress(RolloutPhase.DONE)


def _within_deadline(
    given: Given,
    lacking: Sequence[AddonRef],
    states: Mapping[str, AddonState],
    rollout: RolloutSpec,
    now: datetime,
) -> RolloutProgress:
    due, ref, allowed = min(_deadlines(given, lacking, states, rollout), key=lambda each: each[0])
    if now < due:
        return RolloutProgress(RolloutPhase.CHANGING, until=due)
    state = _state(given, ref, states)
    why = state.message if isinstance(state, Applying) else ""
    late = f"{_short(ref)}: not ready within {durations.write(allowed)}"
    return RolloutProgress(RolloutPhase.FAILED, f"{late}: {why}" if why else late)


def _deadlines(
    given: Given, lacking: Sequence[AddonRef], states: Mapping[str, AddonState], rollout: RolloutSpec
) -> Iterator[tuple[datetime, AddonRef, timedelta]]:
    """When each must be applied; one that was applied and is applied again has all of its time again."""
    changed = given.mark.since if given.mark else EPOCH
    for ref in lacking:
        allowed = rollout.deadline or timedelta(seconds=ref.timeout_seconds)
        state, began = _state(given, ref, states), changed
        if isinstance(state, Applying) and not state.gated:
            began = max(changed, state.until - timedelta(seconds=state.timeout_seconds))
        yield began + allowed, ref, allowed


def _state(given: Given, ref: AddonRef, states: Mapping[str, AddonState]) -> AddonState | None:
    """The state of an add-on if it follows what the cluster was given."""
    state = states.get(ref.name)
    follows = (
        state is not None and state.uid == given.uid and (state.digest, state.sources) == (ref.digest, ref.sources)
    )
    return state if follows else None


def _short(ref: AddonRef) -> str:
    return ref.name.rpartition(".")[2]
