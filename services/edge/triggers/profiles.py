"""AddonProfiles that rules deploy: those that they describe, and those around a Job."""

import msgspec

from schemas.crds import InvalidResource, read_profile
from schemas.crds.manifest import GROUP, VERSION
from services.expressions.cel import NoValue

JOB = "job"
"""The add-on of a Job's profile."""


def named_profile(name: str, content: object, cluster: str) -> tuple[dict[str, object], list[str]]:
    """The spec of a rule's profile and the clusters that it names: by default the one of the message.

    Raises NoValue, InvalidResource. It must name clusters: what else selects only takes some of them out.
    """
    if not isinstance(content, dict):
        raise NoValue("profile must be a mapping")
    if "clusters" not in content and cluster:
        content = {"clusters": {"names": [cluster]}, **content}
    names = _read(name, content)
    if not names:
        raise InvalidResource("profile.clusters.names must name a cluster")
    return content, names


def job_profile(name: str, content: object, cluster: str) -> dict[str, object]:
    """The spec of the profile that runs a Job once on a cluster. Raises NoValue, InvalidResource."""
    if not isinstance(content, dict):
        raise NoValue("job must be a mapping")
    if not cluster:
        raise NoValue("cluster must name the cluster that the Job runs in, as no message does")
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": content}
    addon = {"name": JOB, "manifests": msgspec.json.encode(job).decode(), "mode": "Once", "required": False}
    spec: dict[str, object] = {"clusters": {"names": [cluster]}, "addons": [addon]}
    _read(name, spec)
    return spec


def _read(name: str, spec: dict[str, object]) -> list[str]:
    written = {"apiVersion": f"{GROUP}/{VERSION}", "kind": "AddonProfile", "metadata": {"name": name}, "spec": spec}
    return read_profile(written).spec.clusters.names
