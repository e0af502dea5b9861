"""Colonies from a file or from flags, checked before anything is sent."""

from pathlib import Path

from events.kube.client import Object
from events.kube.resources import COLONIES
from schemas.crds import read_colony
from services.cli.documents import documents
from services.cli.request.flags import ColonyFlags
from services.errors import BadInput


def from_flags(name: str, flags: ColonyFlags, namespace: str) -> Object:
    """A Colony of one cluster called ``main``. Raises BadInput, Refused."""
    if flags.per_node < 1 or flags.gpus < 1 or flags.gpus % flags.per_node:
        raise BadInput(
            f"--gpus {flags.gpus} cannot be had as whole nodes of --per-node {flags.per_node}: "
            f"must be a multiple of it, such as {max(flags.per_node, 1) * 2}"
        )
    pool = {
        "name": "gpu",
        "accelerator": flags.accelerator,
        "acceleratorsPerNode": flags.per_node,
        "nodes": flags.gpus // flags.per_node,
        "spot": flags.spot.value if flags.spot else None,
    }
    cluster = {
        "name": "main",
        "pools": [_given(pool)],
        "clouds": flags.cloud or None,
        "regions": flags.region or None,
        "maxPricePerHour": flags.max_price,
        "timeToLive": flags.ttl,
        "idleAfter": flags.idle_after,
    }
    return checked(
        {
            "apiVersion": COLONIES.api_version,
            "kind": COLONIES.kind,
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"clusters": [_given(cluster)]},
        }
    )


def from_file(file: Path, namespace: str | None) -> list[Object]:
    """The Colonies of a YAML file, in its order. Raises BadInput, Refused."""
    return [_in_namespace(each, namespace) for each in documents(file, "Colony")]


def checked(colony: Object) -> Object:
    """The Colony, after it was read as the gateway will read it. Raises Refused."""
    read_colony(colony)
    return colony


def _in_namespace(document: Object, namespace: str | None) -> Object:
    meta = document.get("metadata") or {}
    if isinstance(meta, dict):
        meta["namespace"] = namespace or meta.get("namespace") or "default"
        document["metadata"] = meta
    return checked(document)


def _given(fields: Object) -> Object:
    return {name: value for name, value in fields.items() if value is not None}
