"""Where a cluster is lent, add-ons are put on it with the rights its lender gave: the kubeconfig's, and no others."""

import asyncio
from dataclasses import dataclass

import msgspec
import pytest

from events.kube.client import Kube, Request, Response, Transport
from events.kube.resources import CONFIGMAPS
from schemas.cluster import Ready
from tests.contracts.clouds.house import House
from tests.contracts.clouds.test_lent import PLACE, SIZE, stands

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

OWN, THEIRS = (
    f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: ours, namespace: {space}}}\n"
    for space in ("default", "kube-system")
)
SAID = 'configmaps "ours" is forbidden: User "tenant" cannot patch resource "configmaps" in the namespace "kube-system"'


@dataclass
class Limited:
    """What RBAC makes of a kubeconfig that may write in kube-system but our own notes."""

    beyond: Transport

    async def send(self, request: Request) -> Response:
        if request.method != "GET" and request.path.endswith("/namespaces/kube-system/configmaps/ours"):
            status = {"kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403, "message": SAID}
            return Response(403, {}, msgspec.json.encode(status))
        return await self.beyond.send(request)

    def stream(self, request):
        return self.beyond.stream(request)

    async def close(self):
        await self.beyond.close()


class Lender(House):
    """Whoever opens the cluster gets no further than its kubeconfig lets them."""

    async def _inside(self, kubeconfig):
        self.kubeconfigs = {*getattr(self, "kubeconfigs", ()), kubeconfig}
        return Kube(Limited((await super()._inside(kubeconfig)).transport), random=lambda: 0.5)


@pytest.mark.parametrize(("manifests", "done"), [(OWN, True), (THEIRS, False)])
async def test_an_addon_may_on_a_lent_cluster_what_its_kubeconfig_may(sandbox, manifests, done):
    house = Lender(sandbox, "k0rdent")
    async with house.at_work(house.sandbox.inside()):
        await stands(house)
        await house.ask(nodes=SIZE, addons=[{"name": "own", "manifests": manifests}])
        await house.until(Ready)
        async with asyncio.timeout(1200):
            while not (said := (await house.shown()).get("addons")) or said[0]["phase"] == "Applying":  # noqa: ASYNC110 - virtual time
                await asyncio.sleep(1)
        inside = house.sandbox.world.kube(PLACE)
        there = [one for one in (await inside.list(CONFIGMAPS)).items if one["metadata"]["name"] == "ours"]
        assert (len(there), SAID in str(said)) == (int(done), not done), said
        assert len(house.kubeconfigs) == 1
