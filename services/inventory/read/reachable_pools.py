"""Which pools a pod could use is asked of their nodes: each speaks for those its pool may yet get."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from events.kube.port import Object
from services.inventory.read.device_labels import Told
from services.inventory.read.own_labels import MODEL, label
from services.kubernetes.resources import SHARE, Amounts, is_accelerator
from services.kubernetes.scheduling import admits

OWN = "kubernetes.io/hostname"
"""The label that tells a node from all others of its pool."""
PASSING = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "node.cluster.x-k8s.io/")
"""Begin the keys of taints that say how a node is just now; no node keeps them."""


class Wants(NamedTuple):
    """What a pod without a node asks of one; pods that are alike in it are one to us."""

    spec: str = ""
    """Of its spec what keeps it from nodes, in JSON; empty: it has one, or wants no accelerator."""
    pieces: tuple[tuple[str, int], ...] = ()
    """Accelerators by resource, in thousandths."""


NOTHING = Wants()


class Kind(NamedTuple):
    """What of a node other nodes of its pool have, too."""

    pool: str = ""
    """Empty: it does not say."""
    labels: Mapping[str, str] = {}
    taints: tuple[Object, ...] = ()
    pieces: Mapping[str, int] = {}
    """Accelerators by resource, in thousandths, broken ones too; none while they are not told of."""


def wants(pod: Object, amounts: Amounts) -> Wants:
    """Read off a pod, of which `amounts` is what it asks for."""
    pieces = tuple(sorted((name, amount) for name, amount in amounts.items() if amount and is_accelerator(name)))
    spec = pod["spec"]
    if not pieces or spec.get("nodeName"):
        return NOTHING
    held: dict[str, Any] = {field: spec.get(field) for field in ("nodeSelector", "affinity", "tolerations")}
    return Wants(msgspec.json.encode(held, order="deterministic").decode(), pieces)


def kind(node: Object, pool: str, told: Told, pieces: Mapping[str, int]) -> Kind:
    """Read off a node; `pieces` are whole, those of shared ones in thousandths."""
    models = {label(device.model) for device in told.devices}
    ours = dict(zip((MODEL,), models, strict=True)) if len(models) == 1 else {}
    labels = {name: value for name, value in (node["metadata"].get("labels") or {}).items() if name != OWN}
    taints = (node.get("spec") or {}).get("taints") or ()
    lasting = tuple(taint for taint in taints if not taint["key"].startswith(PASSING))
    whole = {name: (1_000_000 if name == SHARE else 1000) * number for name, number in pieces.items() if number}
    return Kind(pool, ours | labels, lasting, whole)


def reached(asked: Wants, nodes: Iterable[Kind]) -> tuple[str, ...]:
    """The pools with a node that the pod could use if it were free, by name."""
    spec, found = msgspec.json.decode(asked.spec), set[str]()
    for node in nodes:
        if node.pool not in found and _offers(node, asked) and admits(spec, node.labels, node.taints):
            found.add(node.pool)
    return tuple(sorted(found))


def _offers(node: Kind, asked: Wants) -> bool:
    """A node that tells of no accelerators yet may have any."""
    return not node.pieces or all(node.pieces.get(name, 0) >= amount for name, amount in asked.pieces)
