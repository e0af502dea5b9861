"""The faults that can be requested of a simulated cloud, with each provider's own error messages."""

from fnmatch import fnmatchcase
from typing import NamedTuple

import msgspec

from events.kube.client import Object

NAMESPACE = "kube-system"
NAME = "sandbox-faults"
"""The ConfigMap that holds them, as YAML under the key `KEY`."""
KEY = "faults.yaml"


class MachineOrder(NamedTuple):
    """A machine that is ordered."""

    cloud: str
    region: str
    zone: str
    instance: str
    spot: bool


class FaultScope(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The orders that a fault meets; an empty field matches all."""

    cloud: str = ""
    region: str = ""
    zone: str = ""
    instance: str = ""
    spot: bool | None = None

    def meets(self, order: MachineOrder) -> bool:
        pairs = zip((self.cloud, self.region, self.zone, self.instance), order[:4], strict=True)
        return all(mine in ("", asked) for mine, asked in pairs) and self.spot in (None, order.spot)


class Faults(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The faults that are on now. Clusters are given as patterns of ``<namespace>/<name>``."""

    stockouts: tuple[FaultScope, ...] = ()
    quotas: tuple[FaultScope, ...] = ()
    denied: tuple[str, ...] = ()
    """Clouds that refuse the credential."""
    never_ready: tuple[str, ...] = ()
    """Clusters whose control plane never comes up."""
    lost_probe: tuple[str, ...] = ()
    """Clusters whose API cannot be reached by their controllers."""
    stuck: tuple[str, ...] = ()
    """Clusters whose infrastructure is never deleted."""
    preempted: dict[str, int] = {}
    """How many worker machines of a cluster the cloud preempts in all."""
    dark: dict[str, int] = {}
    """How many worker machines of a cluster go silent in all: their Nodes are no longer Ready."""
    broken_gpus: dict[str, int] = {}
    """How many GPUs are missing on the first node of a cluster."""
    slow: float = 1.0
    """A factor on every duration."""

    def refusal(self, order: MachineOrder) -> str:
        """The provider's error for an order that it cannot fill; empty if it can."""
        for conditions, places in ((_STOCKOUT, self.stockouts), (_QUOTA, self.quotas)):
            if any(place.meets(order) for place in places):
                return conditions.get(order.cloud, conditions[""])(order)
        return ""

    def denial(self, cloud: str) -> str:
        """The provider's error for a credential that it refuses; empty if it accepts it."""
        return _DENIED.get(cloud, _DENIED[""]) if cloud in self.denied else ""


def named(patterns: tuple[str, ...], namespace: str, name: str) -> bool:
    """Whether one of the patterns matches a cluster."""
    return any(fnmatchcase(f"{namespace}/{name}", pattern) for pattern in patterns)


def counted(patterns: dict[str, int], namespace: str, name: str) -> int:
    """The number given for a cluster; 0 without one."""
    return max((n for pattern, n in patterns.items() if named((pattern,), namespace, name)), default=0)


def read(config: Object | None) -> Faults:
    """The faults in a ConfigMap. Raises `msgspec.MsgspecError` with the place of a mistake."""
    text = (config or {}).get("data", {}).get(KEY, "")
    return msgspec.yaml.decode(text, type=Faults) if text.strip() else Faults()


# Codes and wording as the providers' APIs answer: EC2 RunInstances, Azure Resource Manager, Compute Engine.
_STOCKOUT = {
    "": lambda o: f"InsufficientInstanceCapacity: no {o.instance} is to be had in {o.zone or o.region}",
    "aws": lambda o: (
        f"failed to run instance: InsufficientInstanceCapacity: We currently do not have sufficient {o.instance} "
        f"capacity in the Availability Zone you requested ({o.zone or o.region})."
    ),
    "azure": lambda o: (
        f"SkuNotAvailable: The requested VM size '{o.instance}' is currently not available in location '{o.region}'."
    ),
    "gcp": lambda o: (
        f"ZONE_RESOURCE_POOL_EXHAUSTED: The zone '{o.zone or o.region}' does not have enough resources "
        f"available to fulfill the request for {o.instance}."
    ),
}
_QUOTA = {
    "": lambda o: f"QuotaExceeded: the quota for {o.instance} in {o.region} is used up",
    "aws": lambda o: (
        "failed to run instance: MaxSpotInstanceCountExceeded: Max spot instance count exceeded"
        if o.spot
        else f"failed to run instance: VcpuLimitExceeded: the vCPU limit does not allow another {o.instance}."
    ),
    "azure": lambda o: (
        f"QuotaExceeded: Operation could not be completed as it results in exceeding approved quota in "
        f"location '{o.region}' for {o.instance}."
    ),
    "gcp": lambda o: f"QUOTA_EXCEEDED: Quota for {o.instance} exceeded. Limit: 0.0 in region {o.region}.",
}
_DENIED = {
    "": "AuthFailure: the provider does not take the credential",
    "aws": "AuthFailure: AWS was not able to validate the provided access credentials",
    "azure": "AuthorizationFailed: The client does not have authorization to perform the action",
    "gcp": "PERMISSION_DENIED: Required 'compute.instances.create' permission is missing",
}
