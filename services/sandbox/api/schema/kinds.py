"""The table of kinds that are served."""

from dataclasses import dataclass, field
from functools import cache

from events.kube.client import Object
from services.sandbox.api.schema.builtin import schema_of

VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class Scale:
    """The paths of a kind's scale subresource."""

    spec: str = ".spec.replicas"
    status: str = ".status.replicas"
    selector: str = ".spec.selector"


@dataclass(frozen=True, slots=True)
class PrinterColumn:
    """One printed column of a custom resource."""

    name: str
    type: str
    path: str
    priority: int = 0
    description: str = ""
    format: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class ServedKind:
    """One kind at one version, as it is served."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    short: tuple[str, ...] = ()
    singular: str = ""
    categories: tuple[str, ...] = ()
    status: bool = False
    """Has a status subresource."""
    generation: bool = False
    """Whether metadata.generation is counted."""
    scale: Scale | None = None
    custom: bool = False
    converted: bool = False
    """Has several versions; an object may have been written in any of them."""
    schema: Object = field(default_factory=dict)
    columns: tuple[PrinterColumn, ...] = ()
    selectable: frozenset[str] = frozenset()

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def list_kind(self) -> str:
        return f"{self.kind}List"

    @property
    def fields(self) -> frozenset[str]:
        """The fields that a field selector may use."""
        return self.selectable | {"metadata.name"} | ({"metadata.namespace"} if self.namespaced else set())


# group/version, plural, Kind, flags (n: in a namespace, s: status, g: generation, r: scale, a: category all), short
_TABLE = """
v1 namespaces Namespace s ns
v1 nodes Node s no
v1 pods Pod nsga po
v1 services Service nsa svc
v1 endpoints Endpoints n ep
v1 configmaps ConfigMap n cm
v1 secrets Secret n -
v1 serviceaccounts ServiceAccount n sa
v1 events Event n ev
v1 persistentvolumes PersistentVolume s pv
v1 persistentvolumeclaims PersistentVolumeClaim ns pvc
v1 resourcequotas ResourceQuota ns quota
v1 limitranges LimitRange n limits
apps/v1 deployments Deployment nsgra deploy
apps/v1 daemonsets DaemonSet nsga ds
apps/v1 statefulsets StatefulSet nsgra sts
apps/v1 replicasets ReplicaSet nsgra rs
apps/v1 controllerrevisions ControllerRevision n -
batch/v1 jobs Job nsga -
batch/v1 cronjobs CronJob nsga cj
rbac.authorization.k8s.io/v1 roles Role n -
rbac.authorization.k8s.io/v1 rolebindings RoleBinding n -
rbac.authorization.k8s.io/v1 clusterroles ClusterRole - -
rbac.authorization.k8s.io/v1 clusterrolebindings ClusterRoleBinding - -
storage.k8s.io/v1 storageclasses StorageClass - sc
storage.k8s.io/v1 csistoragecapacities CSIStorageCapacity n -
storage.k8s.io/v1 csidrivers CSIDriver - -
storage.k8s.io/v1 csinodes CSINode - -
storage.k8s.io/v1 volumeattachments VolumeAttachment s -
coordination.k8s.io/v1 leases Lease n -
events.k8s.io/v1 events EventsEvent n ev
apiextensions.k8s.io/v1 customresourcedefinitions CustomResourceDefinition sg crd,crds
networking.k8s.io/v1 networkpolicies NetworkPolicy ng netpol
networking.k8s.io/v1 ingresses Ingress nsg ing
networking.k8s.io/v1 ingressclasses IngressClass g -
policy/v1 poddisruptionbudgets PodDisruptionBudget nsg pdb
scheduling.k8s.io/v1 priorityclasses PriorityClass g pc
node.k8s.io/v1 runtimeclasses RuntimeClass - -
discovery.k8s.io/v1 endpointslices EndpointSlice n -
autoscaling/v2 horizontalpodautoscalers HorizontalPodAutoscaler nsa hpa
admissionregistration.k8s.io/v1 validatingwebhookconfigurations ValidatingWebhookConfiguration g -
admissionregistration.k8s.io/v1 mutatingwebhookconfigurations MutatingWebhookConfiguration g -
resource.k8s.io/v1 resourceslices ResourceSlice g -
resource.k8s.io/v1 deviceclasses DeviceClass g -
resource.k8s.io/v1 resourceclaims ResourceResourceClaim ns -
resource.k8s.io/v1 resourceclaimtemplates ResourceClaimTemplate n -
"""

# The two kinds whose Go type shares its name with another one.
_NAMES = {"EventsEvent": "Event", "ResourceResourceClaim": "ResourceClaim"}

_SELECTABLE = {
    "Pod": "spec.nodeName spec.restartPolicy spec.schedulerName spec.serviceAccountName status.phase status.podIP",
    "Event": "involvedObject.kind involvedObject.name involvedObject.namespace involvedObject.uid "
    "involvedObject.apiVersion involvedObject.resourceVersion involvedObject.fieldPath reason type source "
    "reportingComponent",
    "Secret": "type",
    "Namespace": "status.phase",
    "Node": "spec.unschedulable",
    "Job": "status.successful",
    "ReplicaSet": "status.replicas",
    "ResourceSlice": "spec.nodeName spec.driver",
}


@cache
def builtins() -> dict[tuple[str, str, str], ServedKind]:
    """Every built-in kind by (group, version, plural), shared by all clusters."""
    kinds = [_read(*line.split()) for line in _TABLE.strip().splitlines()]
    return {(k.group, k.version, k.plural): k for k in kinds}


def _read(group_version: str, plural: str, type_: str, flags: str, short: str) -> ServedKind:
    group, _, version = group_version.rpartition("/")
    kind = _NAMES.get(type_, type_)
    return ServedKind(
        group, version, plural, kind, "n" in flags,
        short=() if short == "-" else tuple(short.split(",")),
        singular=kind.lower(),
        categories=("all",) if "a" in flags else (),
        status="s" in flags,
        generation="g" in flags,
        scale=Scale() if "r" in flags else None,
        schema=schema_of(type_),
        selectable=frozenset(_SELECTABLE.get(kind, "").split()),
    )  # fmt: skip
