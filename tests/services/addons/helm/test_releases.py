"""Releases cost a worker process when they are written, and one more for what a revision consists of."""

import asyncio
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from events.kube.resources import DEPLOYMENTS, NAMESPACES, SECRETS
from services.addons.charts import apply_chart, compare_chart
from services.addons.helm.history import DEPLOYED
from services.addons.helm.protocol import WorkerReply
from services.addons.helm.releases import HelmRelease, HelmReleases
from services.addons.helm.revision_cache import RevisionCache
from services.addons.objects.target import Target
from tests.services.addons.conftest import house

__all__ = ["house"]

pytestmark = pytest.mark.looptime

KUBECONFIG = """
clusters: [{name: c, cluster: {server: "https://w"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {token: t}}]
current-context: c
"""
WANTED = HelmRelease(kubeconfig=KUBECONFIG, release="web", namespace="web", chart=Path("chart"), digest="d1")
CONTAINER = {"name": "main", "image": "web"}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "web"},
    "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [CONTAINER]}},
    },
}
KEY = ("https://w", "web", "web", "")


class CountedWorkers:
    """Counts the processes that would be started; each does what Helm does."""

    def __init__(self, kube) -> None:
        self._kube = kube
        self.started = Counter()
        self.revision = 0

    async def run(self, request, *_):
        self.started[request.operation] += 1
        if request.operation != "read":
            self.revision += 1
            await self._kube.apply(DEPLOYMENTS, DEPLOYMENT, manager="helm")
            await self.write(request.labels)
        return WorkerReply(revision=self.revision, status=DEPLOYED, objects=[DEPLOYMENT])

    async def write(self, labels):
        meta = {"name": f"sh.helm.release.v1.web.v{self.revision}", "namespace": "web"}
        own = {"owner": "helm", "name": "web", "version": str(self.revision), "status": DEPLOYED, "createdAt": "1"}
        await self._kube.apply(SECRETS, {"metadata": meta | {"labels": labels | own}}, manager="helm")


@pytest.fixture
async def workers(house):
    await house.workload.create(NAMESPACES, {"metadata": {"name": "web"}})
    return CountedWorkers(house.workload)


@pytest.fixture
def target(house):
    return Target(house.workload, house.workload, "driver", namespace="web")


async def test_an_unhealthy_release_starts_no_worker_while_it_is_waited_for(workers, target):
    helm = HelmReleases(workers)
    for _ in range(600):  # ten minutes, as often as the service looks
        applied = await apply_chart(helm, target, WANTED)
        assert [each.message for each in applied.unhealthy]
        await asyncio.sleep(1.0)
    assert workers.started == {"install": 1, "read": 1}


async def test_an_applied_release_whose_objects_change_all_the_time_is_read_once(workers, target):
    helm = HelmReleases(workers)
    await apply_chart(helm, target, WANTED)
    for _ in range(60):
        assert (await compare_chart(helm, target, WANTED, thorough=True)).unhealthy
        await asyncio.sleep(1.0)
    assert workers.started == {"install": 1, "read": 1}


async def test_what_others_change_of_an_unhealthy_release_is_corrected_without_a_worker(house, workers, target):
    helm = HelmReleases(workers)
    for _ in range(2):
        await apply_chart(helm, target, WANTED)
    await house.workload.delete(DEPLOYMENTS, "web", "web")
    await apply_chart(helm, target, WANTED)
    assert (await house.workload.get(DEPLOYMENTS, "web", "web"))["metadata"]["name"] == "web"
    assert workers.started["read"] == 1


async def test_a_release_whose_secret_was_written_is_read_again(workers, target):
    helm = HelmReleases(workers)
    for _ in range(3):
        await apply_chart(helm, target, WANTED)
    await workers.write({**WANTED.labels, "alate.dev/revision": "1", "touched": "yes"})
    for _ in range(3):
        await apply_chart(helm, target, WANTED)
    await apply_chart(helm, target, replace(WANTED, digest="d2"))
    await apply_chart(helm, target, replace(WANTED, digest="d2"))
    assert workers.started == {"install": 1, "upgrade": 1, "read": 3}


async def test_what_one_user_may_read_is_not_given_to_another(house, workers, target):
    helm = HelmReleases(workers)
    await apply_chart(helm, target, WANTED)
    for user in ("a", "a", "b"):
        await helm.status(house.workload, replace(WANTED, as_user=user))
    assert workers.started["read"] == 2


def test_the_release_that_was_not_asked_for_longest_is_forgotten_first():
    noise = random.Random(1)  # noqa: S311 - text that cannot be compressed is no secret
    big = WorkerReply(revision=1, status=noise.randbytes(20_000).hex())
    cache = RevisionCache(most=60_000)
    places = [(*KEY[:3], user) for user in "abc"]
    for place in places[:2]:
        cache.keep(place, "v1", big)
    assert cache.find(places[0], "v1") == big
    cache.keep(places[2], "v1", big)
    assert [cache.find(place, "v1") is not None for place in places] == [True, False, True]
    cache.keep(places[0], "v2", WorkerReply(status=noise.randbytes(90_000).hex()))
    assert cache.find(places[0], "v1") is cache.find(places[0], "v2") is None
