"""What of an attempt's manifests hangs on its size is found by rendering them with another size."""

from collections.abc import Callable

import msgspec

from events.kube.port import Object
from schemas.placement import Attempt, Lot

Render = Callable[[Attempt], list[Object]]


def sized(render: Render, attempt: Attempt) -> list[tuple[Object, Object]]:
    """Each document that says how many nodes there are, or may be, with a merge patch of that and nothing else."""
    pairs = zip(render(attempt), render(_larger(attempt)), strict=True)
    return [(document, patch) for document, other in pairs if (patch := differing(document, other))]


def _larger(attempt: Attempt) -> Attempt:
    placement = attempt.placement
    lots = tuple(_more(lot) for lot in placement.lots)
    return msgspec.structs.replace(attempt, placement=msgspec.structs.replace(placement, lots=lots))


def _more(lot: Lot) -> Lot:
    group = lot.group and msgspec.structs.replace(lot.group, most=lot.group.most + 1)
    return msgspec.structs.replace(lot, nodes=lot.nodes + 1, group=group)


def differing(one: Object, other: Object) -> Object:
    """The fields of `one` that differ in `other`; lists as a whole, as a merge patch has them."""
    found: Object = {}
    for key, value in one.items():
        theirs = other.get(key)
        if isinstance(value, dict) and isinstance(theirs, dict):
            if inner := differing(value, theirs):
                found[key] = inner
        elif value != theirs:
            found[key] = value
    return found
