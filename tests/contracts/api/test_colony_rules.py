"""What of a running cluster cannot change is refused by the API server itself, before anything of it is written."""

import copy
from contextlib import asynccontextmanager

import pytest

from events.errors import Denied
from events.kube.client import Kube
from events.kube.resources import COLONIES, CRDS
from schemas.crds import COLONY, read_colony
from schemas.placement import Placement
from services.gateway.wishes import wishes
from services.kubernetes.version_skew import upgrade_refusal
from services.provisioning.lifecycle.immutable import possible_change
from tests.contracts.api import sides
from tests.contracts.api.asking import ask, until
from tests.contracts.api.talk import NAMESPACES
from tests.samples import LOT

POOL = {"name": "gpu", "accelerator": "H100", "acceleratorsPerNode": 8, "nodes": 2, "spot": "preferred"}
CLUSTER = {"name": "a", "pools": [POOL], "kubernetesVersion": "v1.34.2", "regions": ["us-east-1"]}
TOLD = {
    "fields": "clouds, regions, residency, network, template, backend, scaledBy and adopt cannot change",
    "machines": "accelerator, acceleratorsPerNode, spot of a pool cannot change while the cluster runs: set it back",
    "sizes": "cpu, memoryGiB, diskGiB, podCpu, podMemoryGiB of a pool cannot change while the cluster runs",
    "swap": "a pool cannot take the place of another at once",
    "version": "kubernetesVersion never goes down while the cluster runs, and up one minor version at a time",
}
REFUSED = {
    "another region": ({"regions": ["eu-west-1"]}, "fields"),
    "no region": ({"regions": None}, "fields"),
    "a template": ({"template": "own"}, "fields"),
    "an adopted cluster": ({"adopt": {"name": "theirs"}}, "fields"),
    "another accelerator": ({"pools": [POOL | {"accelerator": "A100"}]}, "machines"),
    "on demand only": ({"pools": [POOL | {"spot": "never"}]}, "machines"),
    "more memory": ({"pools": [POOL | {"memoryGiB": 64}]}, "sizes"),
    "another pool instead": ({"pools": [POOL | {"name": "other"}]}, "swap"),
    "an older minor version": ({"kubernetesVersion": "v1.20.0"}, "version"),
    "an older patch": ({"kubernetesVersion": "v1.34.1"}, "version"),
    "a minor version passed over": ({"kubernetesVersion": "v1.36.0"}, "version"),
}
TAKEN = {
    "more nodes": {"pools": [POOL | {"nodes": 3}]},
    "another pool beside": {"pools": [POOL, POOL | {"name": "more"}]},
    "a limit": {"maxPricePerHour": 100.0},
    "the next minor version": {"kubernetesVersion": "v1.35.0"},
    "a newer patch": {"kubernetesVersion": "v1.34.3"},
    "a longer life": {"timeToLive": "9h"},
    "no cloud, said": {"clouds": []},
}


@asynccontextmanager
async def _server(request, which):
    if which == "real":
        async with sides.real(request.getfixturevalue("plane")) as side:
            yield side
    else:
        async with sides.sandbox(sides.api_of_its_own()) as side:
            yield side


@pytest.fixture(params=["sandbox", pytest.param("real", marks=[pytest.mark.kube, pytest.mark.timeout(180)])])
async def kube(request):
    """A server that knows Colonies, and a namespace of the test's own."""
    async with _server(request, request.param) as side:
        way = side.ways["admin"]
        made = Kube(way, random=lambda: 0.5)
        await made.apply(CRDS, COLONY.manifest(), manager="tests")
        await sides.served(way, f"/apis/alate.dev/v1alpha1/{COLONY.plural}")
        namespace = sides.fresh()
        await ask(way, "POST", NAMESPACES, {"metadata": {"name": namespace}})
        yield made, namespace


def _colony(namespace, **change):
    cluster = {name: value for name, value in (CLUSTER | change).items() if value is not None}
    spec = {"clusters": [cluster, {"name": "b", "pools": [POOL]}]}
    return {"metadata": {"name": "train", "namespace": namespace}, "spec": spec}


async def _stands(kube, namespace, **status):
    """A Colony of which cluster `a` runs, and `b` does not."""

    async def made():
        try:
            return await kube.apply(COLONIES, _colony(namespace), manager="test")
        except Denied as filling:
            return filling

    assert isinstance(await until(made, lambda found: isinstance(found, dict)), dict)
    shown = {"running": ["a"], **status}
    await kube.patch(COLONIES, "train", namespace, {"status": shown}, subresource="status")


async def _change(kube, namespace, **change):
    await kube.apply(COLONIES, _colony(namespace, **change), manager="test")


async def test_each_change_that_cannot_be_is_refused_before_it_is_written_and_all_else_is_taken(kube):
    api, namespace = kube
    await _stands(api, namespace)
    for what, (change, told) in REFUSED.items():
        with pytest.raises(Denied) as refused:
            await _change(api, namespace, **change)
        assert (what, refused.value.reason, TOLD[told] in str(refused.value)) == (what, "Invalid", True), refused.value
    for change in TAKEN.values():
        await api.delete(COLONIES, "train", namespace)
        await _stands(api, namespace)
        await _change(api, namespace, **change)


async def test_what_does_not_run_or_is_told_to_be_set_back_can_be_changed_in_any_way(kube):
    api, namespace = kube
    told = {"type": "Accepted", "status": "False", "reason": "Refused", "message": "a: regions cannot change"}
    told["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    for status in ({"running": ["b"]}, {"running": None}, {"conditions": [told]}):
        await _stands(api, namespace, **status)
        for change, _ in REFUSED.values():
            await _change(api, namespace, **change)
        await api.delete(COLONIES, "train", namespace)


def _need(change):
    colony = {"apiVersion": "alate.dev/v1alpha1", "kind": "Colony", **copy.deepcopy(_colony("team", **change))}
    return wishes(read_colony(colony), "capi")[0].need


@pytest.mark.parametrize("change", [each for each, _ in REFUSED.values()], ids=REFUSED)
def test_nothing_is_refused_that_provisioning_would_follow(change):
    need, wanted = _need({}), _need(change)
    placement = Placement(cloud="aws", region="us-east-1", lots=(LOT,))
    version = upgrade_refusal(need.kubernetes_version, need.kubernetes_version, wanted.kubernetes_version)
    assert version or possible_change(need, wanted, lambda _: placement)[1]
