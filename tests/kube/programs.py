"""What is built, from which module, as one table."""

from typing import NamedTuple


class Program(NamedTuple):
    """One program: its name in the cache folder, the folder of its module here, and its package."""

    name: str
    module: str
    package: str


PROGRAMS = (  # in the order in which they are needed first
    Program("etcd", "etcd", "go.etcd.io/etcd/server/v3"),
    Program("kube-apiserver", "kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver"),
    Program("kubectl", "kubernetes", "k8s.io/kubernetes/cmd/kubectl"),
    Program("kube-controller-manager", "kubernetes", "k8s.io/kubernetes/cmd/kube-controller-manager"),
    Program("kube-scheduler", "kubernetes", "k8s.io/kubernetes/cmd/kube-scheduler"),
    Program("kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok"),
    Program("capi-core", "capi", "sigs.k8s.io/cluster-api"),
    Program("capi-bootstrap", "capi", "sigs.k8s.io/cluster-api/bootstrap/kubeadm"),
    Program("capi-control-plane", "capi", "sigs.k8s.io/cluster-api/controlplane/kubeadm"),
    Program("capi-infrastructure", "capi", "sigs.k8s.io/cluster-api/test/infrastructure/docker"),
    Program("helm", "helm", "helm.sh/helm/v4/cmd/helm"),
    Program("kustomize", "kustomize", "sigs.k8s.io/kustomize/kustomize/v5"),
    Program("crane", "crane", "github.com/google/go-containerregistry/cmd/crane"),
)


class Copied(NamedTuple):
    """Files of a module that are needed beside the programs: where they lie there, and where they go."""

    module: str
    of: str
    """The Go module whose folder `pattern` is below."""
    pattern: str
    into: str


COPIED = (
    Copied("capi", "sigs.k8s.io/cluster-api", "config/crd/bases/*.yaml", "crds"),
    Copied("capi", "sigs.k8s.io/cluster-api", "bootstrap/kubeadm/config/crd/bases/*.yaml", "crds"),
    Copied("capi", "sigs.k8s.io/cluster-api", "controlplane/kubeadm/config/crd/bases/*.yaml", "crds"),
    Copied("capi", "sigs.k8s.io/cluster-api/test", "infrastructure/docker/config/crd/bases/*.yaml", "crds"),
    Copied("kwok", "sigs.k8s.io/kwok", "kustomize/stage/node/fast/node-*.yaml", "stages"),
    Copied("kwok", "sigs.k8s.io/kwok", "kustomize/stage/pod/fast/pod-*.yaml", "stages"),
)
