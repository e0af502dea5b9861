"""One add-on on one cluster: how its objects are written, and what its manifests become before they are sent."""

import base64
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from events.errors import NotFound
from events.kube.client import Kube, Object, Resource
from events.kube.discovery import find
from services.addons.objects.apply_set import PART_OF
from services.addons.objects.ignoring import Ignore, yielding
from services.addons.objects.in_parallel import in_parallel
from services.addons.objects.managed_fields import SENT
from services.addons.objects.order import is_built_in
from services.addons.objects.values import without_nulls
from services.addons.owned_objects import LABEL, OwnedObject, owned_object, owner_label
from services.addons.record import DEFAULT_PRIORITY, addon_set

MANAGER = "alate-addons"
"""The field manager of objects that alate itself writes."""
NAMES = ("name", "namespace")


@dataclass(frozen=True)
class Target:
    """One add-on on one cluster."""

    kube: Kube
    """Writes and reads its objects, in the name of the account whose rights count."""
    records: Kube
    """Keeps the record of what the add-on has: the same API server, in our own name."""
    addon: str
    """Its full name."""
    priority: int = DEFAULT_PRIORITY
    """Of two add-ons that want one object, the lower number has it."""
    namespace: str = "default"
    """Of objects that name none."""
    ignore: tuple[Ignore, ...] = ()
    """Fields that others may change."""
    recreate: bool = False
    """Delete and create an object again if a change is refused because a field is immutable."""
    deletion_limit: int = 100
    """The most percent of its objects that a change may delete; 100 for one that was approved."""
    keep_while: tuple[tuple[str, str], ...] = ()
    """As in its record."""
    marks: dict[str, str] = field(init=False)
    """The labels of each of its objects."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "marks", {LABEL: owner_label(self.addon), PART_OF: addon_set(self.addon)})


class Piece(NamedTuple):
    """One object as it is wanted, and as it is."""

    one: OwnedObject
    wanted: Object
    resource: Resource | None = None
    """None: its kind is not served."""
    seen: Object | None = None
    """None: it does not exist."""


def owned(target: Target, document: Object) -> OwnedObject:
    """What an object is called, in the add-on's namespace if it names none."""
    one = owned_object(document)
    named = (document.get("metadata") or {}).get("namespace")
    return one if named else one._replace(namespace=target.namespace)


async def read(target: Target, documents: Iterable[Object]) -> list[Piece]:
    """Every object as it is now."""
    return await in_parallel(lambda document: read_piece(target, document), documents)


async def read_piece(target: Target, document: Object) -> Piece:
    """One object as it is now."""
    one = owned(target, document)
    try:
        resource = await find(target.kube, one.api_version, one.kind)
    except NotFound:
        return Piece(one, document)
    try:
        seen = await target.kube.get(resource, one.name, one.namespace)
    except NotFound:
        return Piece(one, document, resource)
    return Piece(one, document, resource, seen)


def configuration(target: Target, piece: Piece, marks: dict[str, str]) -> Object:
    """What is sent: the manifest without what an API server says, with the labels of its owner.

    Fields that others may change are as they are now.
    """
    meta = piece.wanted.get("metadata") or {}
    kept = {name: value for name, value in meta.items() if name in (*SENT, *NAMES) and value}
    kept["labels"] = {**kept.get("labels", {}), **marks}
    kept.pop("namespace", None)
    if piece.resource is not None and piece.resource.namespaced:
        kept["namespace"] = piece.one.namespace
    rest = {name: value for name, value in piece.wanted.items() if name not in ("metadata", "status")}
    if is_built_in(piece.wanted):
        rest = {name: without_nulls(value) for name, value in rest.items() if value is not None}
    config = _in_base64({**rest, "metadata": kept})
    return config if piece.seen is None else yielding(config, piece.seen, target.ignore)


def _in_base64(config: Object) -> Object:
    """A Secret whose texts are where the API server puts them, so that they can be compared."""
    if (config["apiVersion"], config["kind"]) != ("v1", "Secret") or not config.get("stringData"):
        return config
    texts = {name: base64.b64encode(str(text).encode()).decode() for name, text in config["stringData"].items()}
    rest = {name: value for name, value in config.items() if name != "stringData"}
    return {**rest, "data": {**(config.get("data") or {}), **texts}}
