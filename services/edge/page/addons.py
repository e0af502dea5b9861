"""What the page of a cluster shows of its add-ons: the order among them, how each is, and what holds it back."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

import msgspec

from events.bus import Bus
from events.kube.client import Kube
from schemas.addon import AddonState, Applied, Applying, Degraded, Planned, Withdrawing, Withdrawn, profile_of
from schemas.profile_addons import ProfileAddons
from schemas.registry import UNREADABLE, Stream, declared
from services.clients.profiles import RolloutHold, known_profile, rollout_hold

PHASES: Mapping[type, str] = {
    Planned: "waiting",
    Applying: "applying",
    Applied: "applied",
    Degraded: "failed",
    Withdrawing: "withdrawing",
}
NOT_BEGUN = "it was not begun yet"


class AddonOnPage(msgspec.Struct, frozen=True, rename="camel"):
    """One add-on of the cluster."""

    addon: str
    """Its full name."""
    profile: str
    """Empty for a Colony's own add-on."""
    phase: str
    """One of those of `PHASES`, or ``drifted``, ``held`` by a rollout, ``conflict``."""
    message: str
    """What it waits for, what went wrong, or which fields differ: from what to what, and by whose hand."""
    after: tuple[str, ...] = ()
    """Full names of those it depends on."""
    waits: tuple[str, ...] = ()
    """Those of them that are not applied."""
    since: datetime | None = None
    required: bool = True
    corrected: str = ""
    """What was not as described when it was last applied again by itself."""
    corrected_at: datetime | None = None


class AddonHistory(msgspec.Struct, frozen=True):
    """The newest state of an add-on, and what was last corrected."""

    state: AddonState
    corrected: str = ""
    corrected_at: datetime | None = None


async def addons_on_page(
    bus: Bus, kube: Kube, cluster: tuple[str, str], states: Iterable[object], uid: str
) -> tuple[AddonOnPage, ...]:
    """The add-ons of a cluster by name; `states` are all known ones, oldest first, `uid` the cluster's if known."""
    level = await _level(bus, *cluster)
    uid = uid or (level.uid if level else "")
    found = histories(each for each in states if isinstance(each, AddonState) and uid in ("", each.uid))
    if level is not None and level.uid != uid:
        level = None
    holds = {
        profile: hold
        for profile in sorted(_profiles(level))
        if (item := await known_profile(kube, cluster[0], profile)) is not None
        if (hold := rollout_hold(item, level.rollouts.get(profile) if level else None)) is not None
    }
    return tuple(shown(found, level, holds))


def histories(states: Iterable[AddonState]) -> dict[str, AddonHistory]:
    """What is known of each add-on that is not withdrawn, by full name."""
    known: dict[str, AddonHistory] = {}
    for state in states:
        before = known.get(state.addon)
        if isinstance(state, Withdrawn):
            known.pop(state.addon, None)
        elif before is None:
            known[state.addon] = AddonHistory(state)
        elif isinstance(before.state, Applied) and isinstance(state, Applying) and state.message:
            known[state.addon] = AddonHistory(state, state.message, state.since)
        else:
            known[state.addon] = AddonHistory(state, before.corrected, before.corrected_at)
    return known


def shown(
    known: Mapping[str, AddonHistory], level: ProfileAddons | None, holds: Mapping[str, RolloutHold]
) -> Iterator[AddonOnPage]:
    """Each add-on that the cluster has or should have."""
    conflicts = {each.addon: str(each) for each in level.conflicts} if level else {}
    wanted = {each.name: each for each in level.addons} if level else {}
    for name in sorted({*known, *wanted, *conflicts}):
        profile = profile_of(name)
        if name not in known:
            after = wanted[name].after if name in wanted else ()
            phase, message = ("conflict", conflicts[name]) if name in conflicts else ("waiting", NOT_BEGUN)
            yield AddonOnPage(name, profile, phase, message, after, _lacking(after, known))
            continue
        one = known[name]
        phase, message = _phase(one.state, conflicts.get(name, ""), holds.get(profile))
        yield AddonOnPage(
            addon=name,
            profile=profile,
            phase=phase,
            message=message,
            after=one.state.after,
            waits=_lacking(one.state.after, known) if phase in ("waiting", "applying") else (),
            since=one.state.since,
            required=one.state.required,
            corrected=one.corrected,
            corrected_at=one.corrected_at,
        )


def _phase(state: AddonState, conflict: str, hold: RolloutHold | None) -> tuple[str, str]:
    """Its phase, and what is said of it: its own trouble first, then what others hold back."""
    message = getattr(state, "message", "")
    if isinstance(state, Applied) and message:
        return "drifted", message
    if isinstance(state, Applying) and state.gated:
        return "waiting", message
    if conflict and not isinstance(state, Degraded):
        return "conflict", conflict
    if isinstance(state, Applied) and hold is not None:
        return "held" if hold.keeps else "applied", hold.why
    return PHASES[type(state)], message


def _lacking(after: Iterable[str], known: Mapping[str, AddonHistory]) -> tuple[str, ...]:
    return tuple(name for name in after if name not in known or not isinstance(known[name].state, Applied))


def _profiles(level: ProfileAddons | None) -> frozenset[str]:
    return frozenset(filter(None, (profile_of(each.name) for each in level.addons))) if level else frozenset()


async def _level(bus: Bus, tenant: str, name: str) -> ProfileAddons | None:
    """What profiles want of the cluster; None if nothing does, or it cannot be read."""
    stored = await bus.last(Stream.LEVELS, declared(ProfileAddons).at(tenant, name))
    try:
        return msgspec.json.decode(stored.data, type=ProfileAddons) if stored is not None and stored.data else None
    except UNREADABLE:
        return None
