"""Reads conditions in one place, so that an unknown or outdated one is never taken for true."""

from dataclasses import dataclass

from events.kube.port import Object

CAPACITY = (
    "InsufficientInstanceCapacity",  # EC2 RunInstances error code
    "InsufficientReservedInstanceCapacity",
    "ZONE_RESOURCE_POOL_EXHAUSTED",  # Compute Engine operation error code
    "SkuNotAvailable",  # Azure Resource Manager error code
    "AllocationFailed",
    "ZonalAllocationFailed",
    "OverconstrainedAllocationRequest",
)
QUOTA = (
    "VcpuLimitExceeded",
    "InstanceLimitExceeded",
    "MaxSpotInstanceCountExceeded",
    "QUOTA_EXCEEDED",
    "QuotaExceeded",
)
DENIED = ("UnauthorizedOperation", "AuthFailure", "InvalidClientTokenId", "PERMISSION_DENIED", "AuthorizationFailed")
FAILURES = (
    *((code, "NoCapacity") for code in CAPACITY),
    *((code, "Quota") for code in QUOTA),
    *((code, "Denied") for code in DENIED),
)
"""Error codes of clouds that Cluster API passes on in messages, each with the reason it stands for."""


@dataclass(frozen=True)
class ObjectCondition:
    """One condition of an object."""

    status: str = "Unknown"
    reason: str = ""
    message: str = ""
    current: bool = False
    """It refers to the object's newest generation."""

    @property
    def true(self) -> bool:
        """Whether it is true and current: Unknown or outdated is not true."""
        return self.status == "True" and self.current


ABSENT = ObjectCondition()


def conditions(seen: Object) -> dict[str, ObjectCondition]:
    """Every condition by type; one without observedGeneration counts as of the object's own.

    Cluster API's v1beta1 has today's conditions under ``status.v1beta2``, beside its own.
    """
    generation = seen["metadata"].get("generation", 0)
    status = seen.get("status", {})
    observed = status.get("observedGeneration", 0)
    return {
        raw["type"]: ObjectCondition(
            raw.get("status", "Unknown"),
            raw.get("reason", ""),
            raw.get("message", ""),
            min(raw.get("observedGeneration", observed), observed) >= generation,
        )
        for raw in status.get("v1beta2", status).get("conditions", ())
    }


def failure_reason(message: str) -> str:
    """The reason that a cloud's error code in a message stands for; empty if there is none."""
    return next((reason for code, reason in FAILURES if code in message), "")
