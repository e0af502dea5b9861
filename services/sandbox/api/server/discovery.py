"""Discovery in its three formats, written from one catalog."""

import re

from events.kube.client import Object, Request, Response
from services.sandbox.api.objects.reviews import REVIEWS
from services.sandbox.api.schema.catalog import Catalog
from services.sandbox.api.schema.kinds import VERBS, ServedKind
from services.sandbox.api.server.openapi import OpenApi
from services.sandbox.api.status import JSON, unknown_path
from services.sandbox.api.store.store import encode
from services.sandbox.api.wire.accept import wanted

VERSION = {
    "major": "1", "minor": "36", "gitVersion": "v1.36.0+alate", "gitCommit": "", "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "", "platform": "linux/amd64",
}  # fmt: skip
_AGGREGATED = ("v2", "v2beta1")

ByVersion = dict[str, dict[str, list[ServedKind]]]
"""Kinds by group, then by version."""


class Discovery:
    """Answers discovery, schemas, version and health requests."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._openapi = OpenApi(catalog)

    def answer(self, request: Request, cluster: str, path: str) -> Response:
        """Raises `Refused` (404) for a path that is not served."""
        match path.strip("/").split("/"):
            case ["healthz" | "livez" | "readyz", *_]:
                return Response(200, {"Content-Type": "text/plain"}, b"ok")
            case ["version"]:
                return _json(VERSION)
            case ["openapi", "v3", *group_version]:
                return self._openapi.answer(cluster, "/".join(group_version))
            case ["api" | "apis", *_] as parts:
                return self._served(request, cluster, parts)
        raise unknown_path()

    def _served(self, request: Request, cluster: str, parts: list[str]) -> Response:
        match parts:
            case ["api" | "apis" as root]:
                return self._root(request, cluster, root)
            case ["api", version]:
                return self._resources(cluster, "", version)
            case ["apis", group]:
                return self._group(cluster, group)
            case ["apis", group, version]:
                return self._resources(cluster, group, version)
        raise unknown_path()

    def _root(self, request: Request, cluster: str, root: str) -> Response:
        accepted = next((v for k, v in request.headers.items() if k.lower() == "accept"), "")
        groups = {g: v for g, v in self._groups(cluster).items() if bool(g) == (root == "apis")}
        as_, group, version = wanted(accepted)
        if as_ == "APIGroupDiscoveryList" and group == "apidiscovery.k8s.io" and version in _AGGREGATED:
            return _aggregated(groups, version)
        if root == "api":
            address: Object = {"serverAddressByClientCIDRs": []}
            return _json({"kind": "APIVersions", "versions": ["v1"], **address})
        items = [_group(name, versions) for name, versions in groups.items()]
        return _json({"kind": "APIGroupList", "apiVersion": "v1", "groups": items})

    def _group(self, cluster: str, group: str) -> Response:
        versions = self._groups(cluster).get(group)
        if not versions:
            raise unknown_path()
        return _json({"kind": "APIGroup", "apiVersion": "v1", **_group(group, versions)})

    def _resources(self, cluster: str, group: str, version: str) -> Response:
        kinds = self._groups(cluster).get(group, {}).get(version)
        if not kinds:
            raise unknown_path()
        found = [resource for kind in kinds for resource in _legacy(kind)]
        name = f"{group}/{version}" if group else version
        return _json({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name, "resources": found})

    def _groups(self, cluster: str) -> ByVersion:
        found: ByVersion = {}
        for kind in (*self._catalog.all(cluster), *REVIEWS.values()):
            found.setdefault(kind.group, {}).setdefault(kind.version, []).append(kind)
        return found


def _json(value: object) -> Response:
    return Response(200, JSON, encode(value))


def verbs(kind: ServedKind) -> tuple[str, ...]:
    """The verbs of a kind."""
    if (kind.group, kind.version, kind.plural) in REVIEWS:
        return ("create",)
    if kind.kind == "Namespace" and not kind.custom:
        return tuple(verb for verb in VERBS if verb != "deletecollection")
    return VERBS


def subresources(kind: ServedKind) -> dict[str, tuple[str, str, str]]:
    """The subresources of a kind, each with the kind of its body."""
    own = (kind.group, kind.version, kind.kind)
    return {
        **({"status": own} if kind.status else {}),
        **({"scale": ("autoscaling", "v1", "Scale")} if kind.scale else {}),
        **({"eviction": ("policy", "v1", "Eviction")} if kind.kind == "Pod" and not kind.custom else {}),
    }


_SUB_VERBS = {"status": ("get", "patch", "update"), "scale": ("get", "patch", "update"), "eviction": ("create",)}


def _group(name: str, versions: dict[str, list[ServedKind]]) -> Object:
    served = [{"groupVersion": f"{name}/{version}", "version": version} for version in ordered(versions)]
    return {"name": name, "versions": served, "preferredVersion": served[0]}


def ordered(versions: dict[str, list[ServedKind]]) -> list[str]:
    """Versions as Kubernetes ranks them: stable before beta before alpha, higher before lower."""
    return sorted(versions, key=_rank)


def _rank(version: str) -> tuple[int, list[int], str]:
    found = re.fullmatch(r"v(\d+)(?:(alpha|beta)(\d+))?", version)
    if not found:
        return 3, [], version
    stage = {None: 0, "beta": 1, "alpha": 2}[found[2]]
    return stage, [-int(found[1]), -int(found[3] or 0)], version


def _legacy(kind: ServedKind) -> list[Object]:
    head = {"name": kind.plural, "singularName": kind.singular, "namespaced": kind.namespaced, "kind": kind.kind}
    short = {"shortNames": kind.short} if kind.short else {}
    categories = {"categories": kind.categories} if kind.categories else {}
    return [
        {**head, "verbs": verbs(kind), **short, **categories},
        *(
            {**head, "name": f"{kind.plural}/{sub}", "singularName": "", "kind": speaks[2], "verbs": _SUB_VERBS[sub]}
            | ({"group": speaks[0], "version": speaks[1]} if speaks[:2] != (kind.group, kind.version) else {})
            for sub, speaks in subresources(kind).items()
        ),
    ]


def _aggregated(groups: ByVersion, version: str) -> Response:
    items = [
        {"metadata": {"name": name, "creationTimestamp": None}, "versions": _versions(versions)}
        for name, versions in groups.items()
    ]
    body = {"kind": "APIGroupDiscoveryList", "apiVersion": f"apidiscovery.k8s.io/{version}"}
    media = f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
    return Response(200, {"Content-Type": media}, encode({**body, "metadata": {}, "items": items}))


def _versions(versions: dict[str, list[ServedKind]]) -> list[Object]:
    return [
        {"version": version, "freshness": "Current", "resources": list(map(_resource, versions[version]))}
        for version in ordered(versions)
    ]


def _resource(kind: ServedKind) -> Object:
    parts = [
        {"subresource": sub, "responseKind": _speaks(*speaks), "verbs": _SUB_VERBS[sub]}
        for sub, speaks in subresources(kind).items()
    ]
    return {
        "resource": kind.plural,
        "responseKind": _speaks(kind.group, kind.version, kind.kind),
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": verbs(kind),
        **({"shortNames": kind.short} if kind.short else {}),
        **({"categories": kind.categories} if kind.categories else {}),
        **({"subresources": parts} if parts else {}),
    }


def _speaks(group: str, version: str, kind: str) -> Object:
    return {"group": group, "version": version if group else "", "kind": kind}  # as the real one: none in the core
