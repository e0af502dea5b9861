"""A profile's status: on how many clusters its add-ons are ready, and what the others wait for."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple

from events.kube.client import Object
from schemas.addon import AddonState, Applied, Applying, Degraded, Withdrawing, Withdrawn
from schemas.crds.profile import AddonProfileStatus, ProfileClusterStatus
from schemas.crds.status import ConditionStatus
from services.addons.plan.profile_store import KnownProfile
from services.addons.plan.rollout import Decision

MOST_CLUSTERS = 50
"""Clusters that are listed."""
LONGEST = 512
"""Characters of a message."""

BY_ROLLOUT = "keeps what it had, by the rollout"
"""The rollout has not come to the cluster yet, or it went back."""
NOT_ACCEPTED = "keeps what it had, as the profile is not accepted"


class ProfileOnCluster(NamedTuple):
    """What a profile has come to on one cluster that it selects, or selected."""

    cluster: tuple[str, str]
    """Namespace and name."""
    addons: Mapping[str, AddonState | None]
    """The states of its add-ons by name; None: nothing was done yet."""
    conflicts: tuple[str, ...]
    """A sentence for each add-on that another one keeps away."""
    selected: bool = True
    held: str = ""
    """Why it keeps what it had, one of the sentences above; empty: it does not."""

    @property
    def ready(self) -> bool:
        """Whether all of its add-ons are applied and healthy."""
        every = all(isinstance(each, Applied) for each in self.addons.values())
        return self.selected and every and not (self.conflicts or self.held)


def on_cluster(one: ProfileOnCluster) -> ProfileClusterStatus:
    """The line of a cluster that is not ready: it tells the cause before what waits for it."""
    name = "/".join(one.cluster)
    states = one.addons.items()
    for phase, kind in (("Degraded", Degraded), ("Withdrawing", Withdrawing), ("Applying", Applying)):
        found = [(addon, state) for addon, state in states if isinstance(state, kind)]
        if found:
            there = {state.addon for _, state in found}
            found.sort(key=lambda each: isinstance(each[1], Applying) and not there.isdisjoint(each[1].after))
            said = next((f"{addon}: {text}" for addon, state in found if (text := _message(state))), "")
            return ProfileClusterStatus(name=name, phase=phase, message=(said or _names(found))[:LONGEST])
    if one.held:
        return ProfileClusterStatus(name=name, phase="Waiting", message=one.held)
    if one.conflicts:
        return ProfileClusterStatus(name=name, phase="Waiting", message="; ".join(one.conflicts)[:LONGEST])
    return ProfileClusterStatus(name=name, phase="Waiting", message="its API does not answer yet")


def _message(state: AddonState | None) -> str:
    return state.message if isinstance(state, Applying | Degraded | Withdrawing | Withdrawn) else ""


def _names(found: Iterable[tuple[str, AddonState | None]]) -> str:
    return ", ".join(addon for addon, _ in found)


class Finding(NamedTuple):
    """What a condition says."""

    type: str
    holds: bool
    reason: str
    message: str


def status(
    known: KnownProfile, places: Iterable[ProfileOnCluster], now: datetime, rollout: Decision | None = None
) -> Object:
    """The status of a profile; the time of an unchanged condition is kept."""
    item, suspended = known.item, known.profile.spec.suspend and not known.invalid
    every = sorted(places)
    waiting = [each for each in every if not each.ready]
    matched = sum(each.selected for each in every)
    ready = matched - sum(each.selected for each in waiting)
    lines = [on_cluster(each) for each in waiting[:MOST_CLUSTERS]]
    before = {each["type"]: each for each in item.get("status", {}).get("conditions", ())}
    generation = item["metadata"].get("generation", 0)
    conditions = [
        condition(each, generation, before.get(each.type, {}), now)
        for each in findings(
            f"{ready} of {matched} clusters are ready", known.invalid, lines, rollout, suspended=suspended
        )
    ]
    return AddonProfileStatus(
        observed_generation=generation,
        matched=matched,
        ready=ready,
        clusters=lines,
        conditions=conditions,
        revision=known.profile.revision if rollout else None,
        updated=rollout.updated if rollout else None,
        in_flight=rollout.in_flight if rollout else None,
        failed=rollout.failed if rollout else None,
    ).model_dump(mode="json", by_alias=True, exclude_none=True)


def findings(
    summary: str,
    invalid: str,
    waiting: Sequence[ProfileClusterStatus],
    rollout: Decision | None = None,
    *,
    suspended: bool,
) -> tuple[Finding, ...]:
    """The conditions, as kstatus reads them: Ready, or else Reconciling or Stalled."""
    first = next((f"{line.name}: {line.message}" for line in waiting if line.message), "")
    failed = next((f"{line.name}: {line.message}" for line in waiting if line.phase == "Degraded"), "")
    if invalid:
        state = Finding("Ready", holds=False, reason="Invalid", message=invalid)
    else:
        message = f"{summary}: {first}" if first else summary
        state = Finding("Ready", not waiting, "Waiting" if waiting else "Ready", message)
    rolls = rollout is not None and not rollout.ended
    stuck = invalid or (rollout.stopped if rollout and rolls else failed)
    goes_on = (bool(waiting) or rolls) and not (stuck or suspended)
    reason = "RollingOut" if rolls else "Applying"
    stopped = "Invalid" if invalid else "RolloutStopped" if rolls else "Degraded"
    return (
        Finding("Accepted", not invalid, "Invalid" if invalid else "Accepted", invalid),
        state,
        Finding("Reconciling", goes_on, reason if goes_on else "Done", rollout.message if rollout else summary),
        Finding("Stalled", bool(stuck), stopped if stuck else "None", stuck),
        Finding("Suspended", suspended, "Suspended" if suspended else "Active", ""),
    )


def condition(found: Finding, generation: int, before: Object, now: datetime) -> ConditionStatus:
    """As a status has it; `before` is the same condition until now, whose time is kept if it is unchanged."""
    value: Literal["True", "False"] = "True" if found.holds else "False"
    return ConditionStatus(
        type=found.type,
        status=value,
        observed_generation=generation,
        last_transition_time=before["lastTransitionTime"] if before.get("status") == value else now,
        reason=found.reason,
        message=found.message[: 4 * LONGEST],
    )
