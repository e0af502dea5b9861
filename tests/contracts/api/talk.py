"""A conversation with an API server is data, so that any server can be asked to hold it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

JSON = "application/json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
STEPS = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json"
PARTIALS = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"

WIDGETS = "/apis/demo.io/v1/namespaces/{ns}/widgets"
CONFIGMAPS = "/api/v1/namespaces/{ns}/configmaps"
SECRETS = "/api/v1/namespaces/{ns}/secrets"
PODS = "/api/v1/namespaces/{ns}/pods"
SERVICES = "/api/v1/namespaces/{ns}/services"
LIMITRANGES = "/api/v1/namespaces/{ns}/limitranges"
DEPLOYMENTS = "/apis/apps/v1/namespaces/{ns}/deployments"
NAMESPACES = "/api/v1/namespaces"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

Look = Callable[[Any], Any]


@dataclass(frozen=True)
class Step:
    """One question, and what is known of its answer beforehand.

    In paths, queries and bodies ``{ns}`` is the conversation's own namespace, and ``$2.metadata.uid`` what the
    answer to the third step has there.
    """

    method: str
    path: str
    says: int = 200
    """The status."""
    reason: str = ""
    """The Status' reason, if it is a refusal."""
    body: Any = None
    media: str = JSON
    accept: str = JSON
    query: Mapping[str, str] = field(default_factory=dict)
    events: int = 0
    """Of a watch: how many events to read."""
    until: Look | None = None
    """Ask again until the answer's body is as this says."""
    look: Look | None = None
    """What of the body is compared; None: all of it."""
    ours: tuple[int, str] | None = None
    """Status and reason that the sandbox gives instead: a difference that `allowed` names."""
    user: str = "admin"
    """Who asks: admin, stranger (known, may do nothing), nobody (no token), impostor (a wrong token), account (an
    administrator in the name of a service account), impersonator (a stranger who tries the same)."""


@dataclass(frozen=True)
class Talk:
    """A conversation, named for the fact it shows."""

    fact: str
    steps: tuple[Step, ...]

    @property
    def slug(self) -> str:
        return "".join(c if c.isalnum() else "-" for c in self.fact.lower())


def talk(fact: str, *steps: Step) -> Talk:
    return Talk(fact, steps)


def get(path: str, says: int = 200, reason: str = "", **query: str) -> Step:
    return Step("GET", path, says, reason, query=query)


def post(path: str, body: Any, says: int = 201, reason: str = "", **query: str) -> Step:
    return Step("POST", path, says, reason, body, query=query)


def put(path: str, body: Any, says: int = 200, reason: str = "", **query: str) -> Step:
    return Step("PUT", path, says, reason, body, query=query)


def merge(path: str, body: Any, says: int = 200, reason: str = "", **query: str) -> Step:
    return Step("PATCH", path, says, reason, body, MERGE, query=query)


def strategic(path: str, body: Any, says: int = 200, reason: str = "", **query: str) -> Step:
    return Step("PATCH", path, says, reason, body, STRATEGIC, query=query)


def steps(path: str, *body: Any, says: int = 200, reason: str = "", **query: str) -> Step:
    return Step("PATCH", path, says, reason, list(body), STEPS, query=query)


def apply(path: str, body: Any, by: str = "me", says: int = 200, reason: str = "", **query: str) -> Step:
    return Step("PATCH", path, says, reason, body, APPLY, query={"fieldManager": by, **query})


def delete(path: str, body: Any = None, says: int = 200, reason: str = "", **query: str) -> Step:
    return Step("DELETE", path, says, reason, body, query=query)


def watch(path: str, events: int, **query: str) -> Step:
    return Step("WATCH", path, events=events, query={"watch": "true", **query})


def gone(path: str) -> Step:
    """Wait until it is not there."""
    return Step("GET", path, 404, "NotFound", until=lambda body: body.get("code") == 404)


def eventually(step: Step, when: Look) -> Step:
    return replace(step, until=when)


def seen(step: Step, look: Look) -> Step:
    """Compare only a part of the answer."""
    return replace(step, look=look)


def accepting(step: Step, accept: str) -> Step:
    return replace(step, accept=accept)


def asked_by(user: str, step: Step) -> Step:
    return replace(step, user=user)


def differing(step: Step, status: int, reason: str = "") -> Step:
    """The sandbox answers with another status, for a reason that `allowed` gives."""
    return replace(step, ours=(status, reason))


COMPACT = Step("COMPACT", "")
"""The server forgets every version but the newest."""


def widget(name: str, *, meta: Mapping[str, Any] | None = None, status: Any = None, **spec: Any) -> dict[str, Any]:
    """A custom resource, typed."""
    whole = {"apiVersion": "demo.io/v1", "kind": "Widget", "metadata": {"name": name, **(meta or {})}, "spec": spec}
    return {**whole, "status": status} if status is not None else whole


def configmap(name: str, *, meta: Mapping[str, Any] | None = None, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **(meta or {})}, "data": data}
