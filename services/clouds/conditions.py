"""Conditions are read in one place, so that unknown, outdated or of another generation is never taken for true."""

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
"""What clouds write into the messages that Cluster API hands on, and what it means for the next offer."""


@dataclass(frozen=True)
class Condition:
    """One condition, as its object shows it."""

    status: str = "Unknown"
    reason: str = ""
    message: str = ""
    current: bool = False
    """It answers to the object's newest generation."""

    @property
    def true(self) -> bool:
        """True, and of now: Unknown or outdated is not true."""
        return self.status == "True" and self.current


ABSENT = Condition()


def conditions(seen: Object) -> dict[str, Condition]:
    """Every condition by type. One without observedGeneration counts as answering to the object's own.

    Cluster API's v1beta1 has today's conditions beside its own, under ``status.v1beta2``.
    """
    generation = seen["metadata"].get("generation", 0)
    status = seen.get("status", {})
    observed = status.get("observedGeneration", 0)
    return {
        raw["type"]: Condition(
            raw.get("status", "Unknown"),
            raw.get("reason", ""),
            raw.get("message", ""),
            min(raw.get("observedGeneration", observed), observed) >= generation,
        )
        for raw in status.get("v1beta2", status).get("conditions", ())
    }


def failure(message: str) -> str:
    """The reason a cloud's own error code in a message stands for; empty if there is none."""
    return next((reason for code, reason in FAILURES if code in message), "")
