"""Asks an API server for the rights that deploy/rbac.yaml gives to the services, by access reviews."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from events.errors import NotFound
from events.kube.client import Kube, Object
from events.kube.port import Resource
from services.cli.preflight.facts import MissingRight

FILE = Path(__file__).parents[3] / "deploy" / "rbac.yaml"
AUTHORIZATION = ("authorization.k8s.io", "v1")
OF_ACCOUNTS = Resource(*AUTHORIZATION, "subjectaccessreviews", "SubjectAccessReview", namespaced=False)
OF_OURSELVES = Resource(*AUTHORIZATION, "selfsubjectaccessreviews", "SelfSubjectAccessReview", namespaced=False)
ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
INSTALLS = (
    MissingRight("", "create", "customresourcedefinitions.apiextensions.k8s.io"),
    MissingRight("", "create", "clusterroles.rbac.authorization.k8s.io"),
    MissingRight("", "create", "clusterrolebindings.rbac.authorization.k8s.io"),
    MissingRight("", "create", "serviceaccounts"),
    MissingRight("", "create", "deployments.apps"),
)
"""What an installation creates first."""


def accounts(namespace: str) -> frozenset[str]:
    """The accounts of the services, as ``namespace/name``; one without any right as well."""
    return frozenset(
        f"{namespace}/{each['metadata']['name']}" for each in _documents() if each["kind"] == ACCOUNTS.kind
    )


def _documents() -> list[Any]:
    return [each for each in yaml.safe_load_all(FILE.read_text()) if each]


def shipped(namespace: str) -> Iterator[MissingRight]:
    """Every right that the services need, each of an account in the namespace."""
    documents = _documents()
    roles = {each["metadata"]["name"]: each["rules"] for each in documents if each["kind"] == "ClusterRole"}
    for each in documents:
        if each["kind"] == "ClusterRoleBinding":
            for subject in each["subjects"]:
                yield from _of_rules(f"{namespace}/{subject['name']}", roles[each["roleRef"]["name"]])


def _of_rules(account: str, rules: list[dict[str, Any]]) -> Iterator[MissingRight]:
    for rule in rules:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                name, _, below = resource.partition("/")
                full = ".".join(filter(None, (name, group))) + (f"/{below}" if below else "")
                yield from (MissingRight(account, verb, full) for verb in rule["verbs"])


async def missing_accounts(kube: Kube, namespace: str) -> tuple[str, ...]:
    """Those of the accounts that do not exist. Raises the faults of `events.errors`."""

    async def is_missing(account: str) -> bool:
        try:
            await kube.get(ACCOUNTS, account.partition("/")[2], namespace)
        except NotFound:
            return True
        return False

    names = sorted(accounts(namespace))
    return tuple(name for name, gone in zip(names, await asyncio.gather(*map(is_missing, names)), strict=True) if gone)


async def missing_rights(kube: Kube, wanted: tuple[MissingRight, ...]) -> tuple[MissingRight, ...]:
    """Those that the API server says are not given. Raises the faults of `events.errors`."""
    allowed = await asyncio.gather(*(_is_allowed(kube, right) for right in wanted))
    return tuple(right for right, given in zip(wanted, allowed, strict=True) if not given)


async def _is_allowed(kube: Kube, right: MissingRight) -> bool:
    spec: Object = {"resourceAttributes": _attributes(right)}
    if right.account:
        spec["user"] = f"system:serviceaccount:{right.account.replace('/', ':')}"
    resource = OF_ACCOUNTS if right.account else OF_OURSELVES
    answer = await kube.create(resource, {"metadata": {}, "spec": spec})
    return bool(answer.get("status", {}).get("allowed"))


def _attributes(right: MissingRight) -> dict[str, str]:
    full, _, below = right.resource.partition("/")
    name, _, group = full.partition(".")
    found = {"verb": right.verb, "group": group, "resource": name, "subresource": below}
    return {key: value for key, value in found.items() if value or key == "group"}
