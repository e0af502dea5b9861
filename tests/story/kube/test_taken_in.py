"""A Cluster that somebody made by hand is taken in, scaled and handed back through the real Cluster API controllers."""

import pytest
import yaml

from events.errors import NotFound
from events.kube.resources import CLUSTERS, COLONIES, MACHINEDEPLOYMENTS
from schemas.subjects import Key
from services.cli.demo.story import event_of
from tests.story.kube.factory import factory
from tests.story.kube.test_cluster_api import KEY, colony
from tests.story.kube.test_topology import offered, taken_away

__all__ = ["factory"]

THEIRS = """\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: theirs, namespace: default, labels: {team: theirs}}
spec:
  clusterNetwork: {pods: {cidrBlocks: [10.244.0.0/16]}, services: {cidrBlocks: [10.96.0.0/12]}}
  topology:
    classRef: {name: gpus}
    version: v1.34.0
    controlPlane: {replicas: 1}
    variables: [{name: region, value: here}, {name: instanceType, value: in-memory}]
    workers: {machineDeployments: [{class: md, name: md, replicas: 1}]}
"""


def adopting(nodes):
    wanted = colony(nodes)
    wanted["spec"]["clusters"][0]["adopt"] = {"name": "theirs"}
    return wanted


@pytest.mark.kube
@pytest.mark.timeout(600)
async def test_a_cluster_of_others_is_taken_in_scaled_and_stands_when_it_is_handed_back(factory):
    kube = factory.kube
    await offered(kube)
    made = await kube.create(CLUSTERS, yaml.safe_load(THEIRS))
    await factory.condition("theirs", "Available", "True")
    await kube.apply(COLONIES, adopting(1), manager="somebody")
    await factory.has_workers(1, "train-gpu")
    await kube.apply(COLONIES, adopting(2), manager="somebody")
    await factory.has_workers(2, "train-gpu")
    (pool,) = (await kube.list(MACHINEDEPLOYMENTS, "default")).items
    assert (pool["spec"]["clusterName"], pool["spec"]["replicas"]) == ("theirs", 2)

    await factory.gone("train")
    left = await kube.get(CLUSTERS, "theirs", "default")
    assert left["metadata"]["uid"] == made["metadata"]["uid"]
    assert not [label for label in left["metadata"]["labels"] if label.startswith("alate.dev/")]
    await factory.condition("theirs", "Available", "True")
    assert {each["metadata"]["name"] for each in (await kube.list(CLUSTERS, "default")).items} == {"theirs"}
    way = [event_of(each) for each in factory.play.story.states[KEY]]
    assert list(dict.fromkeys(way)) == ["pending", "launching", "provisioned", "releasing", "released"]

    await kube.delete(CLUSTERS, "theirs", "default")

    async def deleted():
        try:
            await kube.get(CLUSTERS, "theirs", "default")
        except NotFound:
            return True
        return False

    await factory.services.until(deleted, 120)
    await taken_away(kube)
    await factory.clean(frozenset({KEY, Key("teardown", *KEY[1:])}))
