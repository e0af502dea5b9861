"""What can be said of messages and kinds by looking at their declarations is said by machine."""

from collections.abc import Iterable

from schemas.crds.manifest import Crd
from schemas.generate import asyncapi, crd, diagrams, jsonschema, subjects
from schemas.lifecycle import Lifecycle
from schemas.registry import Declaration


def files(
    declarations: tuple[Declaration, ...], lifecycles: Iterable[Lifecycle], crds: Iterable[Crd]
) -> dict[str, str]:
    """Every generated file by its path below the output folder; the same declarations give the same bytes."""
    return {
        **asyncapi.files(declarations),
        **jsonschema.files(declarations),
        **crd.files(crds),
        **subjects.files(declarations),
        **diagrams.files(lifecycles),
    }
