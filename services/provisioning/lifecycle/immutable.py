"""Separates what a running cluster can change from what it cannot, and says what to do instead."""

from collections.abc import Callable, Iterator

import msgspec
from pydantic.alias_generators import to_camel

from schemas.placement import Placement
from schemas.wish import Adopt, Need, OnRelease, Pool
from services.kubernetes.version_skew import OTHER_WAY

FREE = ("pools", "max_price_per_hour", "hibernate", "adopt", "kubernetes_version")
"""Fields of a need that have rules of their own."""
SIZES = ("nodes", "min_nodes", "max_nodes")
"""Fields of a pool that can change."""


def possible_change(need: Need, wanted: Need, placed: Callable[[Need], Placement]) -> tuple[Need, str]:
    """The part of the change from `need` to `wanted` that a running cluster can follow, and why not the rest.

    What cannot change keeps its current value, so that it blocks no other change; the text is empty if all can.
    `placed` returns the placement of a need.
    """
    complaints = []
    for objection, settled in CHANGE_RULES:
        if complaint := objection(need, wanted):
            complaints.append(complaint)
            wanted = settled(need, wanted)
    if complaint := price_cap_refusal(wanted, placed(wanted)):
        complaints.append(complaint)
        wanted = wanted.but(pools=need.pools, max_price_per_hour=need.max_price_per_hour, hibernate=need.hibernate)
    return wanted, "; ".join(complaints)


def price_cap_refusal(wanted: Need, placement: Placement) -> str:
    """Why a cluster of this size would exceed its price cap; empty if it does not."""
    price, most = placement.most_per_hour, wanted.max_price_per_hour
    if most is None or price <= most:
        return ""
    nodes = sum(lot.most for lot in placement.lots) if wanted.autoscaled else wanted.nodes
    return (
        f"{nodes} nodes of what it runs on cost {price:g} USD per hour, more than maxPricePerHour {most:g}: "
        "raise that, or ask for fewer nodes"
    )


def _frozen_refusal(need: Need, wanted: Need) -> str:
    frozen = ", ".join(_frozen_fields(need, wanted))
    free = "only its pools, their nodes and kubernetesVersion can"
    return frozen and f"{frozen} cannot change while the cluster runs, {free}: {OTHER_WAY}"


def _with_frozen_kept(need: Need, wanted: Need) -> Need:
    """The wanted need with the current values of all that cannot change."""
    had = _by_name(need)
    free = {field: getattr(wanted, field) for field in FREE}
    pools = tuple(_with_sizes(had[pool.name], pool) if pool.name in had else pool for pool in wanted.pools)
    adopt = wanted.adopt if _adopted(need) == _adopted(wanted) else need.adopt
    return need.but(**(free | {"pools": pools, "adopt": adopt}))


def _with_sizes(had: Pool, pool: Pool) -> Pool:
    return had.but(**{field: getattr(pool, field) for field in SIZES})


def _pool_swap_refusal(need: Need, wanted: Need) -> str:
    had, has = _by_name(need).keys(), _by_name(wanted).keys()
    if need.adopt is not None and had != has:
        return f"an adopted cluster keeps the pools that others gave it, only their nodes can change: {OTHER_WAY}"
    if (new := ", ".join(sorted(has - had))) and (old := ", ".join(sorted(had - has))):
        return f"pool {new} cannot take the place of {old} at once: add it first, and take {old} out once it is there"
    return ""


def _with_current_pools(need: Need, wanted: Need) -> Need:
    """The wanted need with the current set of pools, in their wanted sizes."""
    has = _by_name(wanted)
    return wanted.but(pools=tuple(has.get(pool.name, pool) for pool in need.pools))


def _start_size_refusal(need: Need, wanted: Need) -> str:
    fixed = ", ".join(_restarted_pools(need, wanted))
    return fixed and (
        f"of pool {fixed} nodes and minNodes cannot change while the cluster runs, the autoscaler decides between "
        "minNodes and maxNodes: set them back, or change maxNodes"
    )


def _with_start_sizes(need: Need, wanted: Need) -> Need:
    """The wanted need with the current start sizes of pools that an autoscaler sizes."""
    had = _by_name(need)
    pools = (had.get(pool.name) if pool.name in set(_restarted_pools(need, wanted)) else None for pool in wanted.pools)
    return wanted.but(pools=tuple(was or pool for was, pool in zip(pools, wanted.pools, strict=True)))


CHANGE_RULES = (
    (_frozen_refusal, _with_frozen_kept),
    (_pool_swap_refusal, _with_current_pools),
    (_start_size_refusal, _with_start_sizes),
)
"""Each rule: why a change is refused, and the change without that part."""


def _frozen_fields(need: Need, wanted: Need) -> Iterator[str]:
    """The fields that differ and must not, spelled as in a Colony."""
    yield from _differing_fields(need, wanted, FREE)
    if _adopted(need) != _adopted(wanted):
        yield "adopt"
    had, has = _by_name(need), _by_name(wanted)
    for name in had.keys() & has.keys():
        yield from (f"pools[{name}].{field}" for field in _differing_fields(had[name], has[name], SIZES))


def _restarted_pools(need: Need, wanted: Need) -> Iterator[str]:
    """The pools sized by an autoscaler whose start size differs."""
    has = _by_name(wanted) if need.autoscaled else {}
    return (pool.name for pool in need.pools if pool.name in has and pool.least != has[pool.name].least)


def _differing_fields(one: msgspec.Struct, other: msgspec.Struct, but: tuple[str, ...]) -> Iterator[str]:
    for field in one.__struct_fields__:
        if field not in but and getattr(one, field) != getattr(other, field):
            yield to_camel(field).replace("Gib", "GiB")


def _adopted(need: Need) -> Adopt | None:
    """What is adopted, without what happens to it at the end: that can change at any time."""
    return need.adopt and need.adopt.but(on_release=OnRelease.KEEP)


def _by_name(need: Need) -> dict[str, Pool]:
    return {pool.name: pool for pool in need.pools}
