"""Status fields that every controller of machines has: scaling, selector, generation."""

from collections.abc import Iterator, Sequence

from events.kube.client import Object
from events.kube.resources import MACHINEDEPLOYMENTS
from services.sandbox.clouds.model.actions import Action, PatchObject
from services.sandbox.clouds.model.conditions import SandboxCondition
from services.sandbox.clouds.model.objects import annotation

BOUNDS = tuple(f"cluster.x-k8s.io/cluster-api-autoscaler-node-group-{bound}-size" for bound in ("min", "max"))


def motion(have: int, wanted: int) -> list[SandboxCondition]:
    down, up = f"Scaling down from {have} to {wanted} replicas", f"Scaling up from {have} to {wanted} replicas"
    return [
        SandboxCondition("ScalingDown", "True", "ScalingDown", down)
        if have > wanted
        else SandboxCondition("ScalingDown", "False", "NotScalingDown"),
        SandboxCondition("ScalingUp", "True", "ScalingUp", up)
        if have < wanted
        else SandboxCondition("ScalingUp", "False", "NotScalingUp"),
    ]


def defaulted(it: Object) -> Iterator[Action]:
    """The default number of replicas: an autoscaler's minimum, as Cluster API's webhook sets it."""
    least, most = (annotation(it, bound) for bound in BOUNDS)
    if "replicas" not in it["spec"] and least and most:
        yield PatchObject(MACHINEDEPLOYMENTS, it, {"spec": {"replicas": int(least)}})


def rolling(version: str, behind: Sequence[Object]) -> SandboxCondition:
    """The rollout condition for machines that are replaced by others of this version."""
    if not behind:
        return SandboxCondition("RollingOut", "False", "NotRollingOut")
    has = ", ".join(sorted({each["spec"].get("version", "") for each in behind}))
    message = f"Rolling out {len(behind)} not up-to-date replicas\n* Version {has}, {version} required"
    return SandboxCondition("RollingOut", "True", "RollingOut", message)


def generation(it: Object) -> int:
    return int(it["metadata"].get("generation", 1))


def selector(it: Object) -> str:
    matching = it["spec"].get("selector", {}).get("matchLabels", {})
    return ",".join(f"{key}={value}" for key, value in sorted(matching.items()))
