"""Nonsense in a Colony is told in its status, in one sentence with what would be right, and costs nothing."""

import asyncio

import pytest

from events.kube.resources import COLONIES
from schemas.cluster import Ready
from services.sandbox.clouds.model.billing import machines_ever

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

POOL = {"name": "md", "accelerator": "H100", "acceleratorsPerNode": 8, "nodes": 1, "spot": "never"}
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n"
NONSENSE = {
    "an accelerator that nobody makes": (
        {"pools": [POOL | {"accelerator": "H1000"}]},
        'spec.clusters[0].pools[0].accelerator is "H1000": must be a known accelerator, such as H100, H200, H100-NVL',
    ),
    "a number of them that no machine has": (
        {"pools": [POOL | {"acceleratorsPerNode": 5}]}, "machines with H100 have 8 of them",
    ),
    "two pools of one kind that both follow their pods": (
        {"pools": [POOL | {"maxNodes": 2}, POOL | {"name": "more", "maxNodes": 2}]},
        "pools with H100 have minNodes or maxNodes more than once: only one of them may",
    ),
    "fewest nodes that are more than it begins with": (
        {"pools": [POOL | {"minNodes": 2}]}, "minNodes 2 is more than nodes 1: must be at most that",
    ),
    "a cloud that nobody knows": ({"clouds": ["awz"]}, "on awz: within reach are aws"),
    "a region that is none": ({"regions": ["mars"]}, "in mars; left out were"),
    "a zone that is none": ({"pools": [POOL | {"zones": ["r9-z9"]}]}, "it is in zone r1-z1"),
    "a law that holds nowhere on offer": ({"residency": ["AQ"]}, "it is in a country that is not known"),
    "more memory than any machine has": ({"pools": [POOL | {"memoryGiB": 65536}]}, "it has 2048 GiB"),
    "more cores than any machine has": ({"pools": [POOL | {"cpu": 1024}]}, "it has 192 vCPUs"),
    "spot machines where none are sold": ({"pools": [POOL | {"spot": "only"}]}, "spot is only"),
    "a price that nobody asks": (
        {"maxPricePerHour": 0.01}, "the cheapest offer costs $10.00 an hour, the cap is $0.01",
    ),
    "a back end that is none": ({"backend": "terraform"}, "there is no back end 'terraform': use one of"),
    "a template that is not there": ({"template": "nowhere"}, "nowhere"),
    "a cluster to adopt that does not stand": ({"adopt": {"name": "nobody"}}, "adopt one that is there"),
    "a life of no length": ({"timeToLive": "0s"}, 'timeToLive is "0s": must be longer than nothing'),
    "a name too long for what is made of it": ({"name": "g" * 50}, "must have at most 50"),
    "a label that nodes may not give themselves": (
        {"pools": [POOL | {"labels": {"kubernetes.io/role": "gpu"}}]}, "must not be in kubernetes.io",
    ),
    "addresses that are both pods' and services'": (
        {"network": {"pods": ["10.0.0.0/8"], "services": ["10.96.0.0/12"]}}, "share addresses: must be apart",
    ),
    "an add-on that is no YAML": (
        {"addons": [{"name": "x", "manifests": "kind: [ConfigMap"}]}, "addons[0].manifests is",
    ),
    "an add-on that names another's object": (
        {"addons": [{"name": "x", "manifests": CONFIG.format("{name: ../../../x, namespace: ../kube-system}")}]},
        "document 1 has the metadata.name '../../../x', which Kubernetes does not take",
    ),
    "an add-on whose namespace is a number": (
        {"addons": [{"name": "x", "manifests": CONFIG.format("{name: x, namespace: 5}")}]},
        "document 1 has the metadata.namespace 5, which Kubernetes does not take",
    ),
    "an add-on whose labels are a list": (
        {"addons": [{"name": "x", "manifests": CONFIG.format("{name: x, labels: [1]}")}]},
        "document 1 has metadata.labels that are no mapping from text to text",
    ),
    "an add-on without a name": (
        {"addons": [{"name": "x", "manifests": "apiVersion: v1\nkind: ConfigMap"}]}, "document 1 has no metadata.name",
    ),
}  # fmt: skip


async def spoken(house, fields):
    """What the Colony's status says of such a cluster after ten minutes."""
    cluster = {"name": "gpu", "backend": house.backend, "pools": [POOL]} | fields
    meta = {"name": "train", "namespace": "default"}
    await house.kube.create(COLONIES, {"metadata": meta, "spec": {"clusters": [cluster]}}, manager="person")
    await asyncio.sleep(600)
    return (await house.kube.get(COLONIES, "train", "default"))["status"]


@pytest.mark.parametrize("fields", NONSENSE.values(), ids=NONSENSE.keys())
async def test_nonsense_is_told_in_one_sentence_costs_nothing_and_can_be_put_right(house, fields):
    fields, sentence = fields
    async with house.at_work():
        status = await spoken(house, fields)
        ready = next(each for each in status["conditions"] if each["type"] == "Ready")
        assert (ready["status"], sentence in ready["message"], "\n" in ready["message"]) == ("False", True, False)
        assert status["message"] == ready["message"]
        assert (await house.objects(), await machines_ever(house.kube)) == ((), [])
        right = {"name": "gpu", "backend": house.backend, "pools": [POOL]}
        await house.kube.patch(COLONIES, "train", "default", {"spec": {"clusters": [right]}}, manager="person")
        await house.until(Ready)
