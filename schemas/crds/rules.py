"""CEL rules by which an API server refuses changes of a Colony that a running cluster cannot follow.

They cover `provisioning.lifecycle.immutable` as far as CEL can at the cost that an API server allows: each rule
compares two lists of 32 clusters, some of them two lists of 10 pools within. What depends on the market, or would cost
more, is left to provisioning, which reports it in the condition Accepted. A Colony with Accepted=False may be changed
in any way, so that it can be set back.
"""

from typing import Any

CelRule = dict[str, Any]
"""One entry of ``x-kubernetes-validations``."""

INSTEAD = "set it back, or add another cluster to the Colony and take this one out"
LISTS = ("clouds", "regions", "residency")
"""Fields of a cluster that mean the same empty and left out."""
VALUES = ("network", "template")
MACHINES = ("accelerator", "acceleratorsPerNode", "spot")
SIZES = ("cpu", "memoryGiB", "diskGiB", "podCpu", "podMemoryGiB")


def colony_rules() -> list[CelRule]:
    """Every rule over a whole Colony, old and new."""
    fields = [*map(_same_list, LISTS), *map(_same, VALUES), *map(_same_where_both, ("backend", "scaledBy"))]
    return [
        _rule(_each(" && ".join([*fields, _ADOPT])), f"{', '.join((*LISTS, *VALUES))}, backend, scaledBy and adopt"),
        _rule(_each(_pools(MACHINES)), f"{', '.join(MACHINES)} of a pool"),
        _rule(_each(_pools(SIZES)), f"{', '.join(SIZES)} of a pool"),
        _told(
            _each(_SWAP),
            "a pool cannot take the place of another at once while the cluster runs: add it first, and take the other "
            "out once it is there",
        ),
        _told(
            _each(_VERSION),
            "kubernetesVersion never goes down while the cluster runs, and up one minor version at a time: set it "
            "back, or ask for the next minor version",
        ),
    ]


def _rule(rule: str, what: str) -> CelRule:
    return _told(rule, f"{what} cannot change while the cluster runs: {INSTEAD}")


def _told(rule: str, message: str) -> CelRule:
    return {"rule": rule, "message": message, "reason": "FieldValueForbidden", "fieldPath": ".spec.clusters"}


def _each(same: str) -> str:
    """That this holds of the new cluster `n` and the old one `o`, wherever that runs."""
    return (
        "!has(oldSelf.status) || !has(oldSelf.status.running) || "
        "(has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, "
        "c.type == 'Accepted' && c.status == 'False')) || "
        "self.spec.clusters.all(n, !(n.name in oldSelf.status.running) || "
        f"oldSelf.spec.clusters.all(o, o.name != n.name || ({same})))"
    )


def _same(field: str, one: str = "n", other: str = "o") -> str:
    return f"has({one}.{field}) == has({other}.{field}) && (!has({one}.{field}) || {one}.{field} == {other}.{field})"


def _same_where_both(field: str) -> str:
    """What is left out is what the installation has by default, which no rule knows."""
    return f"(!has(n.{field}) || !has(o.{field}) || n.{field} == o.{field})"


def _same_list(field: str) -> str:
    return f"(has(n.{field}) ? n.{field} : []) == (has(o.{field}) ? o.{field} : [])"


def _part(cluster: str, place: int) -> str:
    """The minor version (1) or the patch (2)."""
    return f"int({cluster}.kubernetesVersion.split('.')[{place}])"


def _pools(fields: tuple[str, ...]) -> str:
    same = " && ".join(_same(field, "p", "q") for field in fields)
    return f"n.pools.all(p, o.pools.all(q, p.name != q.name || ({same})))"


_ADOPT = "has(n.adopt) == has(o.adopt) && (!has(n.adopt) || n.adopt.name == o.adopt.name)"
_SWAP = "n.pools.all(p, o.pools.exists(q, q.name == p.name)) || o.pools.all(q, n.pools.exists(p, p.name == q.name))"
_VERSION = (
    f"{_part('n', 1)} == {_part('o', 1)} + 1 || "
    f"({_part('n', 1)} == {_part('o', 1)} && {_part('n', 2)} >= {_part('o', 2)})"
)
