"""What a person asks for, in a file or in flags, becomes a checked Colony before anything is sent."""

from dataclasses import dataclass
from pathlib import Path

from events.kube.client import Object
from events.kube.resources import COLONIES
from schemas.crds import read_colony
from services.cli.documents import documents
from services.errors import BadInput


@dataclass(frozen=True)
class Ask:
    """The flags of `alate request`; None where nothing is said."""

    name: str
    gpus: int
    accelerator: str
    per_node: int
    spot: str | None = None
    max_price: float | None = None
    ttl: str | None = None
    idle_after: str | None = None
    clouds: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()


def from_flags(ask: Ask, namespace: str) -> Object:
    """A Colony of one cluster called ``main``. Raises BadInput, Refused."""
    if ask.per_node < 1 or ask.gpus < 1 or ask.gpus % ask.per_node:
        raise BadInput(
            f"--gpus {ask.gpus} cannot be had as whole nodes of --per-node {ask.per_node}: "
            f"must be a multiple of it, such as {max(ask.per_node, 1) * 2}"
        )
    pool = {
        "name": "gpu",
        "accelerator": ask.accelerator,
        "acceleratorsPerNode": ask.per_node,
        "nodes": ask.gpus // ask.per_node,
        "spot": ask.spot,
    }
    cluster = {
        "name": "main",
        "pools": [_said(pool)],
        "clouds": list(ask.clouds) or None,
        "regions": list(ask.regions) or None,
        "maxPricePerHour": ask.max_price,
        "timeToLive": ask.ttl,
        "idleAfter": ask.idle_after,
    }
    return checked(
        {
            "apiVersion": COLONIES.api_version,
            "kind": COLONIES.kind,
            "metadata": {"name": ask.name, "namespace": namespace},
            "spec": {"clusters": [_said(cluster)]},
        }
    )


def from_file(file: Path, namespace: str | None) -> list[Object]:
    """The Colonies of a YAML file, in its order. Raises BadInput, Refused."""
    return [_in_namespace(each, namespace) for each in documents(file, "Colony")]


def checked(colony: Object) -> Object:
    """The same, once it is read as the gateway will read it. Raises Refused."""
    read_colony(colony)
    return colony


def _in_namespace(document: Object, namespace: str | None) -> Object:
    meta = document.get("metadata") or {}
    if isinstance(meta, dict):
        meta["namespace"] = namespace or meta.get("namespace") or "default"
        document["metadata"] = meta
    return checked(document)


def _said(fields: Object) -> Object:
    return {name: value for name, value in fields.items() if value is not None}
