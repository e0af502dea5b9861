"""A ClusterClass's Cluster is founded, scaled and ended through the real Cluster API controllers."""

import pytest
import yaml

from events.kube.discovery import find
from events.kube.resources import CLUSTERS, COLONIES, MACHINEDEPLOYMENTS
from schemas.subjects import Key
from services.clouds.node_config import NODE_CAPACITY, NODE_GROUP
from tests.services.clouds.test_topology import told
from tests.story.kube.factory import factory
from tests.story.kube.test_cluster_api import KEY, NAME, colony

__all__ = ["factory"]

CLASS = """\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevClusterTemplate
metadata: {name: gpus}
spec: {template: {spec: {backend: {inMemory: {}}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: gpus}
spec: {template: {spec: {backend: {inMemory: {}}}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlaneTemplate
metadata: {name: gpus}
spec:
  template:
    spec:
      rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}} # no webhook does it
      kubeadmConfigSpec:
        clusterConfiguration:
          apiServer: {certSANs: [localhost, 127.0.0.1]}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: gpus}
spec: {template: {spec: {joinConfiguration: {nodeRegistration: {kubeletExtraArgs: [{name: v, value: "2"}]}}}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: gpus, labels: {alate.dev/cloud: dev}}
spec:
  infrastructure:
    templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevClusterTemplate, name: gpus}
  controlPlane:
    templateRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlaneTemplate, name: gpus}
    machineInfrastructure:
      templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachineTemplate, name: gpus}
  workers:
    machineDeployments:
    - class: md
      rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}} # no webhook does it
      bootstrap:
        templateRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, name: gpus}
      infrastructure:
        templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachineTemplate, name: gpus}
  variables:
  - {name: region, required: true, schema: {openAPIV3Schema: {type: string}}}
  - {name: instanceType, required: true, schema: {openAPIV3Schema: {type: string}}}
  - {name: spot, required: false, schema: {openAPIV3Schema: {type: boolean}}}
  - name: nodeLabels
    required: false
    schema: {openAPIV3Schema: {type: object, additionalProperties: {type: string}}}
"""


async def kinds(kube):
    """The class, and all that it refers to, each with its kind."""
    for document in yaml.safe_load_all(CLASS):
        yield await find(kube, document["apiVersion"], document["kind"]), document


async def offered(kube):
    """All of it is put into the namespace of the Colony."""
    async for resource, document in kinds(kube):
        document["metadata"]["namespace"] = "default"
        await kube.create(resource, document)


async def taken_away(kube):
    """All of it is still there, and is deleted."""
    async for resource, document in kinds(kube):
        await kube.delete(resource, document["metadata"]["name"], "default")


@pytest.mark.kube
@pytest.mark.timeout(600)
async def test_a_cluster_of_a_class_is_founded_scaled_and_ended(factory):
    await offered(factory.kube)
    await factory.kube.apply(COLONIES, colony(1), manager="somebody")
    await factory.has_workers(1)
    topology = (await factory.kube.get(CLUSTERS, NAME, "default"))["spec"]["topology"]
    assert told(topology["variables"]) == {
        "region": "here", "instanceType": "in-memory", "spot": False, "nodeLabels": {"alate.dev/pool": "md"},
    }  # fmt: skip

    for workers in (3, 1):
        await factory.kube.apply(COLONIES, colony(workers), manager="somebody")
        await factory.has_workers(workers)
        await factory.tell_their_pools(*["md"] * workers)
        (pool,) = (await factory.kube.list(MACHINEDEPLOYMENTS, "default")).items
        assert pool["spec"]["replicas"] == workers

    await factory.gone("train")
    await taken_away(factory.kube)
    await factory.clean(frozenset({KEY, Key("teardown", *KEY[1:])}))


async def deployment(factory):
    """The pool's MachineDeployment, once Cluster API's topology controller has made it."""

    async def look():
        return bool((await factory.kube.list(MACHINEDEPLOYMENTS, "default")).items)

    await factory.services.until(look, 60)
    (pool,) = (await factory.kube.list(MACHINEDEPLOYMENTS, "default")).items
    return pool


@pytest.mark.kube
@pytest.mark.timeout(600)
async def test_of_a_class_an_autoscaler_sets_the_replicas_and_neither_alate_nor_cluster_api_takes_them_back(factory):
    """Cluster API's webhooks do not run here: the fewest, which they fill in, are written in the autoscaler's name."""
    await offered(factory.kube)
    asked = colony(1)
    (cluster,) = asked["spec"]["clusters"]
    cluster["scaledBy"], cluster["pools"][0]["maxNodes"] = "ClusterAutoscaler", 3
    await factory.kube.apply(COLONIES, asked, manager="somebody")
    made = await deployment(factory)
    told = made["metadata"]["annotations"]
    assert told.items() >= {
        f"{NODE_GROUP}-min-size": "1", f"{NODE_GROUP}-max-size": "3",
        f"{NODE_CAPACITY}/cpu": "4", f"{NODE_CAPACITY}/memory": "16384Mi",
        f"{NODE_CAPACITY}/gpu-type": "nvidia.com/gpu", f"{NODE_CAPACITY}/gpu-count": "8",
        f"{NODE_CAPACITY}/labels": "alate.dev/pool=md,cluster-api/accelerator=H100",
    }.items()  # fmt: skip
    assert "replicas" not in made["spec"]

    for workers in (1, 3, 2):
        patch = {"spec": {"replicas": workers}}
        await factory.kube.patch(MACHINEDEPLOYMENTS, made["metadata"]["name"], "default", patch, manager="autoscaler")
        await factory.has_workers(workers)
        assert (await deployment(factory))["spec"]["replicas"] == workers

    cluster["pools"][0]["maxNodes"] = 5
    await factory.kube.apply(COLONIES, asked, manager="somebody")

    async def wider():
        return (await deployment(factory))["metadata"]["annotations"][f"{NODE_GROUP}-max-size"] == "5"

    await factory.services.until(wider, 60)
    assert (await deployment(factory))["spec"]["replicas"] == 2

    await factory.gone("train")
    await taken_away(factory.kube)
    await factory.clean(frozenset({KEY, Key("teardown", *KEY[1:])}))
