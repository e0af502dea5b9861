"""Templates and credentials of the clouds, as an administrator would create them in a namespace."""

from collections.abc import Iterator
from importlib.resources import files

from events.kube.client import Object, Resource
from events.kube.resources import CLUSTERTEMPLATES, CONFIGMAPS, CREDENTIALS
from services.sandbox.clouds.model.annotations import FOR_CLOUD

VERSION, NEXT = "v1.34.0", "v1.35.0"
"""Kubernetes versions: of the templates, and of their successors."""
CAPI_CLOUDS = ("aws", "azure", "gcp", "dev")

REMOTE = "k0sproject-k0smotron"
"""The provider for k0s, control planes in pods, and machines reached over SSH."""
_WORKERS = {
    "controlPlaneNumber": 1,
    "workersNumber": 2,
    "clusterNetwork": {"pods": {"cidrBlocks": ["10.244.0.0/16"]}, "services": {"cidrBlocks": ["10.96.0.0/12"]}},
    "clusterLabels": {},
    "clusterAnnotations": {},
    "k0s": {"workerArgs": []},
}
K0RDENT: dict[str, Object] = {
    "aws-standalone-cp-1-0-43": {
        "region": "",
        "controlPlane": {"instanceType": ""},
        "worker": {"instanceType": "", "rootVolumeSize": 30, "availabilityZone": "", "spotMarketOptions": {}},
    },
    "azure-standalone-cp-1-0-45": {
        "location": "",
        "subscriptionID": "",
        "controlPlane": {"vmSize": ""},
        "worker": {"vmSize": "", "rootVolumeSize": 30, "zone": "", "spotVMOptions": {}},
    },
    "gcp-standalone-cp-1-0-43": {
        "project": "",
        "region": "",
        "controlPlane": {"instanceType": ""},
        "worker": {"instanceType": "", "rootDeviceSize": 30, "zone": "", "provisioningModel": "Standard"},
    },
    "remote-cluster-1-0-38": {"machines": [{"address": "", "port": 22}], "k0s": {}},
}
"""The templates of k0rdent 1.11 and the values their charts take. k0rdent's own charts know no spot machines and no
zones; these do, as an administrator's copy would."""
ADOPTED = "adopted-cluster-1-0-2"
"""The template for existing clusters: its chart registers them with k0rdent."""
FOLLOWING = {
    "aws-standalone-cp-1-0-43": "aws-standalone-cp-1-0-44",
    "azure-standalone-cp-1-0-45": "azure-standalone-cp-1-0-46",
    "gcp-standalone-cp-1-0-43": "gcp-standalone-cp-1-0-44",
}
"""Templates that have a successor of the same chart."""
CHART = {"interval": "10m0s", "sourceRef": {"kind": "HelmRepository", "name": "kcm-templates"}}
"""The source of k0rdent's own charts; its schema requires both fields."""
IDENTITIES = {
    "aws": ("infrastructure.cluster.x-k8s.io/v1beta2", "AWSClusterStaticIdentity"),
    "azure": ("infrastructure.cluster.x-k8s.io/v1beta1", "AzureClusterIdentity"),
    "gcp": ("v1", "Secret"),
}


def tenant(namespace: str) -> list[tuple[Resource, Object]]:
    """Everything a tenant needs to launch clusters on the simulated clouds."""
    return [
        *((CLUSTERTEMPLATES, _template(namespace, name, *each)) for name, each in _templates()),
        *((CREDENTIALS, _credential(namespace, cloud)) for cloud in IDENTITIES),
        *((CONFIGMAPS, _capi(namespace, cloud)) for cloud in CAPI_CLOUDS),
    ]


def _meta(namespace: str, name: str, cloud: str) -> Object:
    return {"name": name, "namespace": namespace, "labels": {FOR_CLOUD: cloud}}


def _templates() -> Iterator[tuple[str, tuple[Object, list[str], str]]]:
    """Templates by name: chart values, providers and Kubernetes version."""
    for name, config in K0RDENT.items():
        infrastructure = REMOTE if "machines" in config else name.partition("-")[0]
        providers = [f"infrastructure-{infrastructure}", f"bootstrap-{REMOTE}", f"control-plane-{REMOTE}"]
        yield name, (_WORKERS | config, providers, VERSION)
        if name in FOLLOWING:
            yield FOLLOWING[name], (_WORKERS | config, providers, NEXT)
    values = {"clusterLabels": {}, "clusterAnnotations": {}, "clusterIdentity": {"name": ""}}
    yield ADOPTED, (values | {"consecutiveFailureThreshold": 3}, ["infrastructure-internal"], VERSION)


def _template(namespace: str, name: str, values: Object, providers: list[str], version: str) -> Object:
    return {
        "metadata": _meta(namespace, name, name.partition("-")[0]),
        "spec": {"helm": {"chartSpec": CHART | {"chart": name.rsplit("-", 3)[0]}}, "providers": providers},
        "status": {
            "valid": True,
            "observedGeneration": 1,
            "k8sVersion": version,
            "providers": providers,
            "config": values,
        },
    }


def _credential(namespace: str, cloud: str) -> Object:
    api_version, kind = IDENTITIES[cloud]
    name = f"{cloud}-cluster-identity"
    return {
        "metadata": _meta(namespace, f"{cloud}-credential", cloud),
        "spec": {
            "description": f"simulated {cloud}",
            "identityRef": {"apiVersion": api_version, "kind": kind, "name": name, "namespace": namespace},
        },
        "status": {"ready": True},
    }


def _capi(namespace: str, cloud: str) -> Object:
    text = (files(__package__) / "cluster.yaml").read_text(encoding="utf-8")
    return {
        "metadata": _meta(namespace, f"alate-capi-{cloud}", cloud),
        "data": {"cluster.yaml": text.replace("@CLOUD@", cloud)},
    }
