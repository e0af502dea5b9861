"""A node's labels say what accelerators it has, so that pods can ask for them by one name in every cluster."""

import re
from collections.abc import Callable, Iterable, Mapping

from events.kube.port import Object
from schemas.inventory import NodeSeen

PREFIX = "alate.dev/"
MODEL = f"{PREFIX}accelerator"
"""By which a pod asks for a model."""
MANAGER = "alate-inventory"
"""The field manager: what it owns is ours, whatever else bears our prefix is not."""
LONGEST = 63
"""Characters that a label's name or value may have."""

Wanted = Callable[[NodeSeen], Mapping[str, str]]
"""From what was seen of a node to the labels it shall bear."""


def labels_of(node: NodeSeen) -> dict[str, str]:
    """Per model how many the node offers; and of the one it has, if it is one, name, number, memory, source."""
    counts = {model: str(amount.allocatable // 1000) for model, amount in node.models.items()}
    found = {f"{PREFIX}accelerator.{label(model, LONGEST - 12)}": count for model, count in sorted(counts.items())}
    if len(counts) == 1:
        model, count = next(iter(counts.items()))
        sources = {device.source for device in node.devices}
        sizes = {str(device.memory_mib) for device in node.devices if device.memory_mib}
        found |= {MODEL: label(model), f"{PREFIX}accelerator-count": count}
        found |= _one("accelerator-source", sources) | _one("accelerator-memory-mib", sizes)
    return found


def no_labels(_: NodeSeen) -> dict[str, str]:
    """None: what was written before is taken off again."""
    return {}


def borne(node: Object) -> dict[str, str]:
    """The labels on a Node that are ours, by its ``managedFields``."""
    meta = node["metadata"]
    entries = [entry for entry in meta.get("managedFields") or () if entry.get("manager") == MANAGER]
    owned = {key for entry in entries for key in _owned(entry)}
    return {key: value for key, value in (meta.get("labels") or {}).items() if key in owned} if owned else {}


def _owned(entry: Object) -> Iterable[str]:
    fields = (entry.get("fieldsV1") or {}).get("f:metadata", {}).get("f:labels", {})
    return (key.removeprefix("f:") for key in fields if key != ".")


def _one(name: str, values: set[str]) -> dict[str, str]:
    return {f"{PREFIX}{name}": next(iter(values))} if len(values) == 1 else {}


def label(text: str, longest: int = LONGEST) -> str:
    """``nvidia:unknown`` and ``A100 1g.5gb`` as a label may be written: with dashes."""
    return re.sub(r"[^A-Za-z0-9_.]+", "-", text)[:longest].strip("-_.")
