"""What a person asks for, in a file or in flags, becomes a checked Colony before anything is sent."""

from dataclasses import dataclass
from pathlib import Path

import yaml

from events.kube import Object
from schemas.crds import read_colony
from services.cli.bad import BadInput


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
            "apiVersion": "alate.dev/v1alpha1",
            "kind": "Colony",
            "metadata": {"name": ask.name, "namespace": namespace},
            "spec": {"clusters": [_said(cluster)]},
        }
    )


def from_file(file: Path, namespace: str | None) -> list[Object]:
    """The Colonies of a YAML file, in its order. Raises BadInput, Refused."""
    try:
        documents = [each for each in yaml.safe_load_all(file.read_text()) if each is not None]
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{file} cannot be read ({error}): name a file with a Colony in it") from error
    except yaml.YAMLError as error:
        raise BadInput(f"{file} is not YAML ({_where(error)}): must be a Colony, as in the README") from error
    if not documents:
        raise BadInput(f"{file} is empty: must hold a Colony, as in the README")
    return [_from_document(each, file, namespace) for each in documents]


def checked(colony: Object) -> Object:
    """The same, once it is read as the gateway will read it. Raises Refused."""
    read_colony(colony)
    return colony


def _from_document(document: object, file: Path, namespace: str | None) -> Object:
    if not isinstance(document, dict) or document.get("kind") != "Colony":
        kind = document.get("kind") if isinstance(document, dict) else type(document).__name__
        raise BadInput(f"{file} holds a {kind}: must be a Colony (apiVersion alate.dev/v1alpha1)")
    meta = document.get("metadata") or {}
    if isinstance(meta, dict):
        meta["namespace"] = namespace or meta.get("namespace") or "default"
        document["metadata"] = meta
    return checked(document)


def _said(fields: Object) -> Object:
    return {name: value for name, value in fields.items() if value is not None}


def _where(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"line {error.problem_mark.line + 1}: {error.problem or error.context}"
    return " ".join(str(error).split())
