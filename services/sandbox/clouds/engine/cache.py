"""A cache of watched objects by cluster, with the answers to our own writes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import structlog

from events.kube.client import Listed, Object, Resource
from events.kube.resources import (
    CLUSTERCLASSES,
    CLUSTERDEPLOYMENTS,
    CLUSTERS,
    CLUSTERTEMPLATES,
    CONFIGMAPS,
    CREDENTIALS,
    MACHINEDEPLOYMENTS,
    MACHINEHEALTHCHECKS,
    MACHINES,
    MACHINESETS,
)
from services.kubernetes.malformed import MALFORMED, describe
from services.sandbox.clouds.model import faults
from services.sandbox.clouds.model.annotations import CONTROLPLANES, DEVCLUSTERS
from services.sandbox.clouds.model.snapshot import ClusterSnapshot

_log = structlog.get_logger()

At = tuple[str, str]
"""Namespace and name: of an object, or of a cluster."""

WATCHED: tuple[Resource, ...] = (
    CLUSTERTEMPLATES,
    CREDENTIALS,
    CLUSTERDEPLOYMENTS,
    CLUSTERCLASSES,
    CLUSTERS,
    CONTROLPLANES,
    DEVCLUSTERS,
    MACHINEDEPLOYMENTS,
    MACHINESETS,
    MACHINES,
    MACHINEHEALTHCHECKS,
)
_PARTS = (CONTROLPLANES, DEVCLUSTERS)
_REFERENCES = {CONTROLPLANES: "controlPlaneRef", DEVCLUSTERS: "infrastructureRef"}


def at(of: Object) -> At:
    return str(of["metadata"].get("namespace", "")), str(of["metadata"]["name"])


def _version(of: Object) -> int:
    return int(of["metadata"]["resourceVersion"])


def is_gone(of: Object) -> bool:
    """Whether this answers the removal of the last finalizer; a real API server shows the version before."""
    meta = of["metadata"]
    return bool(meta.get("deletionTimestamp")) and not meta.get("finalizers")


def _same(one: Object, other: Object) -> bool:
    return bool(one["metadata"]["uid"] == other["metadata"]["uid"])


@dataclass
class Cache:
    """Everything watched, and which cluster it belongs to."""

    touched: Callable[[At], None]
    """Called with each cluster that a change concerns."""
    objects: dict[Resource, dict[At, Object]] = field(default_factory=lambda: {each: {} for each in WATCHED})
    faults: Object | None = None
    _members: dict[At, dict[Resource, set[At]]] = field(default_factory=dict)
    _parents: dict[tuple[Resource, At], At] = field(default_factory=dict)
    _graves: set[str] = field(default_factory=set)

    def listed(self, resource: Resource, seen: Listed) -> None:
        """Take a complete list; objects that are not in it are deleted."""
        self._graves.clear()
        there = {at(each) for each in seen.items}
        for key in self.objects[resource].keys() - there:
            self.gone(resource, self.objects[resource][key])
        for each in seen.items:
            self.seen(resource, each)

    def seen(self, resource: Resource, of: Object) -> bool:
        """Take one object; returns whether it was news.

        An older version changes nothing. A malformed object belongs to no cluster until it is corrected.
        """
        try:
            return self._seen(resource, of)
        except MALFORMED as error:
            self.objects[resource].pop(at(of), None)
            _log.warning("sandbox.object.unreadable", kind=resource.kind, of=at(of), reason=describe(error))
            return False

    def _seen(self, resource: Resource, of: Object) -> bool:
        known = self.objects[resource].get(at(of))
        if of["metadata"]["uid"] in self._graves:
            return False
        if known and _version(known) >= _version(of) and not (is_gone(of) and _same(known, of)):
            return False
        if is_gone(of):
            self._graves.add(of["metadata"]["uid"])
            self._remove(resource, of)
            return True
        of["metadata"].pop("managedFields", None)  # half of every object, and nothing here asks for it
        self.objects[resource][at(of)] = of
        self._place(resource, of)
        return True

    def gone(self, resource: Resource, of: Object) -> None:
        """Remove a deleted object."""
        self._graves.discard(of["metadata"]["uid"])
        known = self.objects[resource].get(at(of))
        if known and known["metadata"]["uid"] == of["metadata"]["uid"]:
            self._remove(resource, known)

    def clusters(self) -> Iterator[At]:
        """Every cluster with at least one object."""
        return iter(tuple(self._members))

    def view(self, key: At) -> ClusterSnapshot:
        """The snapshot of one cluster."""
        namespace, name = key
        deployment = self.objects[CLUSTERDEPLOYMENTS].get(key)
        spec = deployment["spec"] if deployment else {}
        cluster = self.objects[CLUSTERS].get(key)
        return ClusterSnapshot(
            namespace,
            name,
            cluster=cluster,
            control=self._part(cluster, CONTROLPLANES),
            infra=self._part(cluster, DEVCLUSTERS),
            pools=self._several(key, MACHINEDEPLOYMENTS),
            sets=self._several(key, MACHINESETS),
            machines=self._several(key, MACHINES),
            checks=self._several(key, MACHINEHEALTHCHECKS),
            deployment=deployment,
            template=self.objects[CLUSTERTEMPLATES].get((namespace, spec.get("template", ""))),
            templates=[each for (there, _), each in self.objects[CLUSTERTEMPLATES].items() if there == namespace],
            of_class=self.objects[CLUSTERCLASSES].get((namespace, _class_of(cluster))),
            credential=self.objects[CREDENTIALS].get((namespace, spec.get("credential", name))),
        )

    def _part(self, cluster: Object | None, resource: Resource) -> Object | None:
        reference = _reference(cluster, resource) if cluster else None
        return self.objects[resource].get(reference) if reference else None

    def _several(self, key: At, resource: Resource) -> list[Object]:
        found = self._members.get(key, {}).get(resource, ())
        return [self.objects[resource][each] for each in sorted(found)]

    def _remove(self, resource: Resource, of: Object) -> None:
        for key in self._homes(resource, of):
            members = self._members.get(key, {})
            members.get(resource, set()).discard(at(of))
            if not any(members.values()):
                self._members.pop(key, None)
            self.touched(key)
        self.objects[resource].pop(at(of), None)

    def _place(self, resource: Resource, of: Object) -> None:
        if resource is CLUSTERS:
            _class_of(of)  # whoever looks for those of a class must be able to read all of them
            for part in _PARTS:
                if reference := _reference(of, part):
                    self._parents[part, reference] = at(of)
        for key in self._homes(resource, of):
            self._members.setdefault(key, {}).setdefault(resource, set()).add(at(of))
            self.touched(key)

    def _homes(self, resource: Resource, of: Object) -> tuple[At, ...]:
        """The clusters an object belongs to."""
        if resource in (CLUSTERTEMPLATES, CREDENTIALS):
            users = (key for key in self.objects[CLUSTERDEPLOYMENTS] if key[0] == at(of)[0])
            return (*users, at(of))  # a Credential of which nobody has made use yet is looked at by its own name
        if resource is CLUSTERCLASSES:
            clusters = self.objects[CLUSTERS].items()
            return tuple(key for key, each in clusters if (key[0], _class_of(each)) == at(of))
        if resource in (CLUSTERS, CLUSTERDEPLOYMENTS):
            return (at(of),)
        if resource in _PARTS:
            parent = self._parents.get((resource, at(of)))
            return (parent,) if parent else ()
        return ((at(of)[0], str(of["spec"]["clusterName"])),)

    def faults_config(self, of: Object | None) -> None:
        """Take the ConfigMap of faults, which may concern every cluster."""
        self.faults = of
        for key in self.clusters():
            self.touched(key)


def _reference(cluster: Object, resource: Resource) -> At | None:
    ref = cluster["spec"].get(_REFERENCES[resource], {})
    if ref.get("kind") != resource.kind:
        return None
    return at(cluster)[0], str(ref["name"])


def _class_of(cluster: Object | None) -> str:
    """The name of the ClusterClass of a Cluster's topology; empty where it has none."""
    topology = cluster["spec"].get("topology", {}) if cluster else {}
    return str(topology.get("classRef", {}).get("name") or topology.get("class", ""))


def is_faults(of: Object) -> bool:
    """Whether a ConfigMap is the one with the faults."""
    return at(of) == (faults.NAMESPACE, faults.NAME)


FAULTS = CONFIGMAPS
"""The ConfigMap with the faults."""
