"""What people have in a founded cluster: work of every kind of owner, volumes and load balancers, and the add-ons."""

import json
from collections.abc import Callable

from events.kube.client import Object, Resource
from events.kube.resources import DEPLOYMENTS, JOBS, PODS, PVCS, SERVICES
from services.sandbox.clouds.model.annotations import RUN_SECONDS
from services.sandbox.clouds.workloads.view import DAEMONSETS, REPLICASETS, STATEFULSETS
from tests.services.leaks.road import GRACE, NEVER, held

GANGS = Resource("gang.example.org", "v1", "gangs", "Gang")
"""A kind of which the services know nothing, whose controller keeps pods."""
GRACES = (0.0, 0.0, 0.0, 0.0, 30.0, 300.0, 2000.0, NEVER)
"""Seconds that something may take to go."""
LASTS = "1000000000"
"""Seconds that a Job's pod runs: longer than any history."""
NAMESPACE = "default"


def template(name: str, grace: float, *, gpus: int = 8) -> Object:
    """What its pods are made from."""
    notes = {RUN_SECONDS: LASTS} | ({GRACE: str(grace)} if grace else {})
    limits = {"resources": {"limits": {"nvidia.com/gpu": str(gpus)}}} if gpus else {}
    spec = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "demo", **limits}]}
    return {"metadata": {"labels": {"app": name}, "annotations": notes}, "spec": spec}


def _job(name: str, grace: float) -> Object:
    return {"parallelism": 2, "completions": 2, "template": template(name, grace)}


def _set(name: str, grace: float) -> Object:
    whole = template(name, grace)
    spec = whole["spec"] | {"restartPolicy": "Always"}
    selector = {"matchLabels": {"app": name}}
    return {"replicas": 2, "selector": selector, "serviceName": name, "template": whole | {"spec": spec}}


def _daemon(name: str, grace: float) -> Object:
    wanted = _set(name, grace)
    return {key: wanted[key] for key in ("selector", "template")}


def _deployment(name: str, grace: float) -> Object:
    return {key: value for key, value in _set(name, grace).items() if key != "serviceName"}


OWNERS: dict[Resource, Callable[[str, float], Object]] = {
    JOBS: _job,
    DEPLOYMENTS: _deployment,
    STATEFULSETS: _set,
    REPLICASETS: _deployment,
    DAEMONSETS: _daemon,
    GANGS: lambda name, grace: {"pods": 2, "template": template(name, grace)},
}


def work(dice: int, name: str, grace: float) -> tuple[Resource, Object]:
    """Something that holds GPUs: of one of the owners, or a pod of nobody's."""
    meta = {"name": name, "namespace": NAMESPACE}
    kinds = (*OWNERS, PODS)
    kind = kinds[dice % len(kinds)]
    if kind in OWNERS:
        return kind, {"metadata": meta, "spec": OWNERS[kind](name, grace)}
    pod = template(name, grace)
    return PODS, held(pod | {"metadata": pod["metadata"] | meta})


def balancer(name: str, grace: float) -> tuple[Resource, Object]:
    """A Service that the cloud makes a load balancer for; `grace`: seconds that it takes to go."""
    spec = {"type": "LoadBalancer", "ports": [{"port": 80}], "selector": {"app": name}}
    return SERVICES, {"metadata": _meta(name, grace), "spec": spec}


def claim(name: str, grace: float) -> tuple[Resource, Object]:
    """A claim that the cloud makes a volume for; `grace`: seconds that it takes to go."""
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return PVCS, {"metadata": _meta(name, grace), "spec": spec}


def _meta(name: str, grace: float) -> Object:
    return {"name": name, "namespace": NAMESPACE, "annotations": {GRACE: str(grace)}}


def definition(kind: Resource) -> Object:
    """One that takes any object of its kind."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": kind.version, "served": True, "storage": True, "schema": schema}
    names = {"plural": kind.plural, "singular": kind.kind.lower(), "kind": kind.kind}
    spec = {"group": kind.group, "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": f"{kind.plural}.{kind.group}"}, "spec": spec}


def pod_of(gang: Object) -> Object:
    """Another pod of a Gang."""
    meta, spec = gang["metadata"], gang["spec"]["template"]
    owner = {"apiVersion": GANGS.api_version, "kind": GANGS.kind, "name": meta["name"], "uid": meta["uid"]}
    named = {"generateName": f"{meta['name']}-", "namespace": meta["namespace"]}
    owners = {"ownerReferences": [owner | {"controller": True}]}
    return spec | {"metadata": spec["metadata"] | named | owners}


def held_up(it: Object) -> float:
    """Seconds until it goes that is asked to."""
    return float(it["metadata"].get("annotations", {}).get(GRACE, "0"))


def haunting(name: str) -> tuple[Resource, Object]:
    """A pod of nobody's that somebody makes again."""
    pod = template(name, 0.0)
    return PODS, pod | {"metadata": pod["metadata"] | {"name": name, "namespace": NAMESPACE}}


def _settings(dice: int) -> str:
    return _yaml({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": str(dice)}})


def _driver(dice: int) -> str:
    spec = template("driver", 0.0, gpus=0)
    spec["spec"]["restartPolicy"] = "Always"
    whole = {"replicas": 1, "selector": {"matchLabels": {"app": "driver"}}, "template": spec}
    meta = {"name": "driver", "namespace": "kube-system", "annotations": {"dice": str(dice)}}
    return _yaml({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": whole})


def _ingress(dice: int) -> str:
    resource, made = balancer("ingress", GRACES[dice % len(GRACES)])
    return _yaml({"apiVersion": "v1", "kind": resource.kind, **made})


def _holding(dice: int) -> str:
    """What its own finalizer holds, for some time or for ever."""
    notes, finalizers = {GRACE: str(GRACES[dice % len(GRACES)])}, [GRACE]
    meta = {"name": "held", "namespace": "kube-system", "annotations": notes, "finalizers": finalizers}
    return _yaml({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})


def _missing(dice: int) -> str:
    """Of a kind that is not there."""
    meta = {"name": "missing", "annotations": {"dice": str(dice)}}
    return _yaml({"apiVersion": "nothing.example.org/v1", "kind": "Nothing", "metadata": meta})


ADDONS: dict[str, Callable[[int], str]] = {
    "settings": _settings, "driver": _driver, "ingress": _ingress, "holding": _holding, "missing": _missing,
}  # fmt: skip
"""By name, their manifests as dice will have them."""


def _yaml(it: Object) -> str:
    """JSON is YAML."""
    return json.dumps(it)
