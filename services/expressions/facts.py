"""What is known of a cluster, as selectors, templates and classifiers see it: see the table in `templates`."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property

from services.expressions.evaluation import KnownVariables, PlainValue

_VERSION = re.compile(r"v?(\d+)[.](\d+)(?:[.](\d+))?")


@dataclass(frozen=True)
class AcceleratorFact:
    """Accelerators of one model."""

    model: str
    count: int


@dataclass(frozen=True)
class ClusterFacts:
    """One cluster; what is not known is empty."""

    name: str
    """<Colony>-<cluster>."""
    namespace: str
    colony: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    version: str = ""
    """Of Kubernetes, such as v1.33.2."""
    cloud: str = ""
    region: str = ""
    offer: str = ""
    accelerators: tuple[AcceleratorFact, ...] = ()
    nodes: int = 0
    endpoint: str = ""

    @cached_property
    def variables(self) -> dict[str, PlainValue]:
        """The variable `cluster`."""
        cluster = {
            "name": self.name,
            "namespace": self.namespace,
            "colony": self.colony,
            "labels": dict(self.labels),
            "annotations": dict(self.annotations),
            "version": version_parts(self.version),
            "cloud": self.cloud,
            "region": self.region,
            "offer": self.offer,
            "accelerators": [asdict(each) for each in self.accelerators],
            "nodes": self.nodes,
            "endpoint": self.endpoint,
        }
        return {"cluster": cluster}

    @cached_property
    def known(self) -> KnownVariables:
        """The variables, converted once for all selectors."""
        return KnownVariables(self.variables)

    def with_objects(self, objects: Mapping[str, PlainValue]) -> dict[str, PlainValue]:
        """The variables `cluster` and `objects`, the latter by the names that a profile gives them."""
        return {**self.variables, "objects": dict(objects)}


def version_parts(version: str) -> dict[str, PlainValue]:
    """A version as numbers, which compare as people expect; 0 for what it does not say."""
    found = _VERSION.match(version)
    major, minor, patch = (int(each or 0) for each in found.groups()) if found else (0, 0, 0)
    return {"major": major, "minor": minor, "patch": patch, "text": version.removeprefix("v")}
