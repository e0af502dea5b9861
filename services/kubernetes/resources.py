"""What a pod holds of a node, as a pure reading of its spec and status."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from events.kube.port import Object

_FORM = re.compile(
    r"([+-]?)(?:([0-9]{1,40})(?:\.([0-9]{0,40}))?|\.([0-9]{1,40}))(?:([eE][+-]?[0-9]{1,2})|([KMGTPE]i|[numkMGTPE]))?"
)
_BINARY: dict[str, int] = {f"{letter}i": 2 ** (10 * power) for power, letter in enumerate("KMGTPE", start=1)}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
"""Powers of ten."""

TERMINAL = ("Succeeded", "Failed")
SHARE = "alate.dev/gpu-milli"
"""Thousandths of a GPU as an extended resource, for clusters that share GPUs by fractions: a node of eight offers
8000, a pod that may use 46 % of one asks for 460."""
WHOLE = ("nvidia.com/gpu", "amd.com/gpu", "nvidia.com/gpu.shared")
PARTS = "nvidia.com/mig-"
"""Begins the name of a MIG profile's resource; each instance of it is held by itself, and counts as one."""
POD_LEVEL = ("cpu", "memory")
"""What a pod may ask for as a whole, huge pages aside (KEP-2837)."""
Amounts = dict[str, int]
"""By resource, in thousandths of its unit."""


def is_accelerator(resource: str) -> bool:
    """Whether a resource's name is that of an accelerator, or a part of one."""
    return resource in WHOLE or resource == SHARE or resource.startswith(PARTS)


def accelerators(amounts: Mapping[str, int]) -> int:
    """Thousandths of accelerators: a node offers each of its devices under one name only."""
    found = 0
    for resource, amount in amounts.items():
        if is_accelerator(resource):
            found += amount // 1000 if resource == SHARE else amount
    return found


def held(pod: Object) -> int:
    """Accelerators the pod is entitled to while it runs; a part of one counts as one. Raises BadQuantity."""
    return -(-accelerators(requests(pod)) // 1000)


def finished(pod: Object) -> bool:
    """Whether it has let go of what it held."""
    return pod.get("status", {}).get("phase") in TERMINAL


def bound(pod: Object) -> bool:
    """Whether it has a node."""
    return bool(pod["spec"].get("nodeName"))


def requests(pod: Object) -> Amounts:
    """What the pod is entitled to, in thousandths, as the scheduler counts it. Raises BadQuantity.

    The larger of what runs (containers and sidecars) and the init peak (each init container beside the sidecars
    started before it); what the pod asks for as a whole comes instead; its overhead comes on top.
    """
    spec, status = pod["spec"], pod.get("status") or {}
    infeasible = _infeasible(status)
    shown = {each["name"]: each for each in _listed(status, "containerStatuses", "initContainerStatuses")}
    total = _sum(_asked(each, shown.get(each["name"]), infeasible) for each in spec.get("containers") or ())
    if spec.get("initContainers"):
        total = _with_init(
            total, [(_sidecar(c), _asked(c, shown.get(c["name"]), infeasible)) for c in spec["initContainers"]]
        )
    whole = _asked(spec, status, infeasible) if spec.get("resources") else {}
    total |= {name: amount for name, amount in whole.items() if name in POD_LEVEL or name.startswith("hugepages-")}
    return _sum((total, _amounts(spec.get("overhead")))) if spec.get("overhead") else total


def _sidecar(container: Object) -> bool:
    """It stays beside the containers, as Kubernetes has it since 1.28."""
    return bool(container.get("restartPolicy") == "Always")


def _with_init(running: Amounts, init: list[tuple[bool, Amounts]]) -> Amounts:
    """`init`: whether each is a sidecar, and what it asks for, in their order."""
    beside: Amounts = {}
    peak: Amounts = {}
    for sidecar, asked in init:
        together = _sum((beside, asked))
        peak = _larger(peak, together)
        beside = together if sidecar else beside
    return _larger(_sum((running, beside)), peak)


def _asked(wanted: Object, shown: Object | None, infeasible: bool) -> Amounts:  # noqa: FBT001 - one fact of the pod
    """What a container (or the pod as a whole) holds: while it is resized, the larger of what it has and wants.

    A resize that the node can never follow is as good as not asked for (KEP-1287).
    """
    resources = wanted.get("resources") or {}
    # A request left out is the limit: the API server says so itself, unless the object never went through it.
    asked = _amounts((resources.get("limits") or {}) | (resources.get("requests") or {}))
    if not shown or not ("allocatedResources" in shown or "resources" in shown):
        return asked
    actual = _amounts((shown.get("resources") or {}).get("requests"))
    has = _larger(actual, _amounts(shown.get("allocatedResources")))
    return asked | has if infeasible else _larger(asked, has)


def _infeasible(status: Object) -> bool:
    return any(
        one.get("type") == "PodResizePending" and one.get("reason") == "Infeasible"
        for one in status.get("conditions") or ()
    )


def _listed(status: Object, *fields: str) -> Iterable[Object]:
    return (each for field in fields for each in status.get(field) or ())


def _amounts(quantities: Mapping[str, str] | None) -> Amounts:
    return {name: milli(quantity) for name, quantity in (quantities or {}).items()}


def _sum(many: Iterable[Amounts]) -> Amounts:
    total: Amounts = {}
    for amounts in many:
        for name, amount in amounts.items():
            total[name] = total.get(name, 0) + amount
    return total


def _larger(one: Amounts, other: Amounts) -> Amounts:
    return one | {name: max(amount, one.get(name, 0)) for name, amount in other.items()}


class BadQuantity(ValueError):
    """What was written is no quantity; the message says what would be."""


@lru_cache(maxsize=8192)
def milli(quantity: str | float) -> int:
    """A quantity in thousandths: ``100m`` is 100, ``1Gi`` is 1073741824000, ``0.5`` and ``5e-1`` are 500.

    What is finer than a thousandth is rounded away from zero, as Kubernetes does. Raises BadQuantity.
    """
    found = _FORM.fullmatch(str(quantity))
    if found is None:
        raise BadQuantity(f"{str(quantity)[:80]!r} is no quantity: expected a number such as 500m, 2 or 1.5Gi")
    sign, whole, fraction, bare, exponent, unit = found.groups()
    decimals = fraction or bare or ""
    scaled = int((whole or "0") + decimals) * _BINARY.get(unit or "", 1)
    power = 3 - len(decimals) + (int(exponent[1:]) if exponent else _DECIMAL.get(unit or "", 0))
    scale = int("1" + "0" * abs(power))
    size = scaled * scale if power >= 0 else -(-scaled // scale)
    return -size if sign == "-" else size


def written(thousandths: int) -> str:
    """The shortest exact decimal of a number of thousandths: 1500 is ``1500m``, 2000 is ``2``."""
    return f"{thousandths}m" if thousandths % 1000 else str(thousandths // 1000)
