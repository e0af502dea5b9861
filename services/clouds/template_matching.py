"""Chooses among a namespace's k0rdent templates and credentials those that fit together."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from events.errors import Denied
from events.kube.port import Object
from schemas.documents import InvalidYaml, document
from services.clouds.template_values import CHARTS, Config, named_version
from services.kubernetes.labels import GROUP
from services.kubernetes.version_skew import plain, same_minor

CONFIG = f"{GROUP}/config"
"""The annotation of a Credential with the values its clusters need in YAML: a project, a subscription."""
LARGEST = 256 << 10
"""Characters of it: the limit for all annotations of an object."""
MACHINES = "machines"
"""The key that lists own machines, in the annotation and in a template."""
IDENTITIES = {
    "AWSClusterStaticIdentity": "aws",
    "AWSClusterRoleIdentity": "aws",
    "AzureClusterIdentity": "azure",
}
"""The cloud of a Credential by the kind of its identity; others name it by the label ``alate.dev/cloud``."""
OWN_MACHINES = "machines of one's own"
POOL = "pool"
"""The key that names the catalog entry under which a machine or a lent cluster is offered; k0rdent never sees it."""
LENT_CLUSTERS = "clusters that are lent"
EXISTING_RESOURCES = {MACHINES: OWN_MACHINES, POOL: LENT_CLUSTERS}
"""What exists already, by the key of a Credential's annotation."""
ADOPTING_PROVIDER = "infrastructure-internal"
"""The provider of k0rdent's template for existing clusters."""


class TemplateChoice(NamedTuple):
    """A template and a credential for one cloud."""

    template: Object
    credential: Object

    @property
    def values(self) -> Config:
        """The values of the template's chart, which are all it accepts; empty if it does not list them."""
        return _values(self.template)

    @property
    def own(self) -> bool:
        """Whether it uses what exists already: machines reached over SSH, or a lent cluster."""
        return _kind(self.credential) in EXISTING_RESOURCES.values()

    @property
    def lent(self) -> bool:
        """Whether it is a whole cluster."""
        return _kind(self.credential) == LENT_CLUSTERS

    @property
    def needed(self) -> Config:
        """The values that the credential's clusters need beside what was bought. Raises Denied if it is no mapping."""
        try:
            found = document(_config_annotation(self.credential), LARGEST) or {}
        except InvalidYaml:
            found = None
        if isinstance(found, dict):
            return found
        called = self.credential["metadata"]["name"]
        raise Denied(f"the annotation {CONFIG} of Credential {called} must be a mapping as YAML", "BadConfiguration")


def choose_templates(
    templates: Iterable[Object], credentials: Iterable[Object], name: str, version: str
) -> dict[str, TemplateChoice]:
    """What there is for each cloud: the newest valid template, or the one of that name, and a ready credential.

    One of the very version of Kubernetes comes before newer ones; of another minor version it must have been named.
    """
    newest, ready = _newest(templates, name, version), _ready(credentials)
    kinds = {cloud: _kind(credential) for cloud, credential in ready.items()}
    return {cloud: TemplateChoice(newest[kinds[cloud]], ready[cloud]) for cloud in ready if kinds[cloud] in newest}


def what_is_missing(templates: tuple[Object, ...], credentials: tuple[Object, ...], name: str, version: str) -> str:
    """For people: what is missing, if nothing fits together, and what exists."""
    if choose_templates(templates, credentials, name, ""):
        there = sorted({_version(each) for each in _valid(templates, name)} - {""})
        return f"no ClusterTemplate with Kubernetes {version}, only with {', '.join(there)}: ask for one of these"
    newest, ready = _newest(templates, name, version=""), _ready(credentials)
    named = f" {name}" if name else ""
    return (
        f"no valid ClusterTemplate{named} with a ready Credential of the same cloud "
        f"(templates for: {_names(newest)}; credentials for: {_names(ready)})"
    )


def cloud_of(template: Object | None, credential: Object | None) -> str:
    """The cloud of a cluster with these; empty if neither names it."""
    told = next((cloud for cloud in CHARTS if template is not None and _founds(template, cloud)), "")
    return told or (_cloud(credential) if credential is not None else "")


