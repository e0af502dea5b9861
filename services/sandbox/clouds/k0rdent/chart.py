"""The Cluster API objects of a ClusterDeployment, as k0rdent's chart would render them from its config."""

from collections.abc import Callable, Iterator

from events.kube.client import Object, Resource
from events.kube.resources import CLUSTERS, MACHINEDEPLOYMENTS
from services.sandbox.clouds.model.actions import Action, Create
from services.sandbox.clouds.model.annotations import (
    CLOUD,
    CLUSTER_NAME,
    CONTROLPLANES,
    DEPLOYMENT_NAME,
    DEVCLUSTERS,
    FOR_CLOUD,
    INSTANCE,
    REGION,
    SPOT,
    ZONE,
)
from services.sandbox.clouds.model.objects import label, name, status
from services.sandbox.clouds.model.snapshot import ClusterSnapshot

RELEASE = "helm.toolkit.fluxcd.io/name"
"""The label by which k0rdent finds a release's Cluster."""
VERSION = "v1.34.0"
PROVIDER = "infrastructure-"
STANDING = "internal"
"""The provider of existing clusters."""
REMOTE = "k0sproject-k0smotron"
"""The provider of existing machines, reached over SSH."""
OFFERED = "alate.dev/instance"
"""The annotation with the offer that a cluster's machines came from."""
SPOT_FIELDS = ("spotMarketOptions", "spotVMOptions")
"""How AWS and Azure machine templates ask for spot; Google's says ``provisioningModel: Spot``."""


def workers(it: Object) -> int:
    """The number of worker machines in the config; the charts' default is 2."""
    config = _config(it)
    return len(config["machines"]) if "machines" in config else int(config.get("workersNumber", 2))


def version(view: ClusterSnapshot) -> str:
    """The Kubernetes version of the template."""
    return str(status(view.template).get("k8sVersion", VERSION)) if view.template else VERSION


def upgrades(view: ClusterSnapshot, it: Object) -> list[str]:
    """The templates that the present one can be upgraded to, as a ClusterTemplateChain would list them."""
    chart, has = _numbered(str(it["spec"].get("template", "")))
    valid = [name(each) for each in view.templates if status(each).get("valid")]
    return sorted(each for each in valid if _numbered(each)[0] == chart and _numbered(each)[1] > has)


def _numbered(template: str) -> tuple[str, list[int]]:
    """The chart's name and its version as three numbers."""
    chart, *numbers = template.rsplit("-", 3)
    return chart, [int(each) if each.isdecimal() else 0 for each in numbers]


def _config(it: Object) -> Object:
    return it["spec"].get("config") or {}


def _annotations(it: Object) -> Object:
    return _config(it).get("clusterAnnotations") or {}


def _cloud(view: ClusterSnapshot) -> str:
    providers = status(view.template).get("providers", ()) if view.template else ()
    found = next((str(one).removeprefix(PROVIDER) for one in providers if str(one).startswith(PROVIDER)), "")
    return label(view.credential, FOR_CLOUD) if found == REMOTE and view.credential else found


def takes_in(view: ClusterSnapshot) -> bool:
    """Whether the chart only registers an existing cluster (as a SveltosCluster)."""
    return view.template is not None and f"{PROVIDER}{STANDING}" in status(view.template).get("providers", ())


def _spot(worker: Object) -> bool:
    return any(worker.get(field) is not None for field in SPOT_FIELDS) or worker.get("provisioningModel") == "Spot"


def chart(view: ClusterSnapshot, it: Object) -> Iterator[Action]:
    """The objects of the release that do not exist yet."""
    parts: tuple[tuple[object, Resource, Callable[[ClusterSnapshot, Object], Object]], ...] = (
        (view.cluster, CLUSTERS, _cluster),
        (view.infra, DEVCLUSTERS, _infra),
        (view.control, CONTROLPLANES, _control),
        (view.pools, MACHINEDEPLOYMENTS, _pool),
    )
    for there, resource, render in parts:
        if not there:
            yield Create(resource, render(view, it))


def _meta(it: Object, called: str, **more: Object) -> Object:
    labels = _config(it).get("clusterLabels") or {}
    ours = {key: value for key, value in it["metadata"].get("labels", {}).items() if key.startswith("alate.dev/")}
    meta = {"name": called, "namespace": it["metadata"]["namespace"], "labels": {RELEASE: name(it)} | ours | labels}
    return {"metadata": meta | more}


def _cluster(view: ClusterSnapshot, it: Object) -> Object:
    config = _config(it)
    region = config.get("region") or config.get("location") or ""
    notes = {CLOUD: _cloud(view), REGION: region} | _annotations(it)
    spec = {
        "controlPlaneRef": {"apiGroup": CONTROLPLANES.group, "kind": CONTROLPLANES.kind, "name": name(it)},
        "infrastructureRef": {"apiGroup": DEVCLUSTERS.group, "kind": DEVCLUSTERS.kind, "name": name(it)},
        "clusterNetwork": _network(view, config),
    }
    return _meta(it, name(it), annotations=notes) | {"spec": spec}


def _network(view: ClusterSnapshot, config: Object) -> Object:
    """The network of the config, or else of the template."""
    values: Object = status(view.template).get("config", {}) if view.template else {}
    conditions: Object = config.get("clusterNetwork") or values.get("clusterNetwork", {})
    return conditions


def _infra(view: ClusterSnapshot, it: Object) -> Object:
    del view
    return _meta(it, name(it)) | {"spec": {"backend": {"inMemory": {}}}}


def _control(view: ClusterSnapshot, it: Object) -> Object:
    spec = {
        "replicas": int(_config(it).get("controlPlaneNumber", 1)),
        "version": version(view),
        "machineTemplate": {"spec": {"infrastructureRef": _machines(f"{name(it)}-control-plane")}},
    }
    return _meta(it, name(it)) | {"spec": spec}


def _machines(template: str) -> Object:
    """The reference to a machine's infrastructure, which the simulated clouds do not read."""
    return {"apiGroup": DEVCLUSTERS.group, "kind": "DevMachineTemplate", "name": template}


def _pool(view: ClusterSnapshot, it: Object) -> Object:
    called = f"{name(it)}-md"
    worker = _config(it).get("worker") or {}
    notes = {
        INSTANCE: str(worker.get("instanceType") or worker.get("vmSize") or _annotations(it).get(OFFERED) or ""),
        SPOT: str(_spot(worker)).lower(),
        ZONE: str(worker.get("zone") or worker.get("availabilityZone") or ""),
    }
    labels = {CLUSTER_NAME: name(it), DEPLOYMENT_NAME: called}
    machine = {
        "clusterName": name(it),
        "version": version(view),
        "bootstrap": {"dataSecretName": f"{called}-bootstrap"},
        "infrastructureRef": _machines(called),
    }
    spec = {
        "clusterName": name(it),
        "replicas": workers(it),
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels, "annotations": notes}, "spec": machine},
    }
    return _meta(it, called) | {"spec": spec}
