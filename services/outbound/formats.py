"""Renders a notification in the target's format, as a pure function."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import quote

import msgspec

from events.bus import Stored
from events.cloudevents import CloudEvent, msg_id, structured
from events.http.standard_webhooks import signature
from schemas.cluster import ClusterState
from schemas.registry import WireStruct
from schemas.subjects import Key, names_of
from schemas.wish import Wish
from services.outbound.targets import Target
from services.outbound.texts import ChatText, chat_text


class ClusterSummary(WireStruct, frozen=True, kw_only=True):
    """The parts of a cluster's state that are published to others."""

    wish: Wish
    message: str = ""


@dataclass(frozen=True)
class ClusterLife:
    """The position of an event in its cluster's life."""

    newest: bool
    """Whether it is the cluster's newest event."""
    was_ready: bool
    """Whether the cluster was ready before in this life."""


def cluster_life(history: Iterable[Stored], id: str) -> ClusterLife:  # noqa: A002 - CloudEvents' own word
    """The position of the event with this id; one that is no longer stored is old."""
    was_ready, found = False, None
    for stored in history:
        if found is not None:
            return ClusterLife(newest=False, was_ready=found.was_ready)
        if stored.headers.get("ce-id") == id:
            found = ClusterLife(newest=True, was_ready=was_ready)
        event = names_of(stored.subject)[1]
        was_ready = event == "ready" or (was_ready and event != "released")
    return found or ClusterLife(newest=False, was_ready=was_ready)


LONGEST = 140
"""The longest status description that every forge accepts."""
CDEVENTS = "0.5.1"
"""The version of the CDEvents specification (cdevents.dev)."""


@dataclass(frozen=True)
class OutboundRequest:
    """One POST."""

    url: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class ChatMessage:
    """One text for people, and the apprise URL of who gets it, which is a secret."""

    url: str = field(repr=False)
    text: ChatText


@dataclass(frozen=True)
class Notification:
    """An event to notify of."""

    event: CloudEvent
    key: Key
    life: ClusterLife
    now: datetime
    cluster: ClusterState | None = None
    """The cluster's last state, for what a text says of its cost; None: unknown."""

    @property
    def name(self) -> str:
        """The event's token, such as ``ready``."""
        return self.event.type.rpartition(".")[2]

    @property
    def said(self) -> ClusterSummary:
        """The cluster's state. Raises msgspec.DecodeError."""
        return msgspec.json.decode(self.event.data, type=ClusterSummary)


OutboundMessage = OutboundRequest | ChatMessage


def request(target: Target, occasion: Notification, secrets: tuple[bytes, ...]) -> OutboundMessage | None:
    """The message to send; None if this event, or one this late, is not sent.

    Raises msgspec.DecodeError, ValueError for a secret.
    """
    return FORMATS[target.format](target, occasion, secrets)


def _webhook(target: Target, event: CloudEvent, now: datetime, secrets: tuple[bytes, ...]) -> OutboundRequest:
    """A webhook signed as Standard Webhooks with every valid secret; the id is the event's."""
    body, name, stamp = structured(event), msg_id(event), str(int(now.timestamp()))
    signed = b" ".join(signature(secret, name.encode(), stamp.encode(), body) for secret in secrets)
    headers = {
        "Content-Type": "application/cloudevents+json",
        "webhook-id": name,
        "webhook-timestamp": stamp,
        "webhook-signature": signed.decode(),
    }
    return OutboundRequest(target.url, headers, body)


def _cloudevents(target: Target, occasion: Notification, secrets: tuple[bytes, ...]) -> OutboundRequest | None:
    return _webhook(target, occasion.event, occasion.now, secrets)


def _cdevents(target: Target, occasion: Notification, secrets: tuple[bytes, ...]) -> OutboundRequest | None:
    predicate = _predicate(occasion)
    return _webhook(target, cdevent(occasion, predicate), occasion.now, secrets) if predicate else None


def _predicate(occasion: Notification) -> str:
    if occasion.name == "ready":
        if occasion.said.wish.deleting:
            return ""  # it is as it was, and will soon be let go
        return "modified" if occasion.life.was_ready else "created"
    return "deleted" if occasion.name == "released" and occasion.life.was_ready else ""


