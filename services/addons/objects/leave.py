"""Lets an add-on's objects go on without it: they stay as they are, and belong to nobody."""

from functools import partial

from events.errors import NotFound
from services.addons.objects.in_parallel import in_parallel
from services.addons.objects.target import Target
from services.addons.owned_objects import LABEL, OwnedObject, owner, read_object
from services.addons.record import delete_record, read_record


async def leave(target: Target) -> None:
    """Take the add-on's labels off its objects, then forget them. What others own meanwhile is left alone."""
    record = await read_record(target.records, target.addon)
    await in_parallel(partial(_release, target), record.has)
    await delete_record(target.records, target.addon)


async def _release(target: Target, one: OwnedObject) -> None:
    try:
        resource, seen = await read_object(target.kube, one)
        if owner(seen) == target.marks[LABEL]:
            meta, without = seen["metadata"], {"metadata": {"labels": dict.fromkeys(target.marks)}}
            await target.kube.patch(resource, meta["name"], meta.get("namespace"), without)
    except NotFound:
        return
