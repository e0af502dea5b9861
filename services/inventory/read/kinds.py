"""What is watched of a cluster is a table: what must be there, and what is looked at where it is served."""

from events.kube.port import Resource
from events.kube.resources import NODES, PODS, STORAGECLASSES

VOLUMES = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
CAPACITIES = Resource("storage.k8s.io", "v1", "csistoragecapacities", "CSIStorageCapacity")
SLICES = Resource("resource.k8s.io", "v1", "resourceslices", "ResourceSlice", namespaced=False)
CLAIMS = Resource("resource.k8s.io", "v1", "resourceclaims", "ResourceClaim")

CORE = (NODES, PODS)
"""Without both nothing is known."""
DEVICES = (SLICES, CLAIMS)
"""Looked at where the API server serves it: accelerators may be told of here alone."""
STORAGE = (STORAGECLASSES, VOLUMES, CAPACITIES)
"""The same, but nobody waits for it."""
BESIDE = (*DEVICES, *STORAGE)
BROUGHT = {NODES: DEVICES}
"""What comes with a change of a kind, where that is not all of `BESIDE`: storage comes with the pods of its driver."""
