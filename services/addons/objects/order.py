"""The order in which an add-on's objects are written: by classes of kinds, each after those that it needs."""

from collections.abc import Iterable, Sequence

from events.kube.client import Object

CLASSES: tuple[frozenset[str], ...] = (
    frozenset({"Namespace"}),
    frozenset({"CustomResourceDefinition"}),
    frozenset({"PriorityClass", "RuntimeClass", "StorageClass", "IngressClass", "DeviceClass"}),
    frozenset({"ServiceAccount", "Role", "ClusterRole", "ResourceQuota", "LimitRange", "NetworkPolicy"}),
    frozenset({"RoleBinding", "ClusterRoleBinding"}),
    frozenset({"ConfigMap", "Secret", "PersistentVolume", "PersistentVolumeClaim"}),
    frozenset({"Service"}),
    frozenset({
        "Pod", "ReplicationController", "ReplicaSet", "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob",
        "HorizontalPodAutoscaler", "PodDisruptionBudget", "Ingress",
    }),
    frozenset({"APIService"}),
    frozenset({
        "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
    }),
)  # fmt: skip
"""All others come last: custom resources want their kinds, and the webhooks that check them."""
PLACES = {kind: place for place, kinds in enumerate(CLASSES) for kind in kinds}
BUILT_IN = frozenset({"", "apps", "batch", "autoscaling", "policy", "extensions"})
"""The groups of Kubernetes itself whose names hold no dot or do not end in .k8s.io."""


def is_built_in(document: Object) -> bool:
    """Whether an object is of a kind of Kubernetes itself, or of one of its projects."""
    group = str(document["apiVersion"]).rpartition("/")[0]
    return group in BUILT_IN or group.endswith(".k8s.io")


def place(document: Object) -> int:
    """The class of an object; a custom resource is one whatever its kind is called."""
    return PLACES.get(document["kind"], len(CLASSES)) if is_built_in(document) else len(CLASSES)


def in_order(documents: Iterable[Object]) -> list[Object]:
    """The objects in the order they are written; those of one class stay as they were."""
    return sorted(documents, key=place)


def classes(documents: Iterable[Object]) -> list[Sequence[Object]]:
    """The objects of each class that there are any of, in order."""
    found: dict[int, list[Object]] = {}
    for document in documents:
        found.setdefault(place(document), []).append(document)
    return [found[each] for each in sorted(found)]
