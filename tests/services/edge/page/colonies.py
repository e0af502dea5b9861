"""A Kubernetes API that holds Colonies in memory, for the tests of what the page changes."""

from copy import deepcopy

import jsonpatch

from events.errors import Denied, NotFound

POOL = {"name": "workers", "accelerator": "H100", "acceleratorsPerNode": 8, "nodes": 2}
CLUSTER = {
    "name": "gpu",
    "timeToLive": "6h",
    "pools": [POOL],
    "addons": [{"name": "driver", "manifests": "kind: Secret"}],
}
READY = {"type": "Ready", "status": "True", "reason": "AllClustersReady", "message": "all clusters are ready"}
STATUS = {
    "name": "gpu", "phase": "Ready", "conditions": [READY | {"reason": "Ready", "message": "16 of 16 accelerators"}],
    "addons": [{"name": "driver", "phase": "Applied"}], "kubernetesVersion": "v1.34.0",
}  # fmt: skip


def colony(name: str = "train", **status):
    """A Colony of one cluster."""
    return {
        "metadata": {"name": name, "namespace": "acme"},
        "spec": {"clusters": [deepcopy(CLUSTER)]},
        "status": {"conditions": [READY], "clusters": [STATUS | status]},
    }


class Colonies:
    """Answers as the API server does, with whatever error it is given."""

    def __init__(self, *some):
        self.kept = {(each["metadata"]["namespace"], each["metadata"]["name"]): each for each in some}
        self.error = None

    def _of(self, namespace, name):
        if self.error is not None:
            raise self.error
        if (namespace, name) not in self.kept:
            raise NotFound(f"{name} is not there")
        return self.kept[namespace, name]

    async def get(self, resource, name, namespace):
        return deepcopy(self._of(namespace, name))

    async def patch(self, resource, name, namespace, patch, *, kind="merge", manager):
        found = self._of(namespace, name)
        if kind == "merge":
            found["metadata"] |= patch["metadata"]
            return found
        try:
            changed = self.kept[namespace, name] = jsonpatch.apply_patch(found, patch)
        except jsonpatch.JsonPatchTestFailed as moved:
            raise Denied("the Colony was changed meanwhile", "Invalid") from moved
        return changed

    async def delete(self, resource, name, namespace):
        self._of(namespace, name)
        return self.kept.pop((namespace, name))
