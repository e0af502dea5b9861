"""Which version of Kubernetes may follow which: only upwards, without skipping a minor version."""

OTHER_WAY = "set it back, or add another cluster to the Colony and take this one out"
"""What to do if a running cluster cannot change."""


def plain(version: str) -> str:
    """The version as a Colony writes it: ``v1.34.1`` of ``v1.34.1+k0s.0`` or ``1.34.1``; empty if there is none."""
    bare = version.partition("+")[0].partition("-")[0]
    return f"v{bare.removeprefix('v')}" if bare else ""


def same_minor(one: str, other: str) -> bool:
    """Whether two versions differ only in their patch: ``v1.34.0`` and ``1.34.3+k0s.0``."""
    return _minor(one) == _minor(other)


def upgrade_refusal(runs: str, goal: str, version: str) -> str:
    """Why a cluster that runs one version, and is getting `goal`, cannot get another; empty if it can."""
    (major, minor, _), (had, most, _) = _parts(version), _parts(runs)
    if _parts(version) < _parts(goal):
        return f"kubernetesVersion never goes down, and {goal} is there or on its way: {OTHER_WAY}"
    if (major, minor) <= (had, most + 1):
        return ""
    first = f"ask for {version} once all of it runs {goal}" if goal != runs else f"ask for a v{had}.{most + 1} first"
    return f"kubernetesVersion goes up one minor version at a time, and {runs} runs: {first}"


def _parts(version: str) -> tuple[int, int, int]:
    major, minor, patch = plain(version).removeprefix("v").split(".")
    return int(major), int(minor), int(patch)


def _minor(version: str) -> str:
    return plain(version).removeprefix("v").rpartition(".")[0]
