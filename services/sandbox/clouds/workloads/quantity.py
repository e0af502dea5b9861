"""Arithmetic on resource quantities, in thousandths, so that nothing is rounded."""

from collections.abc import Iterable, Mapping

from events.kube.client import Object
from services.kubernetes.resources import milli

Millis = dict[str, int]
"""By resource, in thousandths of its unit."""
ONE = 1000


def amounts(quantities: Mapping[str, str | float] | None) -> Millis:
    """Parse quantities. Raises BadQuantity."""
    return {name: milli(each) for name, each in (quantities or {}).items()}


def asked(pod: Object) -> Millis:
    """A pod's requests (else limits), and one pod slot."""
    total: Millis = {"pods": ONE}
    for container in pod["spec"].get("containers", ()):
        resources = container.get("resources") or {}
        for name, amount in (amounts(resources.get("limits")) | amounts(resources.get("requests"))).items():
            total[name] = total.get(name, 0) + amount
    return total


def less(have: Millis, taken: Iterable[Millis]) -> Millis:
    """The remaining amounts."""
    left = dict(have)
    for each in taken:
        for name, amount in each.items():
            left[name] = left.get(name, 0) - amount
    return left


def lacking(left: Millis, wanted: Millis) -> list[str]:
    """The resources that do not suffice."""
    return [name for name, amount in wanted.items() if left.get(name, 0) < amount]
