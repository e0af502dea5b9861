"""Deletes an object and creates it again where a change is refused because a field is immutable."""

from events.errors import Denied, NotFound, TryLater
from events.kube.client import Object, Resource
from events.kube.resources import CRDS, NAMESPACES, PVCS
from services.addons.objects.faults import AGAIN, RecreateRefused
from services.addons.objects.target import MANAGER, Target

NEVER = frozenset({CRDS.kind, NAMESPACES.kind, PVCS.kind})
"""Kinds whose objects hold what would be lost with them."""


async def recreate(target: Target, resource: Resource, seen: Object, config: Object, denied: Denied) -> Object:
    """Delete and create the object, if nothing but what it is now stands against what it should be.

    Raises RecreateRefused where that is not allowed, the denial where the object would be refused anyway, and
    TryLater while it is being deleted.
    """
    if not await _is_valid(target, resource, config):
        raise denied
    if resource.kind in NEVER:
        raise RecreateRefused(f"{denied.message}: a {resource.kind} is never deleted for that", "Immutable") from denied
    if not target.recreate:
        told = "only with recreate: true the object is deleted and created again"
        raise RecreateRefused(f"{denied.message}: {told}", "Immutable") from denied
    meta = seen["metadata"]
    await target.kube.delete(resource, meta["name"], meta.get("namespace"), uid=meta["uid"])
    try:
        await target.kube.get(resource, meta["name"], meta.get("namespace"))
    except NotFound:
        return await target.kube.apply(resource, config, manager=MANAGER)
    raise TryLater(f"{resource.kind} {meta['name']} is being deleted, to be created again", AGAIN)


async def _is_valid(target: Target, resource: Resource, config: Object) -> bool:
    """Whether the object could be created if its name were free: then a field that may not change is the reason."""
    try:
        await target.kube.create(resource, config, manager=MANAGER, dry_run=True)
    except Denied as denied:
        return denied.reason == "AlreadyExists"
    return True
