"""Whatever a cluster's API server says, the whole inventory goes on, and other tenants are counted as before."""

import asyncio
import os
from dataclasses import dataclass
from typing import Any

import looptime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.market.catalog_parser import CatalogText
from tests.foreign import Foreign
from tests.fuzz.odd import bent
from tests.services.inventory.fleet import Fleet

INPUTS = int(os.environ.get("ALATE_TEST_INPUTS", "1000"))
"""As in `tests/fuzz`: an example for every hundred."""
AT_ONCE = 25
"""Of one cluster in one example."""
GPU = "nvidia.com/gpu"
TERM = {"matchExpressions": [{"key": f"{GPU}.count", "operator": "Gt", "values": ["4"]}], "matchFields": []}
POD: dict[str, Any] = {
    "metadata": {"name": "p", "namespace": "default", "labels": {"a": "b"}, "ownerReferences": [{"uid": "u"}]},
    "spec": {
        "nodeName": "",
        "nodeSelector": {"alate.dev/accelerator": "H100"},
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [TERM]}}},
        "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoSchedule", "value": "v"}],
        "containers": [{"name": "c", "resources": {"requests": {GPU: "8", "cpu": "1"}, "limits": {GPU: "8"}}}],
        "initContainers": [{"name": "i", "restartPolicy": "Always", "resources": {"requests": {"cpu": "500m"}}}],
        "overhead": {"cpu": "1m"},
        "resources": {"requests": {"cpu": "2"}},
    },
    "status": {
        "phase": "Pending",
        "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}],
        "containerStatuses": [
            {
                "name": "c",
                "allocatedResources": {"cpu": "1"},
                "resources": {"requests": {"cpu": "1"}},
                "allocatedResourcesStatus": [
                    {"name": GPU, "resources": [{"resourceID": "GPU-1::0", "health": "Healthy"}]}
                ],
            }
        ],
    },
}
BOUND = POD | {"spec": POD["spec"] | {"nodeName": "n1"}, "status": POD["status"] | {"phase": "Running"}}
NODE = {
    "metadata": {
        "name": "n",
        "labels": {
            f"{GPU}.product": "NVIDIA-H100-80GB-HBM3", f"{GPU}.count": "8", f"{GPU}.replicas": "2",
            f"{GPU}.memory": "81559", "nvidia.com/mig-1g.10gb.count": "7", "alate.dev/pool": "gpu",
            "feature.node.kubernetes.io/pci-0302_10de_2330.present": "true",
        },
        "managedFields": [{"manager": "alate-inventory", "fieldsV1": {"f:metadata": {"f:labels": {"f:a": {}}}}}],
    },
    "spec": {"unschedulable": False, "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]},
    "status": {
        "capacity": {"cpu": "64", GPU: "16", "memory": "1Ti"},
        "allocatable": {"cpu": "64", GPU: "16", "memory": "1Ti", "nvidia.com/mig-1g.10gb": "7"},
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
    },
}  # fmt: skip
AMD = NODE | {
    "metadata": {"name": "n", "labels": {"amd.com/gpu.product-name.MI300X": "8", "amd.com/gpu.vram": "192G"}},
    "status": NODE["status"] | {"allocatable": {"amd.com/gpu": "8"}},
}
DEVICE = {
    "name": "gpu-0",
    "attributes": {
        "uuid": {"string": "GPU-1"}, "productName": {"string": "NVIDIA H100"}, "profile": {"string": "1g.10gb"},
        "resource.kubernetes.io/numaNode": {"int": 1}, "parentUUID": {"string": "GPU-0"},
    },
    "capacity": {"memory": {"value": "80Gi"}},
    "taints": [{"key": "gpu.nvidia.com/xid", "effect": "NoSchedule"}],
}  # fmt: skip
SLICE = {
    "metadata": {"name": "s"},
    "spec": {
        "driver": "gpu.nvidia.com",
        "nodeName": "n1",
        "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
        "devices": [DEVICE],
    },
}
CLAIM = {
    "metadata": {"name": "c", "namespace": "default", "ownerReferences": [{"kind": "Pod", "uid": "u", "name": "p"}]},
    "spec": {"devices": {"requests": [{"exactly": {"deviceClassName": "gpu.nvidia.com"}, "firstAvailable": []}]}},
    "status": {
        "allocation": {
            "devices": {
                "results": [{"driver": "gpu.nvidia.com", "pool": "n1", "device": "gpu-0", "adminAccess": False}]
            }
        },
        "reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}],
    },
}
CLASS = {
    "metadata": {"name": "fast", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
    "provisioner": "csi.x",
}
VOLUME = {"metadata": {"name": "v"}, "spec": {"storageClassName": "fast", "capacity": {"storage": "1Ti"}}}
ROOM = {
    "metadata": {"name": "r", "namespace": "default"},
    "storageClassName": "fast",
    "capacity": "1Ti",
    "maximumVolumeSize": "1Gi",
}
KINDS = {
    "nodes": (NODE, AMD),
    "pods": (POD, BOUND),
    "resourceslices": (SLICE,),
    "resourceclaims": (CLAIM,),
    "storageclasses": (CLASS,),
    "persistentvolumes": (VOLUME,),
    "csistoragecapacities": (ROOM,),
}
ROWS = "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,Region\n"
GOOD = f"{ROWS}p5.48xlarge,H100,8,192,2048,98.32,us-east-1\n".encode()


@st.composite
def clusters(draw):
    """Objects by kind: some are there at the start, as many are told of later."""
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=AT_ONCE, max_size=AT_ONCE))
    return [(kind, draw(bent(KINDS[kind], f"odd-{place}"))) for place, kind in enumerate(kinds)]


