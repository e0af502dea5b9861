"""Which add-ons a cluster shall have by its profiles: selection, priority, and what becomes of the rest."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from schemas.addon import profile_of
from schemas.entity import EPOCH
from schemas.profile_addons import DroppedAddon, ProfileAddons, ReleaseConflict, RolloutMark
from schemas.wish import AddonRef
from services.addons.plan.profile import Profile, ProfileRules, ProfileSet, ReleaseName, prerequisites
from services.addons.plan.rollout import Turn
from services.addons.plan.target import KnownCluster
from services.expressions.evaluation import EvaluationFailure


@dataclass(frozen=True)
class Match:
    """What profiles want of one cluster."""

    level: ProfileAddons
    """To be published if it differs from the last one, whose `as_of` it has."""
    conflicts: tuple[ReleaseConflict, ...]
    profiles: frozenset[str]
    """The profiles that select it."""
    unmatched: frozenset[str] = frozenset()
    """Dry runs whose profile selects it no longer: they only report what would be deleted."""


def match(  # noqa: PLR0913 - a cluster, what is wanted of it, what it has
    target: KnownCluster,
    profiles: ProfileSet,
    last: ProfileAddons | None,
    standing: frozenset[str],
    rules: ProfileRules,
    *,
    turns: Mapping[str, Turn] = MappingProxyType({}),
) -> Match:
    """What the cluster shall have; `standing` are full names of its add-ons that are not withdrawn.

    A suspended profile, and one whose selector cannot be evaluated, change nothing: what they wanted last is wanted
    still. So is that of one with a rollout until the cluster's turn has come; `turns` by profile.
    """
    before = last if last is not None and last.uid == target.uid else None
    selecting, keeping = _selecting(target, profiles, rules)
    given = _given(selecting, keeping, before, profiles, turns)
    claims = {**profiles.claims, **given.claims}
    won, conflicts = _settle(given.wanted, claims, profiles, standing)
    unmatched = _unmatched(target, given.wanted, profiles, standing)
    won |= unmatched
    releases = {name: claims[name] for name in sorted(won) if name in claims}
    taken = _taken(before, releases, profiles)
    had = [ref.name for ref in before.addons] if before else []
    gone = (*had, *(one.name for one in (before.dropped if before else ()) if one.name in standing), *standing)
    dropped = [name for name in sorted(set(gone)) if name not in won and profile_of(name)]
    leaves = _leaves((*won, *dropped), profiles, last)
    level = ProfileAddons(
        tenant=target.tenant,
        colony=target.colony,
        cluster=target.name,
        uid=target.uid,
        correlation=target.correlation,
        kubeconfig=target.kubeconfig,
        lost=target.lost,
        addons=tuple(won[name] for name in sorted(won)),
        dropped=tuple(DroppedAddon(name, leave=name in leaves or name in taken) for name in dropped),
        releases=releases | {name: before.releases[name] for name in dropped if before and name in before.releases},
        leaves=tuple(sorted(leaves)),
        conflicts=conflicts,
        rollouts=given.marks,
        as_of=last.as_of if last else EPOCH,
    )
    return Match(level, conflicts, frozenset(each.name for each in selecting), frozenset(unmatched))


def _unmatched(
    target: KnownCluster, wanted: Mapping[str, AddonRef], profiles: ProfileSet, standing: frozenset[str]
) -> dict[str, AddonRef]:
    """Dry runs that stand though their profile selects the cluster no longer."""
    known = {} if target.lost else profiles.dry_runs
    return {name: ref for name, ref in known.items() if name in standing and name not in wanted}


def _taken(before: ProfileAddons | None, releases: Mapping[str, ReleaseName], profiles: ProfileSet) -> set[str]:
    """Add-ons whose release an add-on installs now; a dry run installs none."""
    installed = {release for name, release in releases.items() if name not in profiles.dry_runs}
    return {name for name, release in (before.releases if before else {}).items() if release in installed}


def _selecting(target: KnownCluster, profiles: ProfileSet, rules: ProfileRules) -> tuple[list[Profile], set[str]]:
    """The profiles that select the cluster, and the names of those that change nothing."""
    concerning = [each for each in profiles.by_name.values() if each.concerns(target.tenant) and not target.lost]
    told = {each.name: rules.matches(each.spec.clusters, target.facts) for each in concerning}
    unsure = {name for name, holds in told.items() if isinstance(holds, EvaluationFailure)}
    suspended = {each.name for each in concerning if each.spec.suspend}
    return [each for each in concerning if told[each.name] is True], unsure | suspended


class _Given(NamedTuple):
    """What profiles give a cluster before they are held against each other."""

    wanted: dict[str, AddonRef]
    claims: dict[str, ReleaseName]
    """Of what is kept as it was, though its profile may say something else by now."""
    marks: dict[str, RolloutMark]


def _given(
    selecting: Iterable[Profile],
    keeping: set[str],
    before: ProfileAddons | None,
    profiles: ProfileSet,
    turns: Mapping[str, Turn],
) -> _Given:
    had = {ref.name: ref for ref in before.addons} if before else {}
    marks = {name: mark for name, mark in before.rollouts.items() if name in keeping} if before else {}
    wanted: dict[str, AddonRef] = {}
    for each in selecting:
        if each.name in keeping:
            continue
        turn = _turn(each, turns.get(each.name), before.rollouts.get(each.name) if before else None)
        wanted |= {ref.name: ref for ref in turn.refs or ()}
        keeping = keeping | ({each.name} if turn.refs is None else set())
        marks |= {each.name: turn.mark} if turn.mark else {}
    kept = {name: ref for name, ref in had.items() if profile_of(name) in keeping}
    claims = {name: before.releases[name] for name in kept if before and name in before.releases}
    given = wanted | kept
    return _Given(given | prerequisites(given, profiles, keeping), claims, dict(sorted(marks.items())))


def _turn(profile: Profile, turn: Turn | None, mark: RolloutMark | None) -> Turn:
    """What the profile gives the cluster now: all it has, unless a rollout says something else."""
    if profile.spec.rollout is None:
        return Turn(profile.revision, profile.refs, None)
    decided = turn is not None and turn.revision == profile.revision and not profile.undecided
    return turn if decided and turn else Turn(profile.revision, None, mark)


def _settle(
    wanted: Mapping[str, AddonRef], claims: Mapping[str, ReleaseName], profiles: ProfileSet, standing: frozenset[str]
) -> tuple[dict[str, AddonRef], tuple[ReleaseConflict, ...]]:
    """Each release goes to the lowest priority number, among equals to the one that has it already."""

    def rank(name: str) -> tuple[int, bool, str]:
        return profiles.by_name[profile_of(name)].spec.priority, name not in standing, name

    claims = {name: claims[name] for name in wanted if name in claims and name not in profiles.dry_runs}
    owners: dict[ReleaseName, str] = {}
    for name in sorted(claims, key=rank):
        owners.setdefault(claims[name], name)
    conflicts = tuple(
        ReleaseConflict(
            addon=name,
            release=release,
            owner=owners[release],
            priority=rank(name)[0],
            owner_priority=rank(owners[release])[0],
        )
        for name, release in sorted(claims.items())
        if owners[release] != name
    )
    lost = {each.addon for each in conflicts}
    return {name: ref for name, ref in wanted.items() if name not in lost}, conflicts


def _leaves(names: Iterable[str], profiles: ProfileSet, last: ProfileAddons | None) -> frozenset[str]:
    """Add-ons whose objects stay if they are dropped: as their profile says, or said before it was deleted."""
    said = frozenset(last.leaves) if last else frozenset()
    found = ((name, profiles.by_name.get(profile_of(name))) for name in names)
    return frozenset(name for name, profile in found if (profile.leaves if profile else name in said))


def lost_level(name: tuple[str, str], stale: Mapping[str, str], last: ProfileAddons | None) -> ProfileAddons:
    """What is said first when add-ons are left of incarnations that are gone: `stale` has their uids by full name.

    One incarnation at a time, as a level names one.
    """
    uid = min(stale.values())
    dropped = tuple(DroppedAddon(addon) for addon in sorted(stale) if stale[addon] == uid)
    as_of = last.as_of if last else EPOCH
    return ProfileAddons(
        tenant=name[0], colony="", cluster=name[1], uid=uid, correlation="", lost=True, dropped=dropped, as_of=as_of
    )
