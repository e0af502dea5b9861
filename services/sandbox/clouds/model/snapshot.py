"""A snapshot of one cluster: everything its controllers may read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from events.kube.client import Object
from services.sandbox.clouds.model.annotations import CLOUD, CONTROL_PLANE, INSTANCE, REGION, SET_NAME, SPOT, ZONE
from services.sandbox.clouds.model.conditions import current_condition
from services.sandbox.clouds.model.faults import Faults, MachineOrder, counted, named
from services.sandbox.clouds.model.objects import annotation, deleting, label, name, replicas, status
from services.sandbox.clouds.model.pace import Pace
from services.sandbox.clouds.model.shapes import SMALL, MachineShape


@dataclass(frozen=True)
class SimulationRules:
    """The pace and the faults of all clouds."""

    pace: Pace = field(default_factory=Pace)
    faults: Faults = field(default_factory=Faults)
    shapes: Mapping[str, MachineShape] = field(default_factory=dict)
    every_step: bool = True
    """Each write of a controller is one of its own, as with the real ones; without delays, none ever is."""

    @cached_property
    def clock(self) -> Pace:
        """The pace, slowed down by the faults."""
        return self.pace.times(self.faults.slow)

    @property
    def combined(self) -> bool:
        """Steps between which no time passes are combined into one write."""
        return not self.every_step or self.clock.instant


@dataclass(frozen=True)
class ClusterSnapshot:
    """One cluster's objects in the management cluster."""

    namespace: str
    name: str
    cluster: Object | None = None
    control: Object | None = None
    infra: Object | None = None
    pools: Sequence[Object] = ()
    sets: Sequence[Object] = ()
    machines: Sequence[Object] = ()
    checks: Sequence[Object] = ()
    deployment: Object | None = None
    template: Object | None = None
    templates: Sequence[Object] = ()
    """All templates of the cluster's namespace."""
    credential: Object | None = None
    of_class: Object | None = None
    """The ClusterClass of its topology."""

    @property
    def started(self) -> bool:
        """Whether the Cluster's controller has reported; before that, others only add finalizers."""
        return current_condition(self.cluster, "Available") is not None

    @property
    def initialised(self) -> bool:
        """Whether the control plane has ever been up."""
        found = status(self.cluster).get("initialization", {}) if self.cluster else {}
        return bool(found.get("controlPlaneInitialized"))

    @property
    def control_plane_machines(self) -> list[Object]:
        """Machines of the control plane."""
        return [each for each in self.machines if CONTROL_PLANE in each["metadata"].get("labels", {})]

    @property
    def workers(self) -> list[Object]:
        """All other machines."""
        return [each for each in self.machines if CONTROL_PLANE not in each["metadata"].get("labels", {})]

    def of_set(self, owner: Object) -> list[Object]:
        """Machines of one MachineSet."""
        return [each for each in self.machines if label(each, SET_NAME) == name(owner)]

    @property
    def creating_machines(self) -> bool:
        """Whether a MachineSet is creating its batch; sums wait for the last machine."""
        return any(
            status(each).get("replicas", 0) < len(self.of_set(each)) < replicas(each)
            for each in self.sets
            if not deleting(each)
        )

    @property
    def cloud(self) -> str:
        return annotation(self.cluster, CLOUD) if self.cluster else ""

    def order(self, machine: Object) -> MachineOrder:
        """The machine that is ordered from the cloud."""
        region = annotation(self.cluster, REGION) if self.cluster else ""
        zone = annotation(machine, ZONE)
        return MachineOrder(
            self.cloud, region, zone, annotation(machine, INSTANCE), annotation(machine, SPOT) == "true"
        )

    def shape(self, machine: Object, rules: SimulationRules) -> MachineShape:
        return rules.shapes.get(annotation(machine, INSTANCE), SMALL)

    def met(self, key: str) -> list[str]:
        """The uids of the machines chosen for a fault, from the annotation that records them."""
        return annotation(self.cluster, key).split(",") if self.cluster and annotation(self.cluster, key) else []

    def meant(self, patterns: tuple[str, ...]) -> bool:
        """Whether a fault's patterns match this cluster."""
        return named(patterns, self.namespace, self.name)

    def count(self, patterns: dict[str, int]) -> int:
        """The number a fault gives for this cluster."""
        return counted(patterns, self.namespace, self.name)
