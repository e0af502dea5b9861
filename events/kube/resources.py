"""The Kubernetes kinds that services use, each with its one version."""

from events.kube.port import Resource

NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
PODS = Resource("", "v1", "pods", "Pod")
SECRETS = Resource("", "v1", "secrets", "Secret")
CONFIGMAPS = Resource("", "v1", "configmaps", "ConfigMap")
SERVICES = Resource("", "v1", "services", "Service")
PVCS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
EVENTS = Resource("", "v1", "events", "Event")
JOBS = Resource("batch", "v1", "jobs", "Job")
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
CONTROLLERREVISIONS = Resource("apps", "v1", "controllerrevisions", "ControllerRevision")
STORAGECLASSES = Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False)
CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False)

COLONIES = Resource("alate.dev", "v1alpha1", "colonies", "Colony")
TRIGGERS = Resource("alate.dev", "v1alpha1", "triggers", "Trigger")
ADDONPROFILES = Resource("alate.dev", "v1alpha1", "addonprofiles", "AddonProfile")
CLUSTERADDONPROFILES = Resource(
    "alate.dev", "v1alpha1", "clusteraddonprofiles", "ClusterAddonProfile", namespaced=False
)
CLUSTERCLASSIFIERS = Resource("alate.dev", "v1alpha1", "clusterclassifiers", "ClusterClassifier", namespaced=False)

CLUSTERS = Resource("cluster.x-k8s.io", "v1beta2", "clusters", "Cluster")
CLUSTERCLASSES = Resource("cluster.x-k8s.io", "v1beta2", "clusterclasses", "ClusterClass")
MACHINEDEPLOYMENTS = Resource("cluster.x-k8s.io", "v1beta2", "machinedeployments", "MachineDeployment")
MACHINESETS = Resource("cluster.x-k8s.io", "v1beta2", "machinesets", "MachineSet")
MACHINES = Resource("cluster.x-k8s.io", "v1beta2", "machines", "Machine")
MACHINEHEALTHCHECKS = Resource("cluster.x-k8s.io", "v1beta2", "machinehealthchecks", "MachineHealthCheck")
CAPI = (CLUSTERS, MACHINEDEPLOYMENTS, MACHINESETS, MACHINES)

CLUSTERDEPLOYMENTS = Resource("k0rdent.mirantis.com", "v1beta1", "clusterdeployments", "ClusterDeployment")
CLUSTERTEMPLATES = Resource("k0rdent.mirantis.com", "v1beta1", "clustertemplates", "ClusterTemplate")
CREDENTIALS = Resource("k0rdent.mirantis.com", "v1beta1", "credentials", "Credential")
K0RDENT = (CLUSTERDEPLOYMENTS, CLUSTERTEMPLATES, CREDENTIALS)
