"""Where an add-on's chart or manifests come from, with what they are verified, and objects that it refers to."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from schemas.crds.model import CrdModel, Label

ObjectName = Annotated[str, Field(min_length=1, max_length=253)]
"""The name of a Kubernetes object."""
SourceAddress = Annotated[str, Field(min_length=1, max_length=2048, pattern=r"^(https?|oci|ssh)://[^\s]+$")]
"""The address of a server."""


class SecretRef(CrdModel):
    """A Secret of the same namespace."""

    name: ObjectName
    """Its name."""
    key: ObjectName | None = None
    """The key in it; default: what the place of use says."""


class LocalRef(CrdModel):
    """A ConfigMap or Secret of the same namespace; each of its keys is a file."""

    name: ObjectName
    """Its name."""


class ChartSource(CrdModel):
    """A Helm chart of a repository."""

    repository: SourceAddress
    """The repository: https://… (with an index.yaml) or oci://…."""
    name: ObjectName
    """The chart's name."""
    version: Annotated[str, Field(min_length=1, max_length=63)] = "*"
    """Its version, or a range such as 1.x or ">=1.2 <2"; the newest that fits is taken."""


class GitSource(CrdModel):
    """A folder of a Git repository."""

    url: SourceAddress
    """The repository: https://… or ssh://…."""
    branch: ObjectName | None = None
    """A branch, which is followed."""
    tag: ObjectName | None = None
    """A tag."""
    commit: Annotated[str, Field(pattern=r"^[0-9a-f]{40,64}$")] | None = None
    """A commit's whole hash."""

    @model_validator(mode="after")
    def _one_revision(self) -> "GitSource":
        if sum(each is not None for each in (self.branch, self.tag, self.commit)) > 1:
            raise ValueError("git must have at most one of branch, tag and commit")
        return self


class OciSource(CrdModel):
    """An OCI artifact with manifests or a chart."""

    url: SourceAddress
    """The repository: oci://host/path."""
    tag: Annotated[str, Field(min_length=1, max_length=128)] | None = None
    """A tag; default: latest."""
    digest: Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")] | None = None
    """A digest."""


class FluxSource(CrdModel):
    """A source of Flux, whose newest artifact is followed."""

    kind: Literal["GitRepository", "OCIRepository", "Bucket"]
    """Its kind."""
    name: ObjectName
    """Its name."""
    namespace: Label | None = None
    """Its namespace; default: that of the Colony or the profile. Another one only in a ClusterAddonProfile."""


KINDS = ("chart", "url", "git", "oci", "config_map", "secret", "flux")


class SourceSpec(CrdModel):
    """Where an add-on comes from: one of chart, url, git, oci, configMap, secret and flux."""

    chart: ChartSource | None = None
    """A Helm chart of a repository."""
    url: SourceAddress | None = None
    """A YAML file, or an archive (.tgz)."""
    git: GitSource | None = None
    """A Git repository."""
    oci: OciSource | None = None
    """An OCI artifact."""
    config_map: LocalRef | None = None
    """A ConfigMap."""
    secret: LocalRef | None = None
    """A Secret."""
    flux: FluxSource | None = None
    """A source of Flux."""
    path: Annotated[str, Field(max_length=1024)] = ""
    """A file or folder inside; default: all of it."""
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    """The checksum of what is downloaded."""
    cosign_key: SecretRef | None = None
    """The public key that its cosign signature is verified with; default key: cosign.pub."""
    credentials: SecretRef | None = None
    """A Secret for its server with username and password, token, ca.crt, identity and known_hosts (ssh://), or
    .dockerconfigjson."""

    @model_validator(mode="after")
    def _one_kind(self) -> "SourceSpec":
        if sum(getattr(self, kind) is not None for kind in KINDS) != 1:
            raise ValueError("source must have one of chart, url, git, oci, configMap, secret and flux")
        return self


class ValuesRef(CrdModel):
    """Values in a ConfigMap or Secret."""

    kind: Literal["ConfigMap", "Secret"]
    """Its kind."""
    name: ObjectName
    """Its name, in the namespace of the Colony or the profile."""
    key: ObjectName = "values.yaml"
    """The key that holds YAML."""
    optional: bool = False
    """Go on without it if it is not there."""


class ObjectRef(CrdModel):
    """An object that templates use."""

    variable: Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[a-z][A-Za-z0-9_]*$")]
    """Its name in templates: objects.VARIABLE."""
    api_version: Annotated[str, Field(min_length=1, max_length=253)]
    """Its apiVersion."""
    kind: Annotated[str, Field(min_length=1, max_length=63)]
    """Its kind."""
    name: ObjectName
    """Its name."""
    namespace: Label | None = None
    """Its namespace; in the management cluster always that of the Colony or the profile."""
    place: Literal["Management", "Cluster"] = "Management"
    """Where it is: in the management cluster, or in the cluster that the add-on is for."""
    optional: bool = False
    """Fill templates without it if it is not there; by default they wait for it."""
