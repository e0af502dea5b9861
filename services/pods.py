"""What a pod holds of a node, as a pure reading of its spec and status."""

from events.kube_port import Object

RESOURCES = ("nvidia.com/gpu", "amd.com/gpu")
"""The extended resources that count as accelerators."""
TERMINAL = ("Succeeded", "Failed")


def held(pod: Object) -> int:
    """Accelerators the pod is entitled to while it runs: the larger of its init peak and its containers' sum.

    Restartable init containers (sidecars) run beside both, as Kubernetes counts them since 1.28.
    """
    spec = pod["spec"]
    init = spec.get("initContainers", ())
    sidecars = sum(_asked(c) for c in init if c.get("restartPolicy") == "Always")
    running = sum(map(_asked, spec.get("containers", ())))
    peak = max((_asked(c) for c in init if c.get("restartPolicy") != "Always"), default=0)
    return max(running, peak) + sidecars


def finished(pod: Object) -> bool:
    """Whether it has let go of what it held."""
    return pod.get("status", {}).get("phase") in TERMINAL


def bound(pod: Object) -> bool:
    """Whether it has a node."""
    return bool(pod["spec"].get("nodeName"))


def _asked(container: Object) -> int:
    resources = container.get("resources", {})
    # A request left out is the limit: extended resources cannot be overcommitted.
    asked = resources.get("limits", {}) | resources.get("requests", {})
    return sum(int(asked.get(name, 0)) for name in RESOURCES)
