"""Applies an add-on's objects to a cluster: in order, only where something differs, and prunes what it lost."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import NamedTuple

import msgspec

from events.errors import Denied, NotFound, TryLater
from events.kube.client import Object, Resource
from events.kube.discovery import find
from events.kube.resources import CRDS
from services.addons.objects.claims import Records, found, is_anothers, is_shared, rivals
from services.addons.objects.faults import AGAIN, DeletionLimit, MissingPrerequisite
from services.addons.objects.health import health
from services.addons.objects.in_parallel import in_parallel
from services.addons.objects.managed_fields import settled
from services.addons.objects.order import classes, in_order
from services.addons.objects.readiness import ObjectHealth
from services.addons.objects.recreate import recreate
from services.addons.objects.target import MANAGER, Piece, Target, configuration, read
from services.addons.owned_objects import LABEL, OwnedObject, own_groups, owner, read_object
from services.addons.record import (
    InventoryRecord,
    kept_record,
    read_records,
    record_of,
    rewrite_record,
    write_record,
)
from services.addons.withdraw import Withdrawal

Staying = Callable[[], Awaitable[Mapping[str, tuple[OwnedObject, ...]]]]
"""Reads the objects of every other add-on that stays; called only if something is to be deleted."""
ALL = 100
"""Percent."""
LOOKS, PAUSE = 10, 0.2
"""How often, and how many seconds apart, a new kind is looked for: it is served a moment after its definition."""


class Written(NamedTuple):
    """One object after an apply."""

    resource: Resource
    object: Object
    changed: bool
    """Whether it was written: an object that is as wanted is only read."""


class ApplyResult(NamedTuple):
    """What an apply came to."""

    objects: tuple[Written, ...]
    reasons: tuple[str, ...] = ()
    """Why objects that the add-on lost are kept; empty for each that is being deleted."""

    @property
    def unhealthy(self) -> tuple[ObjectHealth, ...]:
        """What is not ready yet, or never will be."""
        return tuple(seen for each in self.objects if not (seen := health(each.object)).well)

    @property
    def going(self) -> int:
        """How many objects are being deleted."""
        return self.reasons.count("")


async def apply(target: Target, documents: Iterable[Object], staying: Staying) -> ApplyResult:
    """Apply all objects, then delete what the add-on had and has no longer.

    Raises OwnedByAnother, MissingPrerequisite, DeletionLimit, RecreateRefused, Denied for what is refused, TryLater;
    nothing is deleted unless all was written.
    """
    pieces = await read(target, in_order(documents))
    kept = await kept_record(target.records, target.addon)
    before = record_of(kept)
    records = await rivals(target, pieces, before)
    has = tuple(each.one for each in pieces)
    record = _extended(before, has, found(pieces, before, records), target)
    await rewrite_record(target.records, target.addon, record, kept)
    written = await _write_all(target, pieces, records)
    await _check_limit(target, before, has)
    reasons = await _prune(target, record, has, staying)
    return ApplyResult(tuple(written), tuple(reasons))


def _extended(
    before: InventoryRecord, has: tuple[OwnedObject, ...], found_now: tuple[OwnedObject, ...], target: Target
) -> InventoryRecord:
    """All that it had and has, so that nothing is forgotten whatever happens next."""
    all_ = tuple(dict.fromkeys((*before.has, *has)))
    found_all = tuple(dict.fromkeys((*before.found, *found_now)))
    return InventoryRecord(all_, found_all, target.priority, keep_while=target.keep_while)


async def _write_all(target: Target, pieces: list[Piece], records: Records) -> list[Written]:
    contested = [each for each in pieces if owner(each.seen or {"metadata": {}}) != target.marks[LABEL]]
    same = await in_parallel(lambda each: is_shared(each, target, records), contested)
    shared = {each.one for each, is_same in zip(contested, same, strict=True) if is_same}
    own = own_groups(each.one for each in pieces)
    by_object = {id(each.wanted): each for each in pieces}
    written: list[Written] = []
    for group in classes(each.wanted for each in pieces):
        todo = [by_object[id(each)] for each in group]
        written += await in_parallel(partial(_write, target, records, shared, own), todo)
    return written


async def _write(
    target: Target, records: Records, shared: set[OwnedObject], own: frozenset[str], piece: Piece
) -> Written:
    resource = piece.resource or await _served(target, piece, own)
    piece = piece._replace(resource=resource)
    if piece.seen is None:
        new = await _send(target, resource, piece, takes_over=False)
        return await _established(target, Written(resource, new, changed=True))
    if "deletionTimestamp" in piece.seen["metadata"]:
        raise TryLater(f"{piece.one} is being deleted", AGAIN)
    if piece.one in shared or settled(piece.seen, configuration(target, piece, target.marks), MANAGER):
        return Written(resource, piece.seen, changed=False)
    new = await _send(target, resource, piece, takes_over=is_anothers(piece, target, records))
    changed = new["metadata"]["resourceVersion"] != piece.seen["metadata"]["resourceVersion"]
    return Written(resource, new, changed)


async def _served(target: Target, piece: Piece, own: frozenset[str]) -> Resource:
    """The kind. Raises TryLater if the add-on brings it itself, else MissingPrerequisite."""
    brought = piece.one.group in own
    for look in range(LOOKS if brought else 1):
        if look:
            await asyncio.sleep(PAUSE)
        try:
            return await find(target.kube, piece.one.api_version, piece.one.kind)
        except NotFound as fault:
            missing = fault.message
    raise (TryLater if brought else MissingPrerequisite)(missing, AGAIN)


async def _established(target: Target, written: Written) -> Written:
    """A new definition once it is established, which takes a moment."""
    if written.resource != CRDS:
        return written
    for _ in range(LOOKS):
        if health(written.object).well:
            break
        await asyncio.sleep(PAUSE)
        written = written._replace(object=await target.kube.get(CRDS, written.object["metadata"]["name"]))
    return written


async def _send(target: Target, resource: Resource, piece: Piece, *, takes_over: bool) -> Object:
    """Apply one object; what is taken over must be as it was seen."""
    config, seen = configuration(target, piece, target.marks), piece.seen
    if takes_over and seen:
        config["metadata"]["resourceVersion"] = seen["metadata"]["resourceVersion"]
    try:
        return await target.kube.apply(resource, config, manager=MANAGER)
    except Denied as denied:
        if takes_over and denied.reason == "Conflict":
            raise TryLater(denied.message, AGAIN) from denied
        if denied.reason != "Invalid" or seen is None:
            raise
        return await recreate(target, resource, seen, config, denied)


async def _check_limit(target: Target, before: InventoryRecord, has: tuple[OwnedObject, ...]) -> None:
    """Raises DeletionLimit. What was recorded and could never be written does not count."""
    lost = [one for one in before.has if not any(one.same(each, namespaced=True) for each in has)]
    if not lost or target.deletion_limit >= ALL:
        return
    number = sum(await in_parallel(partial(_exists, target), lost))
    had = len(before.has) - len(lost) + number
    if number * ALL > target.deletion_limit * had:
        told = f"{number} of the {had} objects of {target.addon} would be deleted"
        raise DeletionLimit(f"{told}: more than {target.deletion_limit} % need approval", "DeletionLimit")


async def _exists(target: Target, one: OwnedObject) -> bool:
    try:
        await read_object(target.kube, one)
    except NotFound:
        return False
    return True


async def _prune(target: Target, record: InventoryRecord, has: tuple[OwnedObject, ...], staying: Staying) -> list[str]:
    """Delete what the add-on no longer consists of, and forget it once it is gone."""
    stale = [one for one in record.has if one not in has]
    reasons: list[str] = []
    if stale:
        me, notes = target.marks[LABEL], await read_records(target.records)
        stay = {**await staying(), me: has}
        reasons = await Withdrawal(target.kube, me, stays=True, staying=stay, notes=notes).delete_all(stale)
    if record.has != has and "" not in reasons:
        kept = tuple(one for one in record.found if one in has)
        await write_record(target.records, target.addon, msgspec.structs.replace(record, has=has, found=kept))
    return reasons