def version_of(template: Object | None, told: Config) -> str:
    """The version of Kubernetes of a cluster with this template and config; empty if neither names it."""
    if (named := named_version(told)) or template is None:
        return named
    return _version(template) or named_version(_values(template))


def next_template(deployment: Object, templates: Iterable[Object], version: str) -> str:
    """The template of a version that a ClusterDeployment has, or may have next. Raises Denied."""
    has, able = str(deployment["spec"]["template"]), deployment.get("status", {}).get("availableUpgrades") or ()
    names = [str(each["metadata"]["name"]) for each in templates if _makes(each, version)]
    fit = [has] if has in names else sorted((name for name in names if name in able), key=_natural)
    if not fit:
        raise Denied(
            f"no valid ClusterTemplate with Kubernetes {version} may follow {has} (k0rdent says: "
            f"{', '.join(sorted(able)) or 'none may'}): name one in a ClusterTemplateChain, or add another cluster"
        )
    return fit[-1]


def _valid(templates: Iterable[Object], name: str) -> list[Object]:
    return [each for each in templates if each.get("status", {}).get("valid") and _wanted(each, name)]


def _makes(template: Object, version: str) -> bool:
    return bool(template.get("status", {}).get("valid") and _version(template) == version)


def _version(template: Object) -> str:
    """The version of Kubernetes, as a Colony writes it; empty if the template leaves it open."""
    return plain(str(template.get("status", {}).get("k8sVersion") or ""))


def _suits(template: Object, version: str) -> bool:
    told = _version(template)
    return not (told and version) or same_minor(told, version)


def _newest(templates: Iterable[Object], name: str, version: str) -> dict[str, Object]:
    """The newest template by cloud or kind; a template that was named need not have the `version`. Empty: any."""
    valid = [each for each in _valid(templates, name) if name or _suits(each, version)]
    newest = sorted(valid, key=lambda one: (_makes(one, version), _natural(one["metadata"]["name"])))
    return {
        kind: template
        for template in newest
        for kind in (*CHARTS, *EXISTING_RESOURCES.values())
        if _founds(template, kind)
    }


def _ready(credentials: Iterable[Object]) -> dict[str, Object]:
    ready = [each for each in credentials if each.get("status", {}).get("ready")]
    return {_cloud(each): each for each in ready if _kind(each)}


def _values(template: Object) -> Config:
    values: Config = template.get("status", {}).get("config") or {}
    return values


def _wanted(template: Object, name: str) -> bool:
    """The template that was named; else one for existing resources, or with a control plane on machines of its own."""
    called = template["metadata"]["name"]
    if name:
        return bool(called == name)
    return "-standalone-cp-" in called or any(_founds(template, kind) for kind in EXISTING_RESOURCES.values())


def _founds(template: Object, kind: str) -> bool:
    if kind == OWN_MACHINES:
        return MACHINES in _values(template)
    provider = ADOPTING_PROVIDER if kind == LENT_CLUSTERS else f"infrastructure-{kind}"
    return provider in template.get("status", {}).get("providers", ())


def _kind(credential: Object) -> str:
    """The cloud of a credential, or the kind of existing resources it is for; empty if unknown."""
    cloud = _cloud(credential)
    if not cloud or cloud in CHARTS:
        return cloud
    return next((kind for word, kind in EXISTING_RESOURCES.items() if word in _config_annotation(credential)), "")


def _config_annotation(credential: Object) -> str:
    return str(credential["metadata"].get("annotations", {}).get(CONFIG, ""))


def _cloud(credential: Object) -> str:
    told = credential["metadata"].get("labels", {}).get(f"{GROUP}/cloud", "")
    return told or IDENTITIES.get(credential["spec"].get("identityRef", {}).get("kind", ""), "")


def _natural(name: str) -> list[int | str]:
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def _names(found: dict[str, Object]) -> str:
    return ", ".join(sorted(found)) or "none"
