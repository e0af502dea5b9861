"""The objects of the management cluster that an add-on's description refers to."""

from collections.abc import Iterator
from typing import NamedTuple

from schemas.crds.sources import SourceSpec
from services.addons.descriptions import Description
from services.addons.sources.flux import VERSIONS


class ReferencedKind(NamedTuple):
    """A kind in one namespace: what one watch follows."""

    versions: tuple[str, ...]
    """Its apiVersions, the best first."""
    kind: str
    namespace: str


class ReferencedObject(NamedTuple):
    """One object that a description names."""

    of: ReferencedKind
    name: str


def references(description: Description) -> frozenset[ReferencedObject]:
    """What the content of the add-on is made of, besides the description itself."""
    return frozenset(_references(description))


def _references(description: Description) -> Iterator[ReferencedObject]:
    spec, home = description.spec, description.namespace
    for values in spec.values_from:
        yield ReferencedObject(ReferencedKind(("v1",), values.kind, home), values.name)
    for each in spec.objects if spec.templated else ():
        if each.place == "Management":
            yield ReferencedObject(ReferencedKind((each.api_version,), each.kind, home), each.name)
    if spec.source is not None:
        yield from _of_source(spec.source, home)


def _of_source(source: SourceSpec, home: str) -> Iterator[ReferencedObject]:
    if source.config_map is not None:
        yield ReferencedObject(ReferencedKind(("v1",), "ConfigMap", home), source.config_map.name)
    for secret in (source.secret, source.credentials, source.cosign_key):
        if secret is not None:
            yield ReferencedObject(ReferencedKind(("v1",), "Secret", home), secret.name)
    if (flux := source.flux) is not None:
        yield ReferencedObject(ReferencedKind(VERSIONS, flux.kind, flux.namespace or home), flux.name)
