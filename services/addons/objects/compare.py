"""Compares all objects of an add-on with the cluster, and writes nothing: missing, drifted, refused, unhealthy."""

from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

from events.errors import Denied, NotFound, TryLater
from events.kube.client import Object
from services.addons.objects.apply_set import PART_OF
from services.addons.objects.drift import FieldChange, drift
from services.addons.objects.faults import AGAIN
from services.addons.objects.health import HOOK, health
from services.addons.objects.ignoring import pointer
from services.addons.objects.in_parallel import in_parallel
from services.addons.objects.managed_fields import settled
from services.addons.objects.readiness import ObjectHealth, mapping
from services.addons.objects.target import MANAGER, Piece, Target, configuration, owned, read_piece
from services.addons.owned_objects import LABEL, OwnedObject
from services.addons.record import read_record

HELM = "helm"
"""The field manager of objects that a Helm release wrote."""
TRIES = 3
"""How often an object is compared that others write meanwhile."""
NEW_MARK = pointer(("metadata", "labels", PART_OF))
"""What objects lack that earlier releases wrote: the next apply adds it, and until then it is no drift."""


class Drifted(NamedTuple):
    """An object of which fields differ."""

    one: OwnedObject
    changes: tuple[FieldChange, ...]

    def __str__(self) -> str:
        return f"{self.one}: {'; '.join(map(str, self.changes))}"


class Compared(NamedTuple):
    """What a comparison found, each in the order of the manifests."""

    missing: tuple[OwnedObject, ...] = ()
    drifted: tuple[Drifted, ...] = ()
    refused: tuple[str, ...] = ()
    """Why objects could not be written as they are wanted now."""
    unhealthy: tuple[ObjectHealth, ...] = ()
    surplus: tuple[OwnedObject, ...] = ()
    """What the add-on has, and its manifests name no longer."""
    seen: tuple[Object, ...] = ()
    """The objects that there are, for rules about them."""
    reranked: bool = False
    """Its record has another priority than it has now, by which others may want what it has."""

    @property
    def as_wanted(self) -> bool:
        """Whether an apply would change nothing; healthy or not."""
        return not (self.missing or self.drifted or self.refused or self.surplus)


class _One(NamedTuple):
    piece: Piece
    changes: tuple[FieldChange, ...] = ()
    refused: str = ""


async def compare(target: Target, documents: Iterable[Object], *, manager: str = MANAGER) -> Compared:
    """Compare every object by a read, and by a dry run of its apply where that cannot tell. Raises TryLater, Denied.

    With the manager `HELM` the documents are a release's, whole as Helm wrote them; hooks are left out.
    """
    asked = [each for each in documents if manager != HELM or not _is_hook(each)]
    pieces = await in_parallel(partial(_compare, target, manager), asked)
    has = {owned(target, each) for each in asked}
    record = await read_record(target.records, target.addon)
    return Compared(
        missing=tuple(each.piece.one for each in pieces if each.piece.seen is None and not each.refused),
        drifted=tuple(Drifted(each.piece.one, each.changes) for each in pieces if each.changes),
        refused=tuple(each.refused for each in pieces if each.refused),
        unhealthy=tuple(bad for each in pieces if each.piece.seen and not (bad := health(each.piece.seen)).well),
        surplus=tuple(one for one in record.has if one not in has),
        seen=tuple(each.piece.seen for each in pieces if each.piece.seen),
        reranked=record.priority != target.priority,
    )


async def compare_existing(target: Target) -> Compared:
    """Which of the objects that the add-on has are there, whatever their fields are."""
    record = await read_record(target.records, target.addon)
    documents = [
        {"apiVersion": one.api_version, "kind": one.kind, "metadata": {"namespace": one.namespace, "name": one.name}}
        for one in record.has
    ]
    pieces = await in_parallel(partial(read_piece, target), documents)
    seen = tuple(each.seen for each in pieces if each.seen)
    return Compared(
        missing=tuple(each.one for each in pieces if each.seen is None),
        unhealthy=tuple(bad for each in seen if not (bad := health(each)).well),
        seen=seen,
        reranked=record.priority != target.priority,
    )


def _is_hook(document: Object) -> bool:
    return HOOK in mapping(document.get("metadata") or {}, "annotations")


async def _compare(target: Target, manager: str, document: Object) -> _One:
    for _ in range(TRIES):
        piece = await read_piece(target, document)
        config = configuration(target, piece, {} if manager == HELM else _marks(target, piece))
        if piece.resource is None or (piece.seen and settled(piece.seen, config, manager)):
            return _One(piece)
        try:
            rehearsed = await target.kube.apply(piece.resource, config, manager=manager, dry_run=True)
        except Denied as denied:
            return _One(piece, refused=f"{piece.one}: {denied.message}")
        except NotFound:  # its namespace is missing as well
            return _One(piece._replace(seen=None))
        if piece.seen is None:
            return _One(piece)
        if rehearsed["metadata"].get("resourceVersion") == piece.seen["metadata"]["resourceVersion"]:
            changes = drift(piece.seen, rehearsed, manager, target.ignore)
            return _One(piece, tuple(each for each in changes if (each.path, each.live) != (NEW_MARK, None)))
    raise TryLater(f"{piece.one} is written by others all the time", AGAIN)


def _marks(target: Target, piece: Piece) -> dict[str, str]:
    """The labels of the object's owner: another add-on's where both want the same."""
    labels = mapping(piece.seen["metadata"], "labels") if piece.seen else {}
    if labels.get(LABEL, target.marks[LABEL]) == target.marks[LABEL]:
        return target.marks
    return {name: labels[name] for name in target.marks if name in labels}
