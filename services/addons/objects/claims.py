"""Whose an object is: an add-on's by its label and its record, a Helm release's, or nobody's."""

from collections.abc import Iterable, Mapping

from events.kube.client import Object
from services.addons.objects.drift import drift
from services.addons.objects.faults import CONTESTED, OwnedByAnother
from services.addons.objects.managed_fields import settled
from services.addons.objects.readiness import mapping
from services.addons.objects.target import MANAGER, Piece, Target, configuration
from services.addons.owned_objects import LABEL, OwnedObject, owner, owner_label
from services.addons.record import InventoryRecord, read_records

Records = Mapping[str, InventoryRecord]
RELEASE = "meta.helm.sh/release-name"
RELEASE_NAMESPACE = "meta.helm.sh/release-namespace"


async def rivals(target: Target, pieces: Iterable[Piece], before: InventoryRecord) -> Records:
    """What every add-on has, if any object may be another's; read once, and only then."""
    me = owner_label(target.addon)
    if any(each.seen and (each.one not in before.has or owner(each.seen) != me) for each in pieces):
        return await read_records(target.records)
    return {}


def found(pieces: Iterable[Piece], before: InventoryRecord, records: Records) -> tuple[OwnedObject, ...]:
    """The objects new to the add-on that existed before any add-on had them."""
    known = {one for each in records.values() for one in each.found}
    new = (each for each in pieces if each.seen and each.one not in before.has)
    return tuple(each.one for each in new if not owner(each.seen or {}) or each.one in known)


async def is_shared(piece: Piece, target: Target, records: Records) -> bool:
    """Whether another add-on has the object and wants of it the same. Raises OwnedByAnother if it wants another.

    With a lower priority number than its owner an add-on takes the object over.
    """
    if piece.seen is None:
        return False
    whose = owner(piece.seen)
    if not whose:
        _check_helm(piece, mapping(piece.seen["metadata"], "annotations"))
    if not is_anothers(piece, target, records):
        return False
    if await _wants_the_same(piece, piece.seen, target):
        return True
    theirs = records[whose].priority
    if target.priority < theirs:
        return False
    told = f"{piece.one} belongs to the add-on {whose}, which wants it otherwise: its priority is {theirs}"
    raise OwnedByAnother(f"{told}, and that of {target.addon} {target.priority}", CONTESTED, whose)


async def _wants_the_same(piece: Piece, seen: Object, target: Target) -> bool:
    """Whether the object, apart from whose it is, is as it is wanted."""
    labels = mapping(seen["metadata"], "labels")
    config = configuration(target, piece, {name: labels[name] for name in target.marks if name in labels})
    if settled(seen, config, MANAGER):
        return True
    if piece.resource is None:
        return False
    rehearsed = await target.kube.apply(piece.resource, config, manager=MANAGER, dry_run=True)
    return not drift(seen, rehearsed, MANAGER, target.ignore)


def is_anothers(piece: Piece, target: Target, records: Records) -> bool:
    """Whether the object has the label of another add-on, whose record names it."""
    whose = owner(piece.seen) if piece.seen else ""
    if whose in ("", target.marks[LABEL]) or piece.resource is None:
        return False
    namespaced = piece.resource.namespaced
    return any(piece.one.same(each, namespaced=namespaced) for each in records.get(whose, InventoryRecord()).has)


def _check_helm(piece: Piece, annotations: Object) -> None:
    if release := annotations.get(RELEASE):
        whose = f"Helm release {annotations.get(RELEASE_NAMESPACE, 'default')}/{release}"
        raise OwnedByAnother(f"{piece.one} belongs to the {whose}", CONTESTED, whose)
