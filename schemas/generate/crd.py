"""The manifests that teach an API server our kinds."""

from collections.abc import Iterable

from schemas.crds.manifest import Crd
from schemas.generate.text import as_yaml


def files(crds: Iterable[Crd]) -> dict[str, str]:
    """``crds/<plural>.<group>.yaml``."""
    return {f"crds/{crd.name}.yaml": as_yaml(crd.manifest()) for crd in crds}
