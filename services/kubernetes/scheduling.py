"""Whether a Pod may run on a node by its labels and taints, resources aside."""

import re
from collections.abc import Callable, Iterable, Mapping
from operator import gt, lt

from events.kube.port import Object

NodeLabels = Mapping[str, str]
_WHOLE = re.compile(r"[+-]?[0-9]{1,63}", re.ASCII)
OPERATORS: Mapping[str, Callable[[str | None, list[str]], bool]] = {
    "In": lambda found, values: found in values,
    "NotIn": lambda found, values: found not in values,
    "Exists": lambda found, _: found is not None,
    "DoesNotExist": lambda found, _: found is None,
    "Gt": lambda found, values: _compared(found, values, gt),
    "Lt": lambda found, values: _compared(found, values, lt),
}
"""Of node affinity: from a label's value (None if it is missing) and the values asked for."""


def admits(spec: Object, labels: NodeLabels, taints: Iterable[Object], name: str = "") -> bool:
    """Whether a Pod of this spec may run on a node with these labels and taints; without a name: on any such node."""
    return selects(spec, labels, name) and tolerates(spec, taints)


def selects(spec: Object, labels: NodeLabels, name: str = "") -> bool:
    """Whether a Pod's node selector and required node affinity match a node."""
    if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return required is None or any(_matches(term, labels, name) for term in required.get("nodeSelectorTerms") or ())


def tolerates(spec: Object, taints: Iterable[Object]) -> bool:
    """Whether a Pod tolerates all taints of a node."""
    hard = (taint for taint in taints if taint["effect"] != "PreferNoSchedule")
    return all(any(_tolerated(taint, one) for one in spec.get("tolerations") or ()) for taint in hard)


def _matches(term: Object, labels: NodeLabels, name: str) -> bool:
    """A term without requirements, or with an unknown operator, matches no node."""
    expressions = [(one, labels) for one in term.get("matchExpressions") or ()]
    expressions += [(one, {"metadata.name": name}) for one in term.get("matchFields") or ()]
    return bool(expressions) and all(
        OPERATORS.get(one["operator"], _never)(values.get(one["key"]), one.get("values") or [])
        for one, values in expressions
    )


def _never(_: str | None, __: list[str]) -> bool:
    return False


def _tolerated(taint: Object, toleration: Object) -> bool:
    if toleration.get("effect") not in (None, "", taint["effect"]):
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return toleration.get("key") in (None, "", taint["key"])
    return bool(toleration.get("key") == taint["key"] and toleration.get("value", "") == taint.get("value", ""))


def _compared(found: str | None, values: list[str], holds: Callable[[int, int], bool]) -> bool:
    """As in the scheduler: compares two whole numbers of 64 bits; anything else never matches."""
    if found is None or len(values) != 1 or not all(map(_is_number, (found, *values))):
        return False
    return holds(int(found), int(values[0]))


def _is_number(text: str) -> bool:
    return _WHOLE.fullmatch(text) is not None and -(2**63) <= int(text) < 2**63
