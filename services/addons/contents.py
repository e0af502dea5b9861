"""What an add-on's description comes to on one cluster: objects to write, or a chart with its values."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import msgspec

from events.errors import Denied, NotFound
from events.kube.client import Kube, Object
from events.kube.discovery import find
from schemas.crds import AddonSpec
from schemas.crds.addons import HelmSpec, KustomizeSpec, Renderer
from schemas.crds.manifests import objects
from schemas.crds.sources import ObjectRef
from schemas.documents import InvalidYaml, documents
from services.addons.descriptions import Description
from services.addons.objects.faults import AGAIN, MissingPrerequisite
from services.addons.plan.target import KnownCluster
from services.addons.render.options import RenderOptions
from services.addons.render.renderers import Renderers, renderer_of
from services.addons.source_inputs import SourceContent, SourceInputs, values_name
from services.addons.sources.artifact import Artifact
from services.addons.sources.sources import Sources
from services.expressions.evaluation import EvaluationFailure
from services.expressions.evaluators import Evaluators

Values = dict[str, Any]


@dataclass(frozen=True)
class RenderedObjects:
    """Objects to be written, in their order."""

    documents: list[Object]

    @property
    def digest(self) -> str:
        """The same for the same objects."""
        return _digest(self.documents)


@dataclass(frozen=True)
class ChartRelease:
    """A chart to be installed as a release of Helm."""

    chart: Artifact
    release: str
    namespace: str
    values: Values
    options: HelmSpec

    @property
    def digest(self) -> str:
        """The same for the same chart and values."""
        return _digest([self.chart.digest, self.release, self.namespace, self.values])


AddonContent = RenderedObjects | ChartRelease


class Contents:
    """Makes the contents of add-ons."""

    def __init__(self, management: Kube, sources: Sources | None, evaluators: Evaluators, renderers: Renderers) -> None:
        self._management = management
        self.inputs = SourceInputs(management, sources)
        self._evaluators = evaluators
        self._renderers = renderers

    async def of(self, description: Description, cluster: KnownCluster | None, kube: Kube) -> AddonContent:
        """What the description comes to. Raises MissingPrerequisite, HeldBack, TryLater, Denied for what is wrong."""
        spec, tenant = description.spec, description.namespace
        variables = await self._variables(description, cluster, kube) if spec.templated else {}
        if spec.manifests is not None:
            return RenderedObjects(_objects(spec.name, await self._filled_text(spec, tenant, variables)))
        if spec.source is None:
            raise Denied(f"add-on {spec.name} has neither manifests nor a source", "Invalid")
        found = await self.inputs.of(description, spec.source)
        artifact, values = found.artifact, await self._values(description, found, variables)
        if await renderer_of(artifact, spec.renderer) is Renderer.HELM:
            namespace = spec.namespace or "default"
            return ChartRelease(artifact, spec.release or spec.name, namespace, values, spec.helm or HelmSpec())
        rendered = await self._renderers.render(artifact, _options(spec, values), tenant)
        return RenderedObjects(await self._filled(rendered, spec, spec.name, variables, tenant))

    async def _filled_text(self, spec: AddonSpec, tenant: str, variables: Mapping[str, object]) -> str:
        written = str(spec.manifests)
        if not spec.templated:
            return written
        return str(_told(await self._evaluators.fill_text(written, f"{spec.name}.manifests", variables, tenant)))

    async def _filled(
        self,
        written: Any,  # noqa: ANN401 - values as in JSON
        spec: AddonSpec,
        where: str,
        variables: Mapping[str, object],
        tenant: str,
    ) -> Any:  # noqa: ANN401
        if not spec.templated:
            return written
        return _told(await self._evaluators.fill_value(written, where, variables, tenant))

    async def _values(self, description: Description, found: SourceContent, variables: Mapping[str, object]) -> Values:
        """All values, the later over the earlier, with their templates filled in."""
        spec, home = description.spec, description.namespace
        values: Values = {}
        for ref, text in zip(spec.values_from, found.values, strict=True):
            if text is not None:
                values = merged(values, _mapping(text, f"the key {ref.key} of {values_name(ref, home)}"))
        filled: Values = await self._filled(merged(values, spec.values), spec, f"{spec.name}.values", variables, home)
        return filled

    async def _variables(
        self, description: Description, cluster: KnownCluster | None, kube: Kube
    ) -> Mapping[str, object]:
        found = {ref.variable: await self._object(ref, description.namespace, kube) for ref in description.spec.objects}
        return cluster.facts.with_objects(found) if cluster else {"objects": found}

    async def _object(self, ref: ObjectRef, namespace: str, kube: Kube) -> Object | None:
        """An object that templates use; None if it is optional and not there."""
        there = ref.place == "Cluster"
        at, within = (kube, ref.namespace or "default") if there else (self._management, namespace)
        try:
            resource = await find(at, ref.api_version, ref.kind)
            return await at.get(resource, ref.name, within if resource.namespaced else None)
        except NotFound as missing:
            if ref.optional:
                return None
            where = "the cluster" if there else "the management cluster"
            what = f"{ref.kind} {within}/{ref.name} of {where}"
            raise MissingPrerequisite(f"its templates need {what}, which is not there", AGAIN) from missing


def merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> Values:
    """Values as Helm merges them: mappings field by field, anything else as a whole; null removes a field."""
    found = dict(under)
    for name, value in over.items():
        below = found.get(name)
        both = isinstance(below, Mapping) and isinstance(value, Mapping)
        found[name] = merged(below, value) if both else value  # type: ignore[arg-type]
    return found


def _options(spec: AddonSpec, values: Values) -> RenderOptions:
    given = spec.kustomize or KustomizeSpec()
    return RenderOptions(spec.renderer, values, tuple(given.components), tuple(given.patches))


def _objects(name: str, text: str) -> list[Object]:
    try:
        return objects(text)
    except ValueError as wrong:
        raise Denied(f"the manifests of add-on {name} {wrong}", "Invalid") from wrong


def _mapping(text: str, what: str) -> Values:
    try:
        found = [each for each in documents(text) if each is not None]
    except InvalidYaml as wrong:
        raise Denied(f"{what} must hold YAML, but {wrong}", "Invalid") from wrong
    if not found:
        return {}
    if len(found) > 1 or not isinstance(found[0], dict):
        raise Denied(f"{what} must hold one mapping of values", "Invalid")
    return msgspec.json.decode(msgspec.json.encode(found[0]), type=dict[str, Any])


def _told(value: Any) -> Any:  # noqa: ANN401 - values as in JSON
    """The value. Raises Denied if there is none."""
    if isinstance(value, EvaluationFailure):
        raise Denied(value.why, str(value.reason))
    return value


def _digest(what: object) -> str:
    return sha256(msgspec.json.encode(what, order="sorted")).hexdigest()[:16]
