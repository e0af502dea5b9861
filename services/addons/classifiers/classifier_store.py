"""The ClusterClassifiers, watched and read once per version, and why those that cannot be followed cannot."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from events.kube.client import Kube, Object
from events.kube.resources import CLUSTERCLASSIFIERS
from schemas.crds import InvalidResource, read_classifier
from services.addons.classifiers.cluster_objects import NamedObject
from services.expressions.classify import Classifier, ClassifierRule, uncompiled
from services.expressions.evaluation import EvaluationFailure, FailureReason
from services.runtime.watch_follower import follow

NO_OBJECTS: Mapping[str, NamedObject] = MappingProxyType({})


ClassifierVersion = tuple[str, str, int]
"""Its name, its incarnation, and the generation of its spec."""


class KnownClassifier(NamedTuple):
    """A classifier as it was watched and as it was read."""

    item: Object
    classifier: Classifier
    invalid: EvaluationFailure | None
    """Why one of its rules can never be evaluated as it is written; the others are."""
    objects: Mapping[str, NamedObject] = NO_OBJECTS
    """Objects of clusters that its rules speak of, by their variables."""

    @property
    def version(self) -> ClassifierVersion:
        """Of its spec."""
        meta = self.item["metadata"]
        return meta["name"], meta.get("uid", ""), self.generation

    @property
    def generation(self) -> int:
        """Of its spec."""
        return int(self.item["metadata"].get("generation", 0))


class ClassifierStore:
    """Every classifier, while `run` runs."""

    def __init__(self, kube: Kube, changed: Callable[[str], None]) -> None:
        self.listed = asyncio.Event()
        """Set once all are known."""
        self._kube = kube
        self._changed = changed
        self._known: dict[str, KnownClassifier] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._known))

    def __len__(self) -> int:
        return len(self._known)

    def get(self, name: str) -> KnownClassifier | None:
        """A classifier; None if there is none."""
        return self._known.get(name)

    @property
    def known(self) -> tuple[KnownClassifier, ...]:
        """All of them."""
        return tuple(self._known.values())

    def run(self) -> Coroutine[Any, Any, None]:
        """Watch until cancelled."""
        return follow(self._kube.watch(CLUSTERCLASSIFIERS), self)

    def on_list(self, items: Sequence[Object]) -> None:
        """These are all."""
        for gone in self._known.keys() - {item["metadata"]["name"] for item in items}:
            self._drop(gone)
        for item in items:
            self._keep(item)

    def on_change(self, item: Object, *, gone: bool) -> None:
        """One was added or changed, or is gone."""
        self._drop(item["metadata"]["name"]) if gone else self._keep(item)

    def _keep(self, item: Object) -> None:
        name = item["metadata"]["name"]
        before = self._known.get(name)
        if before is not None and before.version == before._replace(item=item).version:
            self._known[name] = before._replace(item=item)
            return
        self._known[name] = _read(item)
        self._changed(name)

    def _drop(self, name: str) -> None:
        if self._known.pop(name, None) is not None:
            self._changed(name)


def _read(item: Object) -> KnownClassifier:
    name = item["metadata"]["name"]
    try:
        spec = read_classifier({key: value for key, value in item.items() if key != "status"}).spec
    except InvalidResource as wrong:
        why = EvaluationFailure(FailureReason.INVALID, str(wrong))
        return KnownClassifier(item, Classifier(name, (), why), None)
    classifier = Classifier(name, tuple(ClassifierRule(rule.when, rule.labels) for rule in spec.rules))
    objects = {
        each.variable: NamedObject(each.api_version, each.kind, each.namespace or "", each.name)
        for each in spec.objects
    }
    return KnownClassifier(item, classifier, uncompiled(classifier), objects)
