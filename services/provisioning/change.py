"""What of a cluster can change while it runs is told from what cannot, with the way to do that instead."""

from collections.abc import Iterator

import msgspec
from pydantic.alias_generators import to_camel

from schemas.placement import Placement
from schemas.wish import Adopt, Need, OnRelease, Pool
from services.versions import WAY

FREE = ("pools", "max_price_per_hour", "hibernate", "adopt", "kubernetes_version")
"""What of a need is looked at by itself."""
SIZES = ("nodes", "min_nodes", "max_nodes")
"""What of a pool can change."""


def objection(need: Need, wanted: Need, placement: Placement) -> str:
    """Why a running cluster of `need` cannot become what is `wanted` on `placement`; empty if it can."""
    if frozen := ", ".join(_frozen(need, wanted)):
        free = "only its pools, their nodes and kubernetesVersion can"
        return f"{frozen} cannot change while the cluster runs, {free}: {WAY}"
    had, has = _by_name(need).keys(), _by_name(wanted).keys()
    if need.adopt is not None and had != has:
        return f"an adopted cluster keeps the pools that others gave it, only their nodes can change: {WAY}"
    if (new := ", ".join(sorted(has - had))) and (old := ", ".join(sorted(had - has))):
        return f"pool {new} cannot take the place of {old} at once: add it first, and take {old} out once it is there"
    if fixed := ", ".join(_begun(need, wanted)):
        return (
            f"of pool {fixed} nodes and minNodes cannot change while the cluster runs, the autoscaler decides between "
            "minNodes and maxNodes: set them back, or change maxNodes"
        )
    price, most = placement.most_per_hour, wanted.max_price_per_hour
    if most is not None and price > most:
        nodes = sum(lot.most for lot in placement.lots) if wanted.autoscaled else wanted.nodes
        return (
            f"{nodes} nodes of what it runs on cost {price:g} USD per hour, more than maxPricePerHour {most:g}: "
            "raise that, or ask for fewer nodes"
        )
    return ""


def _frozen(need: Need, wanted: Need) -> Iterator[str]:
    """The fields that differ and may not, as they are written in a Colony."""
    yield from _differing(need, wanted, FREE)
    if _taken_in(need) != _taken_in(wanted):
        yield "adopt"
    had, has = _by_name(need), _by_name(wanted)
    for name in had.keys() & has.keys():
        yield from (f"pools[{name}].{field}" for field in _differing(had[name], has[name], SIZES))


def _begun(need: Need, wanted: Need) -> Iterator[str]:
    """The pools that an autoscaler has, and that shall begin anew with another size."""
    has = _by_name(wanted) if need.autoscaled else {}
    return (pool.name for pool in need.pools if pool.name in has and pool.least != has[pool.name].least)


def _differing(one: msgspec.Struct, other: msgspec.Struct, but: tuple[str, ...]) -> Iterator[str]:
    for field in one.__struct_fields__:
        if field not in but and getattr(one, field) != getattr(other, field):
            yield to_camel(field).replace("Gib", "GiB")


def _taken_in(need: Need) -> Adopt | None:
    """What becomes of it in the end can change at any time."""
    return need.adopt and msgspec.structs.replace(need.adopt, on_release=OnRelease.KEEP)


def _by_name(need: Need) -> dict[str, Pool]:
    return {pool.name: pool for pool in need.pools}