def cdevent(occasion: Notification, predicate: str) -> CloudEvent:
    """A CDEvents environment event; attributes are copied from the context, as the binding says."""
    event, kind = occasion.event, f"dev.cdevents.environment.{predicate}.0.3.0"
    name = f"{occasion.key.tenant}/{occasion.key.name}"
    context = {
        "specversion": CDEVENTS,
        "id": f"{event.id}.{predicate}",
        "source": event.source,
        "type": kind,
        "timestamp": event.time,
    }
    if chain := event.extensions.get("correlationid"):
        context["chainId"] = chain
    subject = {"id": name, "source": event.source, "content": {"name": occasion.key.name}}
    return CloudEvent(
        id=f"{event.id}.{predicate}",
        source=event.source,
        type=kind,
        subject=name,
        time=event.time,
        datacontenttype="application/json",
        data=msgspec.json.encode({"context": context, "subject": subject}),
    )


PENDING, SUCCESS, FAILURE, OVER = "pending", "success", "failure", "over"
STANDS = {"pending": PENDING, "waiting": PENDING, "ready": SUCCESS, "stalled": FAILURE, "released": OVER}
"""The commit status by event; others are pending."""
GITHUB = {PENDING: "pending", "": "pending", SUCCESS: "success", FAILURE: "failure", OVER: "error"}
GITLAB = {PENDING: "pending", "": "running", SUCCESS: "success", FAILURE: "failed", OVER: "canceled"}


PART = r"(?![.]{1,2}(/|$))[A-Za-z0-9_.-]+"
SLUG = {"github": re.compile(f"{PART}/{PART}"), "gitlab": re.compile(f"{PART}(/{PART})+")}
"""The pattern of each forge's repository names; no part of one can leave its path."""


def commit_of(said: ClusterSummary, forge: str) -> tuple[str, str] | None:
    """The repository and hash of the commit to update, if it belongs to this forge."""
    where, _, rest = said.wish.commit.partition(":")
    repository, _, sha = rest.rpartition("@")
    return (repository, sha) if where == forge and SLUG[forge].fullmatch(repository) else None


def _status(target: Target, occasion: Notification) -> tuple[str, str, str, str] | None:
    """Repository, hash, status and a sentence; None for an old event and for the deletion of a ready cluster."""
    said, stands = occasion.said, STANDS.get(occasion.name, "")
    found = commit_of(said, target.format)
    over = occasion.life.was_ready and (occasion.name in ("releasing", "released") or said.wish.deleting)
    if found is None or over or not occasion.life.newest:
        return None
    sentence = ": ".join(filter(None, (f"cluster {occasion.name}", said.message)))
    return (*found, stands, sentence if len(sentence) <= LONGEST else f"{sentence[: LONGEST - 1]}…")


def _github(target: Target, occasion: Notification, secrets: tuple[bytes, ...]) -> OutboundRequest | None:
    """POST /repos/{owner}/{repo}/statuses/{sha} (GitHub's REST API, 2022-11-28)."""
    if (status := _status(target, occasion)) is None:
        return None
    repository, sha, stands, sentence = status
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/vnd.github+json",
        "X-GitHub-Api-Version": "2022-11-28",
        "Authorization": f"Bearer {secrets[0].decode()}",
    }
    said = {"state": GITHUB[stands], "context": f"alate/{occasion.key.name}", "description": sentence}
    return OutboundRequest(f"{target.url}/repos/{repository}/statuses/{sha}", headers, msgspec.json.encode(said))


def _gitlab(target: Target, occasion: Notification, secrets: tuple[bytes, ...]) -> OutboundRequest | None:
    """POST /projects/:id/statuses/:sha (GitLab's commits API)."""
    if (status := _status(target, occasion)) is None:
        return None
    repository, sha, stands, sentence = status
    headers = {"Content-Type": "application/json", "PRIVATE-TOKEN": secrets[0].decode()}
    said = {"state": GITLAB[stands], "name": f"alate/{occasion.key.name}", "description": sentence}
    url = f"{target.url}/projects/{quote(repository, safe='')}/statuses/{sha}"
    return OutboundRequest(url, headers, msgspec.json.encode(said))


def _apprise(_: Target, occasion: Notification, secrets: tuple[bytes, ...]) -> ChatMessage:
    """A text for people. Raises ValueError for a file of secrets with more than one URL."""
    if len(secrets) > 1:
        raise ValueError(f"its file of secrets holds {len(secrets)} lines: must be one URL of apprise per target")
    event = f"{occasion.key.domain}.{occasion.name}"
    said = chat_text(event, occasion.event.data, occasion.cluster, occasion.now, occasion.key.tenant)
    return ChatMessage(secrets[0].decode(), said)


FORMATS: Mapping[str, Callable[[Target, Notification, tuple[bytes, ...]], OutboundMessage | None]] = {
    "cloudevents": _cloudevents,
    "cdevents": _cdevents,
    "github": _github,
    "gitlab": _gitlab,
    "apprise": _apprise,
}
