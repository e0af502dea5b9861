"""The one thing a person should know of a cluster now is told here, in one sentence."""

from collections.abc import Callable
from typing import Any

from schemas.addon import Applying, Degraded
from schemas.cluster import (
    ClusterState,
    Founded,
    Hibernated,
    Launching,
    Placing,
    Provisioned,
    Ready,
    Released,
    Releasing,
    Requested,
    Stalled,
    Upgrading,
    Waiting,
)
from schemas.placement import Attempt
from schemas.teardown import Warned
from services.gateway.status.facts import (
    Facts,
    asked_since,
    clock,
    counted,
    ending,
    phase,
    unapplied,
    unheard,
    wanted,
    whole,
)
from services.gateway.status.pools import oddities, short_pools, totals
from services.gateway.status.teardown_message import ends, given_up


def message(facts: Facts) -> str:
    """The one thing a person should know of the cluster now."""
    state, teardown = facts.cluster, facts.teardown
    if facts.refused or ending(facts) is not None:
        return facts.refused or ends(facts)
    if phase(facts) == "Deleting":
        return "its end is asked for"
    if isinstance(teardown, Warned):
        return f"goes at {whole(teardown.until):%H:%M:%S}Z: {teardown.why}"
    if unheard(facts) is not None:
        return silent(facts)
    incomplete = isinstance(state, Ready) and not state.refused and unapplied(facts)
    return waits_for_addons(facts) if incomplete else _goes_on(facts, state)


def _goes_on(facts: Facts, state: ClusterState | None) -> str:
    if isinstance(state, Hibernated):
        return state.refused or (f"hibernates once {_left(facts, state)}" if state.resizing else "hibernates")
    if isinstance(state, Founded) and (state.refused or state.wanted or state.resizing or not isinstance(state, Ready)):
        return state.refused or _progress(facts, state)
    return _at_rest(facts)


def silent(facts: Facts) -> str:
    """Since when its API is not heard, and what that means for what is shown."""
    seen = unheard(facts)
    if seen is None:
        return ""
    since = f" since {clock(seen.fresh_since)}" if seen.fresh_since else ""
    why = f" ({seen.refusal or seen.unreadable})" if seen.refusal or seen.unreadable else ""
    what = "what its API says cannot be read" if seen.unreadable else "its API cannot be heard"
    return f"{what}{since}{why}: what is shown of its nodes is what was seen last"


def waits_for_addons(facts: Facts) -> str:
    """Which add-ons are not on it, and what people have to mend for that; empty where all are."""
    missing = unapplied(facts)
    told = {one.addon: one.message for one in facts.addons if isinstance(one, Applying | Degraded)}
    wrong = [f"add-on {name}: {told[name]}" for name in missing if told.get(name)]
    waits = [name for name in missing if not told.get(name)]
    return "; ".join((*wrong, *((f"waiting for {', '.join(waits)}",) if waits else ())))


def _awaits(state: Requested) -> str:
    if state.standing is not None:
        return "its history was lost: what stands of it is taken in again"
    return "hibernates, not founded yet" if state.wish.need.hibernate else "waiting for the market"


ON_ITS_WAY = "waiting for provisioning"
TELLS: dict[type, Callable[[Any], str]] = {
    type(None): lambda _: ON_ITS_WAY,
    Requested: _awaits,
    Placing: lambda s: _moves_on(s, s.attempt) if s.attempt else "",
    Waiting: lambda s: f"{s.message}; the market is asked again at {whole(s.until):%H:%M:%S}Z",
    Stalled: lambda s: s.message,
    Ready: lambda s: gets(s.upgrading) if s.upgrading else s.ungrown.message if s.ungrown else added(s),
    Releasing: lambda s: s.held or f"its machines are being given back: {s.because}",
    Released: lambda s: f"released: {s.because}",
}
"""What the states without a story of their own say."""


def added(state: Ready) -> str:
    """Which pools have more nodes than anybody asked for here, or else what is told of its attempt."""
    told = (
        f"pool {lot.pool} has {lot.nodes + lot.extra} nodes, {lot.extra} more than asked for, and they are billed: "
        f"ask for nodes {lot.nodes + lot.extra}, or scale it back"
        for lot in state.attempt.placement.lots
        if lot.extra
    )
    return "; ".join(told) or state.attempt.message


def gets(upgrading: Upgrading) -> str:
    """How far it is to another version."""
    return f"gets Kubernetes {upgrading.version}: {upgrading.progress or 'waiting for the back end'}"


def _moves_on(state: Placing, failed: Attempt) -> str:
    return state.held or f"the next offer is looked for: {failed.message or failed.reason}"


def _at_rest(facts: Facts) -> str:
    state, wish = facts.cluster, facts.wish
    if state is None and facts.unseen:
        return f"nothing is founded as long as {facts.unseen}"
    if isinstance(state, Ready | Released) and asked_since(facts):
        return ON_ITS_WAY
    left = given_up(facts.teardown) if facts.teardown and isinstance(state, Released) else ()
    if not isinstance(state, Released) or state.wish.deleting or wish.deleting:
        return "; ".join((TELLS.get(type(state), lambda _: "")(state), *left))
    again = f"`alate again {wish.colony}/{wish.cluster}` does, or a later askedAt"
    return "; ".join((f"its end has come ({state.because}): no edit founds it again, but {again}", *left))


def _progress(facts: Facts, state: Founded) -> str:
    seen = counted(facts, state)
    if seen is not None:
        need = wanted(facts)
        nodes, accelerators = totals(facts, state, seen)
        there = f"{nodes} of {need.nodes} nodes, {accelerators} of {need.accelerators} accelerators ready"
        there += short_pools(facts) + oddities(facts, state, seen)
        return f"{there}: {_infra_tells(facts, state)}" if _late(state) else there
    if isinstance(state, Launching) and state.held:
        return state.held
    if isinstance(state, Provisioned) and facts.infra is not None and facts.infra.reachable:
        return "its API has not let the inventory in yet"
    return _infra_tells(facts, state)


def _left(facts: Facts, state: Hibernated) -> str:
    seen = counted(facts, state)
    return "its machines are gone" + (f", nodes: {seen.nodes}" if seen is not None and seen.nodes else "")


def _late(state: Founded) -> bool:
    return state.resizing is not None and state.resizing.late


def _infra_tells(facts: Facts, state: Founded) -> str:
    infra = facts.infra
    told = infra.message if infra is not None and infra.uid == state.uid else ""
    return told or "waiting for the back end"
