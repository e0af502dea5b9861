"""A running cluster gets another version of Kubernetes through the real Cluster API controllers."""

import pytest

from events.kube.discovery import find
from events.kube.resources import COLONIES, MACHINEDEPLOYMENTS, MACHINES
from schemas.subjects import Key
from tests.story.kube.factory import factory
from tests.story.kube.test_cluster_api import KEY, colony
from tests.story.kube.test_topology import offered, taken_away

__all__ = ["factory"]

OLD, NEW = "v1.34.0", "v1.35.0"
HEAD = ("controlplane.cluster.x-k8s.io/v1beta2", "KubeadmControlPlane")


async def nothing(_):
    """The seeded template is there already, and stays."""


WAYS = {"template": (nothing, nothing), "topology": (offered, taken_away)}


def of(version):
    asked = colony(2)
    asked["spec"]["clusters"][0]["kubernetesVersion"] = version
    return asked


async def runs(factory, version):
    """Wait until the Colony says that all of its cluster runs a version."""

    async def look():
        clusters = (await factory.kube.get(COLONIES, "train", "default"))["status"]["clusters"]
        return clusters[0].get("kubernetesVersion") == version

    await factory.services.until(look, 240)


async def versions(factory):
    """What control planes, pools and machines are told to run."""
    head = await find(factory.kube, *HEAD)
    told = {each["spec"]["version"] for each in (await factory.kube.list(head, "default")).items}
    pools = (await factory.kube.list(MACHINEDEPLOYMENTS, "default")).items
    machines = (await factory.kube.list(MACHINES, "default")).items
    specs = [each["spec"]["template"]["spec"] for each in pools] + [each["spec"] for each in machines]
    return told | {each["version"] for each in specs}, len(machines)


@pytest.mark.kube
@pytest.mark.timeout(600)
@pytest.mark.parametrize("way", WAYS)
async def test_real_cluster_api_replaces_every_machine_and_the_pool_is_never_short(factory, way):
    before, after = WAYS[way]
    await before(factory.kube)
    await factory.kube.apply(COLONIES, of(OLD), manager="somebody")
    await factory.has_workers(2)
    await runs(factory, OLD)
    short = []
    await factory.kube.apply(COLONIES, of(NEW), manager="somebody")

    async def look():
        short.extend(await available(factory))
        clusters = (await factory.kube.get(COLONIES, "train", "default"))["status"]["clusters"]
        return clusters[0]["kubernetesVersion"] == NEW

    await factory.services.until(look, 240)
    assert await versions(factory) == ({NEW}, 3)
    assert set(short) == {2}
    await factory.has_workers(2)

    await factory.gone("train")
    await after(factory.kube)
    await factory.clean(frozenset({KEY, Key("teardown", *KEY[1:])}))


async def available(factory):
    """How many machines of each pool are available, at the most as many as wanted."""
    pools = (await factory.kube.list(MACHINEDEPLOYMENTS, "default")).items
    return [min(each["status"].get("availableReplicas", 0), 2) for each in pools]
