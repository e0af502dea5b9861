"""Names of the annotations in which simulated controllers keep their memory."""

from events.kube.client import Object, Resource

SANDBOX = "sandbox.alate.dev"
SINCE = f"{SANDBOX}/since"
"""When its controller first saw an object (RFC 3339 with microseconds: creationTimestamp knows only seconds)."""
STARTED = f"{SANDBOX}/started"
"""When a machine was asked for, or a pod was started."""
LEAVING = f"{SANDBOX}/leaving"
"""When its controller first saw a machine's deletion."""
TURN = f"{SANDBOX}/turn"
"""A machine's index in its batch: machines join one after another."""
SERVING = f"{SANDBOX}/serving"
"""Set on a control plane whose API answers."""
PREEMPTED = f"{SANDBOX}/preempted"
"""When the cloud preempted a machine."""
DARK = f"{SANDBOX}/dark"
"""When a machine's Node went silent; on a Cluster (like `PREEMPTED`), which machines were chosen."""
BROKEN = f"{SANDBOX}/broken-gpus"
"""How many of a machine's GPUs are missing on its Node."""
CLOUD = f"{SANDBOX}/cloud"
REGION = f"{SANDBOX}/region"
ZONE = f"{SANDBOX}/zone"
INSTANCE = f"{SANDBOX}/instance-type"
SPOT = f"{SANDBOX}/spot"
RUN_SECONDS = f"{SANDBOX}/run-seconds"
EXIT_CODE = f"{SANDBOX}/exit-code"
STOP_SECONDS = f"{SANDBOX}/stop-seconds"
"""Seconds a pod takes to stop; after its grace period it is killed."""
BILL = f"{SANDBOX}/bill"
"""Label of the ConfigMaps that record machines."""

FOR_CLOUD = "alate.dev/cloud"
"""The label that tells back ends which cloud a class, a template or a credential is for."""
CLUSTER_NAME = "cluster.x-k8s.io/cluster-name"
CONTROL_PLANE = "cluster.x-k8s.io/control-plane"
DEPLOYMENT_NAME = "cluster.x-k8s.io/deployment-name"
SET_NAME = "cluster.x-k8s.io/set-name"
NODE_LABELS = "node.cluster.x-k8s.io"
"""Labels of this domain and its subdomains are copied from a Machine to its Node."""

MANAGER = "sandbox-clouds"
"""The field manager of everything simulated."""

CONTROLPLANES = Resource("controlplane.cluster.x-k8s.io", "v1beta2", "kubeadmcontrolplanes", "KubeadmControlPlane")
DEVCLUSTERS = Resource("infrastructure.cluster.x-k8s.io", "v1beta2", "devclusters", "DevCluster")


def place(cluster: Object) -> str:
    """The name of a workload cluster's API, `<namespace>.<cluster>`; neither part can contain a dot."""
    return f"{cluster['metadata']['namespace']}.{cluster['metadata']['name']}"
