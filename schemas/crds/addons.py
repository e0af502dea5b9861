"""An add-on: what is applied to a cluster, where it comes from, when it is ready, and how it is kept so."""

import json
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field, ValidationInfo, field_validator, model_validator

from schemas.addon import full_name
from schemas.crds.manifests import objects
from schemas.crds.model import CrdModel, Label, ListMap, PositiveDuration
from schemas.crds.object_checks import ObjectCheckSpec
from schemas.crds.sources import ObjectName, ObjectRef, SourceSpec, ValuesRef
from schemas.wish import AddonRef, digest

OBJECT = {"x-kubernetes-preserve-unknown-fields": True}
ATOMIC = {"x-kubernetes-list-type": "atomic"}

CelRuleText = Annotated[str, Field(min_length=1, max_length=2048)]
"""CEL over ``objects``, the add-on's objects as they are in the cluster; it must give true."""
JsonPointer = Annotated[str, Field(min_length=1, max_length=512, pattern=r"^(/[^/]*)+$")]
"""A field, such as /spec/replicas."""


class Renderer(StrEnum):
    """What makes Kubernetes objects of a source."""

    HELM = "Helm"
    KUSTOMIZE = "Kustomize"
    YAML = "Yaml"
    JSONNET = "Jsonnet"
    YTT = "Ytt"


class Mode(StrEnum):
    """How an add-on follows its description after it was applied."""

    ONCE = "Once"
    CONTINUOUS = "Continuous"
    CORRECT = "Correct"
    WARN = "Warn"
    DRY_RUN = "DryRun"


class DependencySpec(CrdModel):
    """An add-on that must be there first."""

    name: Label
    """The add-on's name, of the same Colony or profile unless `profile` says otherwise."""
    profile: Annotated[str, Field(min_length=1, max_length=63)] | None = None
    """The AddonProfile that it belongs to; a ClusterAddonProfile is written all/NAME."""
    ready: CelRuleText | None = None
    """CEL over `objects`, those of the dependency: more than that it is applied and healthy."""


class HelmSpec(CrdModel):
    """How a chart is installed."""

    timeout: PositiveDuration | None = None
    """How long hooks may take; default: 5m."""
    roll_back: bool = False
    """Go back to the last release that worked when an upgrade fails."""
    max_history: Annotated[int, Field(ge=1, le=100)] = 2
    """How many revisions of the release are kept."""
    skip_crds: bool = False
    """Leave out the chart's folder of CRDs."""
    skip_hooks: bool = False
    """Run no hooks."""


class KustomizePatch(CrdModel):
    """A patch of Kustomize."""

    patch: Annotated[str, Field(min_length=1, max_length=65536)]
    """A strategic merge patch or a JSON patch, as YAML."""
    target: Annotated[dict[str, str], Field(max_length=8)] = Field(default_factory=dict)
    """Which objects, as Kustomize selects them: kind, name, namespace, labelSelector and so on."""


class KustomizeSpec(CrdModel):
    """What is added to a Kustomize folder."""

    components: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=253)]], Field(max_length=32, json_schema_extra=ATOMIC)
    ] = Field(default_factory=list)
    """Folders of components, relative to the source."""
    patches: Annotated[list[KustomizePatch], Field(max_length=32, json_schema_extra=ATOMIC)] = Field(
        default_factory=list
    )
    """Patches, applied in this order."""


class KindRef(CrdModel):
    """Every object of a kind."""

    api_version: ObjectName
    """Group and version, such as ray.io/v1."""
    kind: ObjectName
    """The kind, such as RayCluster."""


class IgnoreSpec(CrdModel):
    """Fields that others may change."""

    kind: ObjectName | None = None
    """Only objects of this kind; default: all."""
    name: ObjectName | None = None
    """Only objects of this name; default: all."""
    paths: Annotated[list[JsonPointer], Field(min_length=1, max_length=64, json_schema_extra=ATOMIC)]
    """The fields, as JSON pointers."""


