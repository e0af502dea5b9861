"""The message of a cluster: the one thing that people should know of it now, in one sentence."""

from collections.abc import Callable, Iterable
from typing import Any

from schemas.addon import Applying, Degraded
from schemas.cluster import (
    Blockable,
    ClusterState,
    Hibernated,
    Launching,
    Pending,
    Placed,
    Placing,
    Provisioned,
    Ready,
    Released,
    Releasing,
    Stalled,
    Upgrading,
    Waiting,
)
from schemas.placement import Attempt
from schemas.teardown import Cleaning, Draining, Ending, Gone, Stuck, TeardownState, Warned
from schemas.wish import AddonRef
from services.colony.accounting import billed_attempt
from services.gateway.status.facts import (
    Facts,
    blocking_addons,
    current_inventory,
    has_newer_wish,
    ignored_nodes,
    missing_addons,
    phase,
    ready_totals,
    running_teardown,
    short_pools,
    unreachable,
    wanted,
    without_microseconds,
    written_time,
)


def message(facts: Facts) -> str:
    """The one thing a person should know of the cluster now."""
    state, teardown = facts.cluster, facts.teardown
    if facts.refused or running_teardown(facts) is not None:
        return facts.refused or teardown_message(facts)
    if phase(facts) == "Deleting":
        return "its deletion is requested"
    if isinstance(teardown, Warned):
        return f"it is deleted at {without_microseconds(teardown.until):%H:%M:%S}Z: {teardown.reason}"
    if unreachable(facts) is not None:
        return unreachable_message(facts)
    lacking = blocking_addons(facts) or missing_addons(facts)
    incomplete = isinstance(state, Ready) and not state.refused and lacking
    return _lacking_message(facts, lacking) if incomplete else _owner_message(facts, state)


def _owner_message(facts: Facts, state: ClusterState | None) -> str:
    if isinstance(state, Hibernated):
        return state.refused or (
            f"hibernates once {_remaining_nodes(facts, state)}" if state.resizing else "hibernates"
        )
    if isinstance(state, Placed) and (state.refused or state.wanted or state.resizing or not isinstance(state, Ready)):
        return state.refused or _progress_message(facts, state)
    return _state_message(facts)


def unreachable_message(facts: Facts) -> str:
    """Since when its API is unreachable, why, and what that means for what is shown."""
    seen = unreachable(facts)
    if seen is None:
        return ""
    since = f" since {written_time(seen.fresh_since)}" if seen.fresh_since else ""
    why = f" ({seen.refusal or seen.unreadable})" if seen.refusal or seen.unreadable else ""
    what = "what its API answers cannot be read" if seen.unreadable else "its API is unreachable"
    return f"{what}{since}{why}: its nodes are shown as they were last seen"


def addons_message(facts: Facts) -> str:
    """Which add-ons are not applied, and what people have to mend for that; empty if all are."""
    return _lacking_message(facts, missing_addons(facts))


def _lacking_message(facts: Facts, lacking: Iterable[AddonRef]) -> str:
    missing = [each.name for each in lacking]
    reasons = {one.addon: one.message for one in facts.addons if isinstance(one, Applying | Degraded)}
    wrong = [f"add-on {name}: {reasons[name]}" for name in missing if reasons.get(name)]
    waits = [name for name in missing if not reasons.get(name)]
    return "; ".join((*wrong, *((f"waiting for {', '.join(waits)}",) if waits else ())))


def _requested_message(state: Pending) -> str:
    if state.existing is not None:
        return "its history was lost: what is left of it is adopted again"
    return "hibernates, not created yet" if state.wish.need.hibernate else "waiting for the market"


NOT_STARTED = "waiting for provisioning"
MESSAGES: dict[type, Callable[[Any], str]] = {
    type(None): lambda _: NOT_STARTED,
    Pending: _requested_message,
    Placing: lambda s: _placing_message(s, s.attempt) if s.attempt else "",
    Waiting: lambda s: f"{s.message}; the market is asked again at {without_microseconds(s.until):%H:%M:%S}Z",
    Stalled: lambda s: s.message,
    Ready: lambda s: (
        upgrade_message(s.upgrading)
        if s.upgrading
        else s.unmet_demand.message
        if s.unmet_demand
        else extra_nodes_message(s)
    ),
    Releasing: lambda s: s.blocked or f"its machines are being released: {s.reason}",
    Released: lambda s: f"released: {s.reason}",
}
"""The messages of states that have no function of their own."""


def extra_nodes_message(state: Ready) -> str:
    """Which pools have more nodes than the Colony asks for, or else the message of the attempt."""
    notes = (
        f"pool {lot.pool} has {lot.nodes + lot.extra} nodes, {lot.extra} more than asked for, and they are billed: "
        f"ask for nodes {lot.nodes + lot.extra}, or scale it back"
        for lot in state.attempt.placement.lots
        if lot.extra
    )
    return "; ".join(notes) or state.attempt.message


