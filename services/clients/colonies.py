"""Writes an edit of one cluster into its Colony through the Kubernetes API."""

from collections.abc import Callable

from events.kube.client import Kube, Object
from events.kube.resources import COLONIES
from services.colony.edits import MANAGER, Patch
from services.kubernetes.labels import FORCE

FORCED: Object = {"metadata": {"annotations": {FORCE: "true"}}}


async def apply_edit(kube: Kube, namespace: str, colony: str, edit: Callable[[Object], Patch]) -> tuple[Object, bool]:
    """Patch a Colony with what `edit` makes of it; gives the Colony, and whether there was anything to change.

    Raises NotFound, whatever `edit` raises, and Denied if the Colony was changed in between.
    """
    found = await kube.get(COLONIES, colony, namespace)
    patch = edit(found)
    if not patch:
        return found, False
    return await kube.patch(COLONIES, colony, namespace, patch, kind="json", manager=MANAGER), True


async def delete_colony(kube: Kube, namespace: str, colony: str, *, force: bool) -> None:
    """Delete a Colony; with `force` its machines are deleted at once, whatever runs on them. Raises NotFound."""
    if force:
        await kube.patch(COLONIES, colony, namespace, FORCED, manager=MANAGER)
    await kube.delete(COLONIES, colony, namespace)
