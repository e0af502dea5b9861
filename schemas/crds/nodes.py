"""Labels and taints of a pool's nodes, as Kubernetes writes them."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from schemas.crds.model import QUALIFIED, VALUE, CrdModel

RESERVED = ("kubernetes.io", "k8s.io")
OWN = "node.kubernetes.io"


def _free(key: str) -> str:
    domain = key.rpartition("/")[0]
    taken = domain != OWN and any(domain == each or domain.endswith(f".{each}") for each in RESERVED)
    if taken:
        raise ValueError(f"must not be in {domain}: a node may give itself labels of {OWN} alone, or of other domains")
    return key


LabelKey = Annotated[str, Field(min_length=1, max_length=317, pattern=QUALIFIED)]
"""A qualified name, such as ``example.com/team``."""
LabelValue = Annotated[str, Field(max_length=63, pattern=VALUE)]
"""A label's value."""
PoolLabels = Annotated[dict[Annotated[LabelKey, AfterValidator(_free)], LabelValue], Field(max_length=32)]
"""Labels that a node may set on itself when it joins."""


class TaintSpec(CrdModel):
    """A taint: keeps away pods that do not tolerate it."""

    key: LabelKey
    """The taint's key, such as example.com/gpu."""
    value: LabelValue = ""
    """The taint's value, if any."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = "NoSchedule"
    """What it keeps away: new pods, new pods if possible, or running ones, too."""
