"""Generates files from the declarations of messages and kinds."""

from collections.abc import Iterable

from schemas.crds.manifest import Crd
from schemas.entity import Lifecycle
from schemas.generate import asyncapi, pages
from schemas.registry import Declaration


def files(
    declarations: tuple[Declaration, ...], lifecycles: Iterable[Lifecycle], crds: Iterable[Crd]
) -> dict[str, str]:
    """Every generated file by its path below the output folder; the same declarations give the same bytes."""
    return {
        **asyncapi.files(declarations),
        **pages.json_schemas(declarations),
        **pages.crd_manifests(crds),
        **pages.subject_table(declarations),
        **pages.state_diagrams(lifecycles),
    }
