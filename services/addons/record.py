"""What an add-on has is noted on the cluster, so that it can be taken away when nobody else knows it any more."""

from collections.abc import Iterable, Mapping

import msgspec

from events.errors import NotFound
from events.kube.client import Kube, Object
from events.kube.resources import CONFIGMAPS
from services.addons.owned_objects import Belonging, look, owner
from services.kubernetes.labels import GROUP, MANAGER

NAMESPACE = "kube-system"
LABEL = f"{GROUP}/belongings"
"""On the notes; its value is the add-on."""
OBJECTS, FOUND = "objects", "found"
"""The keys of a note."""


class Note(msgspec.Struct, frozen=True):
    """What an add-on has on a cluster."""

    has: tuple[Belonging, ...] = ()
    """In the order it was written."""
    found: tuple[Belonging, ...] = ()
    """What of it was there before any add-on had it."""


async def noted(kube: Kube, addon: str) -> Note:
    """What an add-on has; nothing where nothing was noted."""
    try:
        return _read(await kube.get(CONFIGMAPS, _name(addon), NAMESPACE))
    except NotFound:
        return Note()


async def notes(kube: Kube) -> Mapping[str, Note]:
    """What every add-on of the cluster has."""
    kept = (await kube.list(CONFIGMAPS, NAMESPACE, labels=LABEL)).items
    return {each["metadata"]["labels"][LABEL]: _read(each) for each in kept}


async def note(kube: Kube, addon: str, more: Iterable[Belonging]) -> Note:
    """See that these are noted, beside what was before; done before they are written, so that none is forgotten."""
    before = await noted(kube, addon)
    new = tuple(dict.fromkeys(one for one in more if one not in before.has))
    if not new:
        return before
    all_ = Note((*before.has, *new), (*before.found, *await _found(kube, new)))
    await _keep(kube, addon, all_)
    return all_


async def forget(kube: Kube, addon: str) -> None:
    """Take the note away: nothing of it is there any more."""
    try:
        await kube.delete(CONFIGMAPS, _name(addon), NAMESPACE)
    except NotFound:
        return


async def _found(kube: Kube, new: Iterable[Belonging]) -> list[Belonging]:
    """What of these is there and was brought by no add-on, though one may have it already."""
    owners = {one: whose for one in new if (whose := await _owner(kube, one)) is not None}
    known = {one for each in (await notes(kube)).values() for one in each.found} if owners else set()
    return [one for one, whose in owners.items() if not whose or one in known]


async def _owner(kube: Kube, one: Belonging) -> str | None:
    """Whose it is; None if it is not there."""
    try:
        return owner((await look(kube, one))[1])
    except NotFound:
        return None


async def _keep(kube: Kube, addon: str, kept: Note) -> None:
    meta = {"name": _name(addon), "namespace": NAMESPACE, "labels": {LABEL: addon}}
    lists = {OBJECTS: kept.has, FOUND: kept.found}
    data = {key: msgspec.json.encode(value).decode() for key, value in lists.items()}
    await kube.apply(CONFIGMAPS, {"metadata": meta, "data": data}, manager=MANAGER)


def _name(addon: str) -> str:
    return f"alate-addon-{addon}"


def _read(kept: Object) -> Note:
    lists = (kept["data"][key] for key in (OBJECTS, FOUND))
    return Note(*(msgspec.json.decode(text, type=tuple[Belonging, ...]) for text in lists))
