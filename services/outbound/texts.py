"""The text of each event for people: a title, what happened and what the cluster costs, as pure functions."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import msgspec

from schemas.cluster import LIFECYCLE, ClusterState, Placed
from schemas.placement import Lot, Placement
from schemas.registry import WireStruct, declared
from schemas.wish import cluster_name
from services.colony.accounting import billed_attempt, so_far

LONGEST = 1000
"""Characters of a message in a text."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_STATES: Mapping[str, Any] = {declared(each).event: each for each in LIFECYCLE.states}
ChatKind = Literal["info", "success", "warning", "failure"]
"""How a service may colour a text: the words of apprise."""


class ClusterOfWish(WireStruct, frozen=True):
    """The parts of a wish that a text names."""

    colony: str
    cluster: str


class Happened(WireStruct, frozen=True, kw_only=True):
    """The parts of a cluster's, a teardown's or an add-on's state that a text tells."""

    wish: ClusterOfWish | None = None
    colony: str = ""
    cluster: str = ""
    addon: str = ""
    message: str = ""
    reason: str = ""
    step: str = ""
    until: datetime | None = None
    retry_at: datetime | None = None

    @property
    def label(self) -> str:
        """The cluster as people write it."""
        if self.wish is not None:
            return f"{self.wish.colony}/{self.wish.cluster}"
        short = self.cluster.removeprefix(cluster_name(self.colony, ""))
        return f"{self.colony}/{short}" if self.colony else self.cluster


@dataclass(frozen=True)
class ChatText:
    """What people are told."""

    title: str
    body: str
    kind: ChatKind


@dataclass(frozen=True)
class EventText:
    """The title of an event, with ``{cluster}`` and ``{addon}``, how it counts, and the sentence after its message."""

    title: str
    kind: ChatKind = "info"
    more: Callable[[Happened], str] = lambda _: ""


def _retry(happened: Happened) -> str:
    return f"It is tried again at {_time(happened.retry_at)}." if happened.retry_at else ""


def _until(happened: Happened) -> str:
    return f"It is deleted at {_time(happened.until)} ({happened.reason})." if happened.until else ""


def _step(happened: Happened) -> str:
    return f"The step {happened.step} goes on being tried, and its machines may still cost money."


TEMPLATES: Mapping[str, EventText] = {
    "cluster.ready": EventText("Cluster {cluster} is ready", "success"),
    "cluster.changed": EventText("Cluster {cluster} has changed and is ready"),
    "cluster.provisioned": EventText("Cluster {cluster} answers, and is not ready yet"),
    "cluster.placing": EventText("Cluster {cluster} looks for another offer", "warning"),
    "cluster.waiting": EventText("Cluster {cluster} waits for an offer", "warning"),
    "cluster.stalled": EventText("Cluster {cluster} cannot be created", "failure"),
    "cluster.released": EventText("Cluster {cluster} is released"),
    "addon.applied": EventText("Add-on {addon} on {cluster} is applied", "success"),
    "addon.degraded": EventText("Add-on {addon} on {cluster} is degraded", "failure", _retry),
    "addon.withdrawn": EventText("Add-on {addon} on {cluster} is withdrawn"),
    "teardown.warned": EventText("Cluster {cluster} is about to be deleted", "warning", _until),
    "teardown.stuck": EventText("Teardown of {cluster} is stuck", "failure", _step),
    "teardown.gone": EventText("Cluster {cluster} is gone, and nothing of it is left", "success"),
}
"""By domain and event; any other event is told by its names."""
TOLD = [
    "cluster.ready", "cluster.waiting", "cluster.stalled", "cluster.released",
    "addon.degraded", "teardown.warned", "teardown.stuck",
]  # fmt: skip
"""The events that people are told of unless a target names others."""
OTHER = EventText("")


def chat_text(event: str, data: bytes, cluster: ClusterState | None, now: datetime, tenant: str) -> ChatText:
    """The text of an event such as ``cluster.ready``; `cluster` is the cluster's last state, for what it costs.

    Raises msgspec.DecodeError.
    """
    happened = msgspec.json.decode(data, type=Happened)
    domain, _, name = event.partition(".")
    template = TEMPLATES.get(event, OTHER)
    title = template.title or f"{domain.capitalize()} of {{cluster}}: {name}"
    said = happened.message if name != "gone" else ""
    sentences = (_sentence(said), template.more(happened), _machines(cluster), _cost(cluster, now))
    body = "\n".join(filter(None, (*sentences, f"Namespace {tenant}.")))
    named = title.format(cluster=happened.label, addon=happened.addon)
    return ChatText(_plain(named), _plain(body), template.kind)


def cluster_state(event: str, data: bytes) -> ClusterState | None:
    """A cluster's state, None for an event that this release does not know. Raises msgspec.DecodeError."""
    kind = _STATES.get(event)
    return msgspec.json.decode(data, type=kind) if kind is not None else None


def _machines(cluster: ClusterState | None) -> str:
    return f"It runs on {_place(cluster.attempt.placement)}." if isinstance(cluster, Placed) else ""


def _place(placement: Placement) -> str:
    return f"{placement.cloud} {placement.region}: {', '.join(map(_lot, placement.lots))}"


def _lot(lot: Lot) -> str:
    accelerators = f" with {lot.accelerators_per_node} {lot.accelerator}" if lot.accelerator else ""
    return f"{lot.nodes} x {lot.instance}{accelerators}{' (spot)' if lot.spot else ''}"


def _cost(cluster: ClusterState | None, now: datetime) -> str:
    """What it costs an hour, if it still does, and what it has cost until now."""
    if cluster is None:
        return ""
    attempt, _ = billed_attempt(cluster)
    so = f"{so_far(cluster, now):.2f} USD so far"
    return f"It costs {attempt.placement.price_per_hour:.2f} USD per hour, {so}." if attempt else f"It has cost {so}."


def _sentence(message: str) -> str:
    text = " ".join(message.split())
    if len(text) > LONGEST:
        return f"{text[0].upper()}{text[1 : LONGEST - 1]}…"
    return f"{text[0].upper()}{text[1:]}{'' if text.endswith('.') else '.'}" if text else ""


def _plain(text: str) -> str:
    """A text that mentions nobody: no service reads an `@` followed by a zero-width space as a name."""
    return _CONTROL.sub("", text).replace("@", "@\u200b")


def _time(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC" if moment else ""