def upgrade_message(upgrading: Upgrading) -> str:
    """How far an upgrade is."""
    return f"upgrading to Kubernetes {upgrading.version}: {upgrading.progress or 'waiting for the back end'}"


def _placing_message(state: Placing, failed: Attempt) -> str:
    return state.blocked or f"looking for the next offer: {failed.message or failed.reason}"


def _state_message(facts: Facts) -> str:
    state, wish = facts.cluster, facts.wish
    if state is None and facts.unseen:
        return f"no cluster is created as long as {facts.unseen}"
    if isinstance(state, Ready | Released) and has_newer_wish(facts):
        return NOT_STARTED
    left = skipped_steps(facts.teardown) if facts.teardown and isinstance(state, Released) else ()
    if not isinstance(state, Released) or state.wish.deleting or wish.deleting:
        return "; ".join((MESSAGES.get(type(state), lambda _: "")(state), *left))
    again = f"`alate recreate {wish.colony}/{wish.cluster}` does, or a later askedAt"
    return "; ".join((f"it has ended ({state.reason}): no edit creates it again, but {again}", *left))


def _progress_message(facts: Facts, state: Placed) -> str:
    seen = current_inventory(facts, state)
    if seen is not None:
        need = wanted(facts)
        nodes, accelerators = ready_totals(facts, state, seen)
        there = f"{nodes} of {need.nodes} nodes, {accelerators} of {need.accelerators} accelerators ready"
        there += short_pools(facts) + ignored_nodes(facts, state, seen)
        return f"{there}: {_backend_message(facts, state)}" if _is_late(state) else there
    if isinstance(state, Launching) and state.blocked:
        return state.blocked
    if isinstance(state, Provisioned) and facts.infra is not None and facts.infra.reachable:
        return "waiting for its API to answer the inventory"
    return _backend_message(facts, state)


def _remaining_nodes(facts: Facts, state: Hibernated) -> str:
    seen = current_inventory(facts, state)
    return "its machines are gone" + (f", nodes: {seen.nodes}" if seen is not None and seen.nodes else "")


def _is_late(state: Placed) -> bool:
    return state.resizing is not None and state.resizing.late


def _backend_message(facts: Facts, state: Placed) -> str:
    infra = facts.infra
    text = infra.message if infra is not None and infra.uid == state.uid else ""
    return text or "waiting for the back end"


END_REASONS = {"Deleted": "it was deleted", "TimeToLive": "its time to live is over", "Idle": "it was idle"}
"""Why a cluster ends, for people; a reason that is not here is shown as it is."""


def teardown_message(facts: Facts) -> str:
    """How far the teardown is: since when, why, its cost, what blocks it and until when, what was skipped."""
    end = running_teardown(facts)
    if end is None:
        return ""
    attempt, _ = billed_attempt(facts.cluster) if facts.cluster else (None, None)
    price = attempt.placement.price_per_hour if attempt else 0.0
    costs = f", at ${price:.2f} an hour" if price else ""
    reason = END_REASONS.get(end.reason, end.reason)
    began = f"ending since {written_time(end.began)} ({reason}): {phase(facts).lower()}{costs}"
    text = ": ".join(filter(None, (began, blocked_message(end), _backend_release_message(facts))))
    return "; ".join((text, *_deadline_messages(facts, end), *skipped_steps(end)))


def blocked_message(state: TeardownState) -> str:
    """What the current step of a teardown waits for; empty if nothing is known to block it."""
    stuck = state.message if isinstance(state, Stuck) else ""
    return ": ".join(filter(None, (stuck, state.blocked if isinstance(state, Ending) else "")))


def skipped_steps(state: TeardownState) -> list[str]:
    """Each step that was given up, and what may be left because of that."""
    skipped = state.skipped if isinstance(state, Ending | Gone) else ()
    return [f"{each.step} was given up ({each.reason}): {each.left} may be left" for each in skipped]


def _deadline_messages(facts: Facts, end: Ending) -> list[str]:
    """When the step is given up at the latest, and how to give it up now."""
    if not isinstance(end, Draining | Cleaning):
        return []
    force = f", or now with `alate delete {facts.wish.colony} --force`" if facts.wish.deleting else ""
    return [f"given up at {written_time(end.ends_at)}{force}"]


def _backend_release_message(facts: Facts) -> str:
    """What its back end says about its release."""
    state = facts.cluster
    blocked = state.blocked if isinstance(state, Blockable) else ""
    return blocked or (facts.infra.message if facts.infra and isinstance(state, Releasing) else "")
