"""How every controller names, owns and counts its pods."""

from collections.abc import Callable, Iterator, Mapping
from itertools import count

from events.kube.client import Object
from events.kube.resources import PODS
from services.sandbox.clouds.model.actions import Action, Create, Delete
from services.sandbox.clouds.model.objects import deleting, name, owner, suffix
from services.sandbox.clouds.workloads.view import over, running


def pod(of: Object, called: str, labels: Mapping[str, str], notes: Mapping[str, str], spec: Object) -> Object:
    """A new pod from its owner's template; `spec` overrides fields of it."""
    template = of["spec"]["template"]
    meta = template.get("metadata") or {}
    return {
        "metadata": {
            "name": called,
            "namespace": of["metadata"]["namespace"],
            "labels": {**(meta.get("labels") or {}), **labels},
            "annotations": {**(meta.get("annotations") or {}), **notes},
            "ownerReferences": [owner(of)],
        },
        "spec": template["spec"] | spec,
    }


def free_names(of: Object, taken: set[str]) -> Iterator[str]:
    """Free names, always in the same order."""
    named = (f"{name(of)}-{suffix(of['metadata']['uid'], number)}" for number in count())
    return (each for each in named if each not in taken)


def keep(own: list[Object], wanted: int, names: Iterator[str], make: Callable[[str], Object]) -> Iterator[Action]:
    """Create pods with `make`, or delete some (those that do not run first), until the number is right."""
    living = [each for each in own if not over(each) and not deleting(each)]
    yield from (Delete(PODS, each) for each in own if over(each) and not deleting(each))
    for _ in range(wanted - len(living)):
        yield Create(PODS, make(next(names)))
    spare = sorted(living, key=lambda each: (running(each), name(each)))[: max(0, len(living) - wanted)]
    yield from (Delete(PODS, each) for each in spare)
