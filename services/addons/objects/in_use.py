"""Tells which objects that an add-on looks after still exist on its cluster."""

from collections.abc import Iterable

from events.errors import NotFound
from events.kube.client import Kube, Object
from events.kube.discovery import find
from services.kubernetes.name_list import first_names


async def in_use(kube: Kube, kinds: Iterable[tuple[str, str]]) -> str:
    """What a withdrawal waits for, one sentence; empty if no object of these kinds (version, kind) exists."""
    found = [f"{kind} {_name(each)}" for version, kind in kinds for each in await _all_of(kube, version, kind)]
    return f"waits until {first_names(tuple(found))} {'is' if len(found) == 1 else 'are'} gone" if found else ""


async def _all_of(kube: Kube, version: str, kind: str) -> Iterable[Object]:
    try:
        return (await kube.list(await find(kube, version, kind))).items
    except NotFound:  # a kind that is not served has no objects
        return ()


def _name(one: Object) -> str:
    meta = one["metadata"]
    return f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else str(meta["name"])
