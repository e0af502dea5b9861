"""Each message in a few words, for the display and for plain lines."""

from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

from schemas import addon, cluster, teardown
from schemas.cluster import Placed
from schemas.entity import State
from schemas.inventory import ClusterSeen, NodeSeen
from schemas.placement import Attempt
from services.cli.demo.story import DemoEvent, event_of

Words = Callable[[Any], str]


def bought(attempt: Attempt) -> str:
    """The offer, in short."""
    place = attempt.placement
    kinds = ", ".join(f"{lot.nodes} x {lot.instance}{' spot' if lot.spot else ''}" for lot in place.lots)
    return f"{kinds} on {place.cloud} {place.region}"


def price(state: Placed) -> str:
    """The price against what the next best would have cost."""
    paid = f"${state.attempt.placement.price_per_hour:.2f}/h"
    if state.next_best_per_hour is None:
        return f"{paid}, no other offer fits"
    return f"{paid}, next best ${state.next_best_per_hour:.2f}/h"


def _proof(gone: teardown.Gone) -> str:
    return f"because {gone.reason}; its own proof: no {', no '.join(gone.proof) or 'trace'}"


WORDS: Mapping[type, Words] = {
    cluster.Pending: lambda s: f"{s.wish.need.nodes} nodes, {s.wish.need.accelerators} accelerators wanted",
    cluster.Launching: lambda s: f"{bought(s.attempt)} for {price(s)}",
    cluster.Placing: lambda s: f"{s.attempt.reason}: {s.attempt.message}" if s.attempt else "looking for another offer",
    cluster.Provisioned: lambda _: "its API answers",
    cluster.Ready: lambda s: f"all {s.wish.need.accelerators} accelerators can be used",
    cluster.Hibernated: lambda _: "its machines are given back until it wakes",
    cluster.Releasing: lambda s: f"because {s.reason}",
    cluster.Released: lambda s: f"cost ${s.cost_usd:.4f}",
    cluster.Waiting: lambda s: f"{s.message}; the market is asked again at {s.until:%H:%M:%S}",
    cluster.Stalled: lambda s: f"{s.reason}: {s.message}",
    addon.Applying: lambda s: s.message,
    addon.Degraded: lambda s: s.message,
    teardown.Warned: lambda s: f"goes at {s.until:%H:%M:%S}: {s.reason}",
    teardown.Draining: lambda s: f"because {s.reason}",
    teardown.Cleaning: lambda s: f"withdrawing {', '.join(s.addons) or 'nothing'}",
    teardown.Stuck: lambda s: s.message,
    teardown.Gone: _proof,
}
"""By the type of a state; one without words is shown by its name alone."""


def words(state: State) -> str:
    """What a state means."""
    describe = WORDS.get(type(state))
    return describe(state) if describe else ""


def usage(seen: ClusterSeen, now: datetime) -> str:
    """What runs on a cluster."""
    held = f"{seen.allocated} of {seen.accelerators} GPUs in use, {seen.pods} pods running, {seen.finished} finished"
    if not seen.known:
        return f"{held} (not reachable now)"
    idle = f", idle for {max(0.0, (now - seen.idle_since).total_seconds()):.0f} s" if seen.idle_since else ""
    return held + idle


def line(event: DemoEvent, labels: Mapping[str, str] = MappingProxyType({})) -> str | None:
    """One line for one change; None if it is not worth one. `labels` are COLONY/CLUSTER by the name of a cluster."""
    names, content = event.names, event.content
    match content:
        case State():
            return _columns(names[0], _labelled(names[3], labels), event_of(content), words(content))
        case NodeSeen():
            what = f"{content.accelerators} x {content.accelerator}" if content.accelerator else ""
            shape = "gone" if not content.present else "ready" if content.ready else "joining"
            return _columns("node", content.node, shape, what)
        case ClusterSeen():
            return _columns("usage", _labelled(content.cluster, labels), "", usage(content, event.at))
        case _:
            return None


def _labelled(name: str, labels: Mapping[str, str]) -> str:
    """A cluster, or an add-on after its cluster."""
    cluster, _, addon = name.partition(".")
    return f"{labels.get(cluster, cluster)} {addon}".rstrip()


def _columns(kind: str, name: str, state: str, more: str) -> str:
    return f"{kind:<9} {name:<34} {state:<12} {more}".rstrip()
