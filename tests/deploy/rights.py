"""What an account may do, as a set of single rights, so that what is shipped, asked for and granted can be compared."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from events.kube.client import Object, Request, Response

FILE = Path(__file__).parents[2] / "deploy" / "rbac.yaml"
NAMESPACE = "alate"
VERBS = {"POST": "create", "PUT": "update", "DELETE": "delete"}


class Right(NamedTuple):
    """One verb on one resource of one API group, in every namespace."""

    group: str
    resource: str
    """Plural; ``plural/subresource``."""
    verb: str


def documents() -> list[Object]:
    """What ``kubectl apply -f deploy/rbac.yaml`` sends."""
    return [each for each in yaml.safe_load_all(FILE.read_text()) if each]


def shipped(account: str) -> frozenset[Right]:
    """What an account is bound to."""
    roles = {each["metadata"]["name"]: each["rules"] for each in documents() if each["kind"] == "ClusterRole"}
    subject = {"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}
    bindings = [each for each in documents() if each["kind"] == "ClusterRoleBinding" and subject in each["subjects"]]
    return frozenset(right for each in bindings for right in of_rules(roles[each["roleRef"]["name"]]))


def of_rules(rules: list[dict[str, Any]]) -> Iterator[Right]:
    """The rights of RBAC rules; narrowed ones are none of ours. Raises ValueError for one by name."""
    for rule in rules:
        if rule.get("resourceNames"):
            raise ValueError(f"a rule by name: {rule}")
        for group in rule.get("apiGroups") or ():
            yield from (Right(group, name, verb) for name in rule["resources"] for verb in rule["verbs"])


def of_request(request: Request, response: Response | None) -> frozenset[Right]:
    """What an API server asks RBAC for a request; nothing for documents that everybody may read."""
    group, _, rest = request.path.removeprefix("/api/").removeprefix("/apis/").partition("/")
    group, parts = ("", rest.split("/")) if request.path.startswith("/api/") else (group, rest.split("/")[1:])
    if len(parts) > 2 and parts[0] == "namespaces":
        parts = parts[2:]
    if not "".join(parts):
        return frozenset()  # discovery
    resource = "/".join((parts[0], *parts[2:]))
    verbs = {_verb(request, named=len(parts) > 1)}
    if request.method == "PATCH" and response is not None and response.status == 201:
        verbs.add("create")  # server-side apply of what was not there
    return frozenset(Right(group, resource, verb) for verb in verbs)


def _verb(request: Request, *, named: bool) -> str:
    if request.method == "GET" and not named:
        return "watch" if request.query.get("watch") == "true" else "list"
    return "get" if request.method == "GET" else VERBS.get(request.method, request.method.lower())
