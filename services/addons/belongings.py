"""What an add-on has on a cluster is noted there, so that it can be taken away when nobody else knows it any more."""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from events.faults import NotFound
from events.kinds import CONFIGMAPS, CRDS
from events.kube import Kube, Object
from services.clouds.marks import GROUP, MANAGER

NAMESPACE = "kube-system"
LABEL = f"{GROUP}/belongings"
"""On the notes; its value is the add-on."""
KEY = "objects"


class Belonging(NamedTuple):
    """One object, as the add-on's manifests name it."""

    api_version: str
    kind: str
    namespace: str
    """``default`` where none is written; means nothing to kinds without namespaces."""
    name: str

    def same(self, other: "Belonging", *, namespaced: bool) -> bool:
        """Whether both name one object: by any version of its kind."""
        group, theirs = (one.api_version.rpartition("/")[0] for one in (self, other))
        within = self.namespace == other.namespace or not namespaced
        return within and (group, self.kind, self.name) == (theirs, other.kind, other.name)

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def belonging(document: Object) -> Belonging:
    """What a manifest is about."""
    meta = document.get("metadata") or {}
    return Belonging(
        document["apiVersion"], document["kind"], meta.get("namespace", "default"), str(meta.get("name", ""))
    )


def groups(has: Iterable[Belonging]) -> frozenset[str]:
    """The API groups of which it brings kinds itself: a definition's name is that of its kind and its group."""
    return frozenset(one.name.partition(".")[2] for one in has if one.kind == CRDS.kind)


async def noted(kube: Kube, addon: str) -> tuple[Belonging, ...]:
    """What an add-on has, in the order it was written; empty where nothing was noted."""
    try:
        return _read(await kube.get(CONFIGMAPS, _name(addon), NAMESPACE))
    except NotFound:
        return ()


async def note(kube: Kube, addon: str, more: Iterable[Belonging]) -> None:
    """See that these are noted, beside what was before; done before they are written, so that none is forgotten."""
    before = await noted(kube, addon)
    all_ = tuple(dict.fromkeys((*before, *more)))
    if all_ == before:
        return
    meta = {"name": _name(addon), "namespace": NAMESPACE, "labels": {LABEL: addon}}
    await kube.apply(CONFIGMAPS, {"metadata": meta, "data": {KEY: msgspec.json.encode(all_).decode()}}, manager=MANAGER)


async def noters(kube: Kube) -> frozenset[str]:
    """The add-ons that have anything on the cluster."""
    notes = (await kube.list(CONFIGMAPS, NAMESPACE, labels=LABEL)).items
    return frozenset(each["metadata"]["labels"][LABEL] for each in notes)


async def forget(kube: Kube, addon: str) -> None:
    """Take the note away: nothing of it is there any more."""
    try:
        await kube.delete(CONFIGMAPS, _name(addon), NAMESPACE)
    except NotFound:
        return


def _name(addon: str) -> str:
    return f"alate-addon-{addon}"


def _read(kept: Object) -> tuple[Belonging, ...]:
    return msgspec.json.decode(kept["data"][KEY], type=tuple[Belonging, ...])
