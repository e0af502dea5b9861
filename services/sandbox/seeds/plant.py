"""Creates the seeds once; a second run writes nothing."""

from collections.abc import Iterable

from events.errors import Denied, NotFound
from events.kube.client import Kube, Object, Resource
from events.kube.resources import CRDS
from schemas.crds import CRDS as OURS
from services.sandbox.seeds.kinds import definitions
from services.sandbox.seeds.templates import tenant

MANAGER = "sandbox-seeds"


async def seed(kube: Kube) -> None:
    """Create the kinds and what the namespace ``default`` needs. Raises the errors of `kube`."""
    for definition in (*(crd.manifest() for crd in OURS), *definitions()):
        await _define(kube, definition)
    await seed_tenant(kube, "default")


async def seed_tenant(kube: Kube, namespace: str) -> None:
    """Create templates and credentials in one more namespace, which must exist."""
    await plant(kube, tenant(namespace))


async def plant(kube: Kube, seeds: Iterable[tuple[Resource, Object]]) -> None:
    """Create missing objects; existing ones stay as they are."""
    for resource, wanted in seeds:
        there = await _there(kube, resource, wanted)
        if "status" in wanted and "status" not in there:
            meta = wanted["metadata"]
            patch = {"status": wanted["status"]}
            await kube.patch(resource, meta["name"], meta["namespace"], patch, subresource="status", manager=MANAGER)


async def _there(kube: Kube, resource: Resource, wanted: Object) -> Object:
    meta = wanted["metadata"]
    try:
        return await kube.get(resource, meta["name"], meta.get("namespace"))
    except NotFound:
        made = {key: value for key, value in wanted.items() if key != "status"}
    try:
        return await kube.create(resource, made, manager=MANAGER)
    except Denied as denied:
        if denied.reason != "AlreadyExists":
            raise
        return await kube.get(resource, meta["name"], meta.get("namespace"))


async def _define(kube: Kube, definition: Object) -> None:
    """Apply a definition, so that a newer release updates its kinds."""
    await kube.apply(CRDS, definition, manager=MANAGER)
