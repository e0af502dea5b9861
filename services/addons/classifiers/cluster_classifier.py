"""Classifies clusters when they or the classifiers change, and publishes the labels that they get."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import NamedTuple

from events.kube.client import Kube
from schemas.classified_labels import ClassifiedLabel, ClassifiedLabels
from services.addons.classifiers.classifier_store import ClassifierStore, ClassifierVersion, KnownClassifier
from services.addons.classifiers.cluster_objects import ClusterObjects
from services.addons.observe.watched import WatchProblem
from services.addons.plan.target import ClusterName, KnownCluster
from services.clients.workload_clusters import WorkloadClusters
from services.expressions.classify import NO_LABELS, Classification, Classifier, Evaluation, classify
from services.expressions.evaluation import EvaluationFailure, FailureReason
from services.expressions.facts import ClusterFacts
from services.runtime.context import Context
from services.runtime.level_publisher import LevelPublisher
from services.runtime.workqueue import WorkQueue

PARALLEL = 8
"""Clusters that are classified at once: so many may find out that a rule costs too much."""
SOON = 0.2
"""Seconds until a change of objects is followed, as more mostly follow."""
UNSEEN = EvaluationFailure(FailureReason.UNKNOWN, "its objects were not seen yet")
NOTHING = Classification(NO_LABELS)


class ClassifierPorts(NamedTuple):
    """What classifiers need besides the management cluster."""

    workloads: WorkloadClusters
    evaluation: Evaluation


class ClusterPorts(NamedTuple):
    """How clusters are known."""

    names: Callable[[], Iterable[ClusterName]]
    own: Callable[[ClusterName], KnownCluster | None]
    """A cluster with its own labels alone."""
    changed: Callable[[ClusterName], None]
    """Called with a cluster that can be planned: its labels or what they depend on have changed."""


class _Known(NamedTuple):
    """What was found of one incarnation of a cluster."""

    uid: str
    facts: ClusterFacts | None
    """What it was found from; None: that was before a restart."""
    found: Classification


class ClusterClassifications:
    """The labels that classifiers give clusters, besides those of their own."""

    def __init__(self, context: Context, management: Kube, means: ClassifierPorts, ports: ClusterPorts) -> None:
        self.store = ClassifierStore(management, self._on_classifier)
        self.in_use = False
        """Whether there are classifiers, or labels that they gave."""
        self._clock = context.clock
        self._evaluation = means.evaluation
        self._objects = ClusterObjects(means.workloads, context.jitter, self._on_objects)
        self._ports = ports
        self._levels = LevelPublisher(context, ClassifiedLabels)
        self._known: dict[ClusterName, _Known] = {}
        self._costly: dict[tuple[str, ClassifierVersion], EvaluationFailure] = {}
        """Classifiers that are evaluated for no cluster of a namespace until they are changed, as one cost too much."""
        self._pending: set[ClusterName] = set()
        """Clusters that nobody has tried to classify since the classifiers changed."""
        self._queue: WorkQueue[ClusterName] = WorkQueue(self._classify, "classify", context.jitter, parallel=PARALLEL)
        self._listeners: list[Callable[[str], None]] = []

    def listen(self, changed: Callable[[str], None]) -> None:
        """Call `changed` with every classifier of which something new is known."""
        self._listeners.append(changed)

    @property
    def found(self) -> Mapping[ClusterName, Classification]:
        """What classifiers give each cluster."""
        return {name: known.found for name, known in self._known.items()}

    @property
    def complete(self) -> bool:
        """Whether every cluster was classified by the classifiers of now, or could not be."""
        return not self._pending

    def problems(self, known: KnownClassifier) -> Mapping[ClusterName, WatchProblem]:
        """The clusters of which a classifier cannot see the objects."""
        found = ((name, self._objects.problem(name, known.objects.values())) for name in self._known)
        return {name: problem for name, problem in found if problem is not None}

    def labelled(self, own: KnownCluster) -> KnownCluster:
        """A cluster with all its labels; its own overrule those of classifiers."""
        known = self._known.get((own.tenant, own.name))
        if known is None or known.uid != own.uid or not known.found.labels:
            return own
        given = {label: each.value for label, each in known.found.labels.items()}
        return replace(own, facts=replace(own.facts, labels={**given, **own.facts.labels}))

    def is_classified(self, name: ClusterName) -> bool:
        """Whether its labels are those of what it is now; `changed` is called once they are."""
        own, known = self._ports.own(name), self._known.get(name)
        if own is None or own.ending or not self.store:
            return True
        return known is not None and (known.uid, known.facts) == (own.uid, own.facts)

    def touch(self, name: ClusterName) -> None:
        """Something of a cluster has changed."""
        self._queue.add(name)

    async def load(self) -> None:
        """Read what was published before; every cluster and classifier must be known. Raises Unavailable."""
        await self._levels.refresh()
        for (tenant, cluster), level in self._levels.named(ClassifiedLabels):
            self._known[tenant, cluster] = _Known(level.uid, None, Classification(level.labels))
        self._add_all()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Classify what waits, and what changes."""
        try:
            async with self._queue.running():
                yield
        finally:
            self._objects.close()

    def _on_classifier(self, name: str) -> None:
        self._costly = {key: why for key, why in self._costly.items() if key[1][0] != name}
        self._add_all()
        self._announce({name})

    def _on_objects(self, name: ClusterName) -> None:
        self._queue.add_after(name, SOON)
        self._announce({each.classifier.name for each in self.store.known if each.objects})

    def _add_all(self) -> None:
        names = {*self._known, *(self._ports.names() if self.store else ())}
        self.in_use = bool(self.store or self._known)
        self._pending |= names
        for name in names:
            self._queue.add(name)

    def _announce(self, names: Iterable[str]) -> None:
        for changed in self._listeners:
            for name in names:
                changed(name)

    async def _classify(self, name: ClusterName) -> None:
        own, known = self._ports.own(name), self._known.get(name)
        objects = frozenset(one for each in self.store.known for one in each.objects.values())
        self._objects.follow(name, own, objects)
        try:
            if own is None or own.lost:
                await self._forget(name)
            elif not own.ending:
                before = known if known is not None and known.uid == own.uid else _Known(own.uid, None, NOTHING)
                await self._look(name, own, before)
        finally:
            self._pending.discard(name)
        if not self.store:
            self._known.pop(name, None)
            self.in_use = bool(self._known)

    async def _look(self, name: ClusterName, own: KnownCluster, before: _Known) -> None:
        known, labels, facts = self.store.known, before.found.labels, own.facts
        classifiers = [self._with_objects(name, each) for each in known]
        found = await classify(self._evaluation, classifiers, facts.variables, facts.labels, labels)
        await self._publish(name, own.uid, found.labels)
        self._known[name] = _Known(own.uid, facts, found)
        self._turn_off(name[0], known, found)
        if (found.labels, facts) != (labels, before.facts):
            self._ports.changed(name)
        if found != before.found:
            self._announce(_concerned(found) | _concerned(before.found))

    def _with_objects(self, name: ClusterName, known: KnownClassifier) -> Classifier:
        """As it is for one cluster."""
        objects = self._objects.find(name, known.objects)
        off = (
            known.classifier.off or self._costly.get((name[0], known.version)) or (UNSEEN if objects is None else None)
        )
        return replace(known.classifier, off=off, objects=objects or {})

    def _turn_off(self, tenant: str, classifiers: Iterable[KnownClassifier], found: Classification) -> None:
        """Those of which a rule costs too much."""
        versions = {each.classifier.name: each.version for each in classifiers}
        for each in found.failures:
            if isinstance(each.value, EvaluationFailure) and each.value.reason is FailureReason.TOO_COSTLY:
                self._costly[tenant, versions[each.classifier]] = each.value

    async def _publish(self, name: ClusterName, uid: str, labels: Mapping[str, ClassifiedLabel]) -> None:
        last = self._levels.last(ClassifiedLabels, *name)
        if not labels:
            await self._levels.forget(ClassifiedLabels, *name)
        elif last is None or (last.uid, last.labels) != (uid, labels):
            level = ClassifiedLabels(cluster=name[1], uid=uid, labels=dict(labels), as_of=self._clock())
            await self._levels.publish(level, *name)

    async def _forget(self, name: ClusterName) -> None:
        await self._levels.forget(ClassifiedLabels, *name)
        known = self._known.pop(name, None)
        self._announce(_concerned(known.found) if known else ())


def _concerned(found: Classification) -> set[str]:
    """The classifiers that something is said of."""
    labels = {each.classifier for each in found.labels.values()}
    return labels | {each.classifier for each in found.conflicts} | {each.classifier for each in found.failures}
