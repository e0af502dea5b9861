"""The annotations of the sandbox are named once: they are all a simulated controller remembers between two runs."""

from events.kube.client import Object, Resource

SANDBOX = "sandbox.alate.dev"
SINCE = f"{SANDBOX}/since"
"""When its controller first saw an object (RFC 3339 with microseconds: creationTimestamp knows only seconds)."""
STARTED = f"{SANDBOX}/started"
"""When a machine was asked for, or a pod was started."""
LEAVING = f"{SANDBOX}/leaving"
"""When its controller first saw that a machine is to go."""
TURN = f"{SANDBOX}/turn"
"""A machine's place in the batch it was made with: machines join one after another."""
SERVING = f"{SANDBOX}/serving"
"""On a control plane whose API answers."""
PREEMPTED = f"{SANDBOX}/preempted"
"""When the cloud took a machine back."""
DARK = f"{SANDBOX}/dark"
"""Since when a machine's Node has said nothing; on a Cluster, as `PREEMPTED` there, which machines were chosen."""
BROKEN = f"{SANDBOX}/broken-gpus"
"""How many of a machine's GPUs its Node lacks."""
CLOUD = f"{SANDBOX}/cloud"
REGION = f"{SANDBOX}/region"
ZONE = f"{SANDBOX}/zone"
INSTANCE = f"{SANDBOX}/instance-type"
SPOT = f"{SANDBOX}/spot"
RUN_SECONDS = f"{SANDBOX}/run-seconds"
EXIT_CODE = f"{SANDBOX}/exit-code"
STOP_SECONDS = f"{SANDBOX}/stop-seconds"
"""How long a pod takes to end once it is asked to; what takes longer than its grace is killed."""
BILL = f"{SANDBOX}/bill"
"""Label of the ConfigMaps that are the book of machines."""

FOR_CLOUD = "alate.dev/cloud"
"""The label by which the back ends know what a class, a template or a credential is for."""
CLUSTER_NAME = "cluster.x-k8s.io/cluster-name"
CONTROL_PLANE = "cluster.x-k8s.io/control-plane"
DEPLOYMENT_NAME = "cluster.x-k8s.io/deployment-name"
SET_NAME = "cluster.x-k8s.io/set-name"
NODE_LABELS = "node.cluster.x-k8s.io"
"""Labels of this domain, or below it, are handed on from a Machine to its Node."""

MANAGER = "sandbox-clouds"
"""The field manager of everything simulated."""

CONTROLPLANES = Resource("controlplane.cluster.x-k8s.io", "v1beta2", "kubeadmcontrolplanes", "KubeadmControlPlane")
DEVCLUSTERS = Resource("infrastructure.cluster.x-k8s.io", "v1beta2", "devclusters", "DevCluster")


def place(cluster: Object) -> str:
    """The name of a founded cluster's own API: a dot parts the two, as neither can hold one."""
    return f"{cluster['metadata']['namespace']}.{cluster['metadata']['name']}"
