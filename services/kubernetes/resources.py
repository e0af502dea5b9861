"""Quantities, and the resources that a Pod requests, read as the scheduler counts them."""

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
GPU_MILLI = "alate.dev/gpu-milli"
"""Thousandths of a GPU as an extended resource, for clusters that share GPUs by fractions: a node of eight offers
8000, a pod that may use 46 % of one asks for 460."""
WHOLE_GPUS = ("nvidia.com/gpu", "amd.com/gpu", "nvidia.com/gpu.shared")
MIG_PREFIX = "nvidia.com/mig-"
"""The prefix of a MIG profile's resource; each instance counts as one."""
POD_LEVEL = ("cpu", "memory")
"""What a Pod can request as a whole, beside huge pages (KEP-2837)."""
ResourceAmounts = dict[str, int]
"""By resource, in thousandths of its unit."""


def is_accelerator(resource: str) -> bool:
    """Whether a resource's name is that of an accelerator, or a part of one."""
    return resource in WHOLE_GPUS or resource == GPU_MILLI or resource.startswith(MIG_PREFIX)


def accelerators(amounts: Mapping[str, int]) -> int:
    """Thousandths of accelerators: a node offers each of its devices under one name only."""
    found = 0
    for resource, amount in amounts.items():
        if is_accelerator(resource):
            found += amount // 1000 if resource == GPU_MILLI else amount
    return found


def accelerators_of(pod: Object) -> int:
    """Accelerators that a running Pod is entitled to; a part of one counts as one. Raises InvalidQuantity."""
    return -(-accelerators(requests(pod)) // 1000)


def finished(pod: Object) -> bool:
    """Whether the Pod has ended and released its resources."""
    return pod.get("status", {}).get("phase") in TERMINAL


def bound(pod: Object) -> bool:
    """Whether it has a node."""
    return bool(pod["spec"].get("nodeName"))


def requests(pod: Object) -> ResourceAmounts:
    """What the Pod is entitled to, in thousandths, as the scheduler counts it. Raises InvalidQuantity.

    The larger of what runs (containers and sidecars) and the init peak (each init container beside the sidecars started
    before it); a request of the whole Pod replaces it; the overhead is added.
    """
    spec, status = pod["spec"], pod.get("status") or {}
    infeasible = _infeasible(status)
    shown = {each["name"]: each for each in _listed(status, "containerStatuses", "initContainerStatuses")}
    total = _sum(_requested(each, shown.get(each["name"]), infeasible) for each in spec.get("containers") or ())
    if spec.get("initContainers"):
        total = _with_init(
            total, [(_sidecar(c), _requested(c, shown.get(c["name"]), infeasible)) for c in spec["initContainers"]]
        )
    whole = _requested(spec, status, infeasible) if spec.get("resources") else {}
    total |= {name: amount for name, amount in whole.items() if name in POD_LEVEL or name.startswith("hugepages-")}
    return _sum((total, _amounts(spec.get("overhead")))) if spec.get("overhead") else total


def _sidecar(container: Object) -> bool:
    """Whether it runs beside the containers, as since Kubernetes 1.28."""
    return bool(container.get("restartPolicy") == "Always")


def _with_init(running: ResourceAmounts, init: list[tuple[bool, ResourceAmounts]]) -> ResourceAmounts:
    """`init`: whether each init container is a sidecar, and what it requests, in their order."""
    beside: ResourceAmounts = {}
    peak: ResourceAmounts = {}
    for sidecar, requested in init:
        together = _sum((beside, requested))
        peak = _larger(peak, together)
        beside = together if sidecar else beside
    return _larger(_sum((running, beside)), peak)


def _requested(wanted: Object, shown: Object | None, infeasible: bool) -> ResourceAmounts:  # noqa: FBT001 - one fact of the pod
    """What a container or the whole Pod holds: during a resize, the larger of the current and the wanted amount.

    A resize that the node can never follow does not count (KEP-1287).
    """
    resources = wanted.get("resources") or {}
    # A request left out is the limit: the API server says so itself, unless the object never went through it.
    requested = _amounts((resources.get("limits") or {}) | (resources.get("requests") or {}))
    if not shown or not ("allocatedResources" in shown or "resources" in shown):
        return requested
    actual = _amounts((shown.get("resources") or {}).get("requests"))
    has = _larger(actual, _amounts(shown.get("allocatedResources")))
    return requested | has if infeasible else _larger(requested, has)


def _infeasible(status: Object) -> bool:
    return any(
        one.get("type") == "PodResizePending" and one.get("reason") == "Infeasible"
        for one in status.get("conditions") or ()
    )


def _listed(status: Object, *fields: str) -> Iterable[Object]:
    return (each for field in fields for each in status.get(field) or ())


def _amounts(quantities: Mapping[str, str] | None) -> ResourceAmounts:
    return {name: milli(quantity) for name, quantity in (quantities or {}).items()}


def _sum(many: Iterable[ResourceAmounts]) -> ResourceAmounts:
    total: ResourceAmounts = {}
    for amounts in many:
        for name, amount in amounts.items():
            total[name] = total.get(name, 0) + amount
    return total


def _larger(one: ResourceAmounts, other: ResourceAmounts) -> ResourceAmounts:
    return one | {name: max(amount, one.get(name, 0)) for name, amount in other.items()}


class InvalidQuantity(ValueError):
    """The text is no quantity; the message says what would be one."""


@lru_cache(maxsize=8192)
def milli(quantity: str | float) -> int:
    """A quantity in thousandths: ``100m`` is 100, ``1Gi`` is 1073741824000, ``0.5`` and ``5e-1`` are 500.

    What is finer than a thousandth is rounded away from zero, as Kubernetes does. Raises BadQuantity.
    """
    found = _FORM.fullmatch(str(quantity))
    if found is None:
        raise InvalidQuantity(f"{str(quantity)[:80]!r} is no quantity: expected a number such as 500m, 2 or 1.5Gi")
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
