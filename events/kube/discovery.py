"""Finds by API discovery which kinds an API server serves."""

from contextlib import suppress
from typing import TypeVar

import msgspec

from events.errors import NotFound, TryLater
from events.kube.client import Kube
from events.kube.port import Resource, root

T = TypeVar("T")


class _Kind(msgspec.Struct):
    name: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...] = ()


class _Kinds(msgspec.Struct):
    resources: tuple[_Kind, ...] | None  # Go writes an empty list as null


class _Version(msgspec.Struct):
    named: str = msgspec.field(name="groupVersion")


class _Group(msgspec.Struct):
    preferred: _Version = msgspec.field(name="preferredVersion")
    versions: tuple[_Version, ...]


class _Groups(msgspec.Struct):
    groups: tuple[_Group, ...]


async def find(kube: Kube, api_version: str, kind: str) -> Resource:
    """The resource that serves a kind, by discovery; `NotFound` if this API server knows no such kind.

    What was found is cached on the `Kube`; a kind that was not found is looked up again, as CRDs come and go.
    """
    for known in kube.discovered.get(api_version, ()):
        if known.kind == kind:
            return known
    kube.discovered[api_version] = served = await _discover(kube, api_version)
    for resource in served:
        if resource.kind == kind:
            return resource
    raise NotFound(f"the API server has no kind {kind} in {api_version}: is its CRD installed?")


async def served(kube: Kube, *verbs: str) -> tuple[Resource, ...]:
    """Every kind that supports all of `verbs`, once: in the preferred version of its group."""
    found: dict[tuple[str, str], Resource] = {}
    for api_version in ("v1", *await _versions(kube)):
        for item in await _items(kube, api_version):
            if {*verbs} <= {*item.verbs} and "/" not in item.name:
                group, _, version = api_version.rpartition("/")
                found.setdefault((group, item.name), _resource(group, version, item))
    return tuple(found.values())


async def kinds(kube: Kube) -> tuple[Resource, ...]:
    """Every kind in every version, but for what an aggregated API server serves that does not answer."""
    found: list[Resource] = []
    for api_version in ("v1", *await _versions(kube)):
        group, _, version = api_version.rpartition("/")
        with suppress(TryLater):
            found += [
                _resource(group, version, item) for item in await _items(kube, api_version) if "/" not in item.name
            ]
    return tuple(found)


async def _versions(kube: Kube) -> tuple[str, ...]:
    """Of each group all versions, the preferred first."""
    groups = (await _read(kube, "/apis", _Groups)).groups
    return tuple(dict.fromkeys(version.named for one in groups for version in (one.preferred, *one.versions)))


async def _items(kube: Kube, api_version: str) -> tuple[_Kind, ...]:
    """The resources of a version; none once it is no longer served."""
    try:
        return (await _read(kube, _root(api_version), _Kinds)).resources or ()
    except NotFound:
        return ()


async def _read(kube: Kube, path: str, shape: type[T]) -> T:
    """A document of discovery, whose shape the server may have got wrong. Raises TryLater then."""
    try:
        return msgspec.convert(await kube.read(path), shape)
    except msgspec.ValidationError as error:
        raise TryLater(f"{path} of the API server does not say what is served: {error}", after=5.0) from error


def _root(api_version: str) -> str:
    group, _, version = api_version.rpartition("/")
    return root(group, version)


async def _discover(kube: Kube, api_version: str) -> tuple[Resource, ...]:
    try:
        document = await _read(kube, _root(api_version), _Kinds)
    except NotFound as fault:
        raise NotFound(f"the API server does not serve {api_version}: is its CRD installed?") from fault
    group, _, version = api_version.rpartition("/")
    return tuple(_resource(group, version, item) for item in document.resources or () if "/" not in item.name)


def _resource(group: str, version: str, item: _Kind) -> Resource:
    return Resource(group, version, item.name, item.kind, item.namespaced)