@st.composite
def catalogs(draw):
    """A catalog that is damaged somewhere."""
    first, last = sorted(draw(st.tuples(st.integers(0, len(GOOD)), st.integers(0, len(GOOD)))))
    return GOOD[:first] + draw(st.binary(max_size=12)) + GOOD[last:]


@dataclass
class Catalog:
    """A source of one."""

    cloud: str
    data: bytes

    async def read(self):
        return (CatalogText(self.cloud, self.cloud, self.data),)

    def mark(self):
        return None


def server(make, *odd):
    there = Foreign(**{kind: [] for kind in KINDS})
    there.kinds["nodes"].append(make.node("n1", uid="n1"))
    there.kinds["pods"].append(make.pod("p1", gpu=2))
    for kind, item in odd:
        there.kinds[kind].append(item)
    return there


async def played(make, odd, catalog):
    """Half of it is there at the start, half comes later, all of it goes in the end."""
    at_start, later = odd[::2], odd[1::2]
    evil = server(make, *at_start)
    fleet = Fleet({"acme": server(make), "evil": evil}, sources=(Catalog("evil", catalog), Catalog("good", GOOD)))
    for tenant in fleet.servers:
        await fleet.found(tenant)
    async with fleet.counted():
        for kind, item in later:
            evil.say(kind, item)
        await asyncio.sleep(30)
        await _is_counted(fleet, "acme", told="")
        there = await fleet.seen("evil")
        assert there is not None
        assert there.known, await fleet.unread("evil")
        assert (await fleet.node("evil", "n1")).present
        for kind, item in odd:
            evil.say(kind, item, "DELETED")
        await asyncio.sleep(60)
        await _is_counted(fleet, "evil", told="")
        assert [one.instance for one in (await fleet.offers("good", "us-east-1")).offers] == ["p5.48xlarge"]


async def _is_counted(fleet, tenant, told):
    seen = await fleet.seen(tenant)
    assert (seen.known, seen.accelerators, seen.allocated) == (True, 8, 2)
    assert await fleet.unread(tenant) == told


@pytest.mark.timeout(3600)
@given(odd=clusters(), catalog=catalogs())
@settings(max_examples=max(5, INPUTS // 100), deadline=None, derandomize=True)
def test_no_object_of_one_cluster_ends_the_inventory_or_hides_another_cluster(make, odd, catalog):
    with asyncio.Runner(loop_factory=looptime.new_event_loop) as runner:
        runner.run(played(make, odd, catalog))
