"""Of a cluster whose history was lost its objects are left, and what its Colony's status shows: a pure reading."""

from collections.abc import Callable, Iterable

import msgspec

from events.kube.port import Object
from schemas.infra import InfraSeen, Remains
from schemas.wish import Wish

Standing = Callable[[str, str], tuple[InfraSeen, ...]]
"""From a cluster's tenant and name to what bears its marks."""


def remains(colony: Object, wish: Wish, found: Iterable[InfraSeen]) -> Wish:
    """The wish, with what is left of a cluster that has no history; as it is where nothing is."""
    left = Remains(found=tuple(map(_bare, found)), ended=ended(colony, wish))
    return msgspec.structs.replace(wish, remains=left) if left != Remains() else wish


def ended(colony: Object, wish: Wish) -> str:
    """Why a cluster is over that its Colony goes on naming, as the status shows it; empty if it shows no end."""
    shown = next((one for one in _shown(colony) if one.get("name") == wish.cluster), {})
    if shown.get("phase") != "Released" or wish.deleting:
        return ""
    return (shown.get("teardown") or {}).get("reason") or "Ended"


def _shown(colony: Object) -> Iterable[Object]:
    return colony.get("status", {}).get("clusters") or ()


def _bare(seen: InfraSeen) -> InfraSeen:
    """Without what changes while it stands."""
    return InfraSeen(
        cluster=seen.cluster, uid=seen.uid, attempt=seen.attempt, backend=seen.backend, adopted=seen.adopted,
        reachable=seen.reachable, kubeconfig=seen.kubeconfig,
    )  # fmt: skip