class AddonSpec(CrdModel):
    """An add-on: Kubernetes objects that are applied to a cluster, in their order, and kept as they are described."""

    name: Label
    """Its name within the cluster or the profile."""
    templated: bool = False
    """Its manifests and values hold templates, which are filled for each cluster."""
    manifests: Annotated[str, Field(min_length=1)] | None = None
    """Kubernetes objects as YAML, one document each."""
    source: SourceSpec | None = None
    """Where its chart or its manifests come from."""
    catalog: Label | None = None
    """A recipe of alate's catalog; what else is written here goes over the recipe."""
    renderer: Annotated[Renderer, Field(strict=False)] | None = None
    """What makes objects of the source; default: by what it holds."""
    namespace: Label | None = None
    """The namespace of the release, and of objects that name none; default: default."""
    release: Annotated[str, Field(min_length=1, max_length=53)] | None = None
    """The Helm release; default: the add-on's name."""
    values: Annotated[dict[str, Any], Field(json_schema_extra=OBJECT)] = Field(default_factory=dict)
    """Values of the chart, external variables of Jsonnet, or data values of ytt."""
    values_from: Annotated[list[ValuesRef], Field(max_length=16, json_schema_extra=ATOMIC)] = Field(
        default_factory=list
    )
    """Values from ConfigMaps and Secrets, merged in this order; `values` goes over them."""
    helm: HelmSpec | None = None
    """How its chart is installed."""
    kustomize: KustomizeSpec | None = None
    """What is added to its Kustomize folder."""
    objects: Annotated[list[ObjectRef], Field(max_length=16), ListMap("variable")] = Field(default_factory=list)
    """Objects that its templates use."""
    depends_on: Annotated[list[DependencySpec], Field(max_length=32, json_schema_extra=ATOMIC)] = Field(
        default_factory=list
    )
    """Add-ons that must be applied and healthy first."""
    pre_deploy_checks: Annotated[list[ObjectCheckSpec], Field(max_length=16, json_schema_extra=ATOMIC)] = Field(
        default_factory=list
    )
    """What must hold in the cluster before anything is written; by default that an object is there."""
    ready: Annotated[list[CelRuleText], Field(max_length=16, json_schema_extra=ATOMIC)] = Field(default_factory=list)
    """Rules that must all hold, besides the health of each object, before it is ready."""
    required: bool = True
    """The cluster, and its Colony, are not ready without it; a dry run is never waited for."""
    mode: Annotated[Mode, Field(strict=False)] = Mode.CORRECT
    """Once, Continuous (follow the description), Correct (and undo changes by others), Warn (show them) or DryRun."""
    ignore: Annotated[list[IgnoreSpec], Field(max_length=32, json_schema_extra=ATOMIC)] = Field(default_factory=list)
    """Fields that others may change."""
    keep_while: Annotated[list[KindRef], Field(max_length=16, json_schema_extra=ATOMIC)] = Field(default_factory=list)
    """Kinds whose objects it looks after: it is not withdrawn from a cluster that stays while any exists."""
    recreate: bool = False
    """Delete and create an object again if a change of it is refused because a field is immutable."""
    deletion_limit: Annotated[int, Field(ge=0, le=100)] = 100
    """The most percent of its objects that a change may delete without approval."""
    timeout: PositiveDuration | None = None
    """How long it may take to become healthy before it is degraded; default: 10m."""

    @model_validator(mode="after")
    def _one_content(self) -> "AddonSpec":
        if sum(each is not None for each in (self.manifests, self.source, self.catalog)) != 1:
            raise ValueError(f"add-on {self.name} must have one of manifests, source and catalog")
        return self

    @field_validator("manifests")
    @classmethod
    def _complete(cls, manifests: str, info: ValidationInfo) -> str:
        """Refuse manifests that are incomplete; templates are read once they are filled."""
        if not info.data.get("templated"):
            objects(manifests)
        return manifests

    @property
    def digest(self) -> str:
        """The digest of its description; of inline manifests it is that of their text, as since the first release.

        Defaults do not count: an API server writes them into every object.
        """
        written = self.model_dump(
            mode="json", by_alias=True, exclude_defaults=True, exclude={"name", "required", "timeout"}
        )
        if written.keys() == {"manifests"}:
            return digest(written["manifests"])
        return digest(json.dumps(written, sort_keys=True, separators=(",", ":")))


def addon_ref(addon: AddonSpec, profile: str = "") -> AddonRef:
    """The add-on as messages name it; `profile` as in `full_name`."""
    after = tuple(full_name(each.name, profile if each.profile is None else each.profile) for each in addon.depends_on)
    limit: dict[str, Any] = {"timeout_seconds": addon.timeout.total_seconds()} if addon.timeout else {}
    required = addon.required and addon.mode is not Mode.DRY_RUN
    once = addon.mode is Mode.ONCE
    return AddonRef(full_name(addon.name, profile), addon.digest, after, required, once=once, **limit)


def order_problem(addons: Iterable[AddonSpec]) -> str:
    """Why add-ons cannot be ordered by what they depend on: a missing name, or a cycle; empty if they can."""
    after = {each.name: [one.name for one in each.depends_on if one.profile is None] for each in addons}
    for name, needed in after.items():
        if missing := next((one for one in needed if one not in after), None):
            return f"add-on {name} depends on {missing}, which is not there: known are {', '.join(sorted(after))}"
    cycle = _cycle(after)
    return f"add-ons depend on each other in a circle: {' -> '.join(cycle)}" if cycle else ""


def _cycle(after: Mapping[str, list[str]]) -> list[str]:
    """The names of one circle, the first again at its end; empty if there is none."""
    done: set[str] = set()
    for start in after:
        path: list[str] = []
        stack = [(start, iter(after[start]))] if start not in done else []
        path += [start] if stack else []
        while stack:
            name, rest = stack[-1]
            if (following := next(rest, None)) is None:
                done.add(name)
                stack.pop()
                path.pop()
            elif following in path:
                return [*path[path.index(following) :], following]
            elif following not in done:
                stack.append((following, iter(after[following])))
                path.append(following)
    return []
