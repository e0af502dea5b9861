"""A control plane with our roles on it, and every account's own token."""

import asyncio
import json
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from events.errors import NotFound
from events.kube.client import Kube, Object, Request, Resource
from events.kube.resources import COLONIES, CRDS, NAMESPACES
from schemas.crds import CRDS as OURS
from services.sandbox.seeds.kinds import KINDS as KINDS_OF_CLOUDS
from services.sandbox.seeds.kinds import definitions
from services.sandbox.seeds.plant import seed
from tests.deploy.rights import NAMESPACE, documents
from tests.kube.fixtures import plane, planes
from tests.kube.plane import ControlPlane

__all__ = ["plane", "planes"]

RBAC = "rbac.authorization.k8s.io"
KINDS = {
    "Namespace": NAMESPACES,
    "ServiceAccount": Resource("", "v1", "serviceaccounts", "ServiceAccount"),
    "ClusterRole": Resource(RBAC, "v1", "clusterroles", "ClusterRole", namespaced=False),
    "ClusterRoleBinding": Resource(RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False),
}
PATIENCE = 30.0
"""Seconds until the server serves all kinds."""
NOBODY = "nobody"
"""An account that is bound to nothing: what it may do, everybody may."""


class Accounts:
    """Clients as service accounts."""

    def __init__(self, plane: ControlPlane, admin: Kube, stack: AsyncExitStack) -> None:
        self.plane, self.admin, self._stack = plane, admin, stack

    async def install(self) -> None:
        """What `deploy/` ships, and an account that is bound to nothing."""
        meta = {"name": NOBODY, "namespace": NAMESPACE}
        for each in (*documents(), {"kind": "ServiceAccount", "metadata": meta}):
            await self.admin.apply(KINDS[each["kind"]], each, manager="tests")

    async def seed(self) -> None:
        """The kinds, and once the server serves them, what the namespace ``default`` needs."""
        for definition in (*(one.manifest() for one in OURS), *definitions()):
            await self.admin.apply(CRDS, definition, manager="tests")
        async with asyncio.timeout(PATIENCE):
            for resource in (COLONIES, *KINDS_OF_CLOUDS):
                await self._served(resource)
        await seed(self.admin)

    async def _served(self, resource: Resource) -> None:
        while True:
            try:
                await self.admin.list(resource, "default")
            except NotFound:
                await asyncio.sleep(0.05)
            else:
                return

    async def kube(self, account: str) -> Kube:
        """The account's way in, with a token of its own."""
        kube = Kube(self.plane.transport(await self._token(account)), random=random.random)
        self._stack.push_async_callback(kube.close)
        return kube

    async def _token(self, account: str) -> str:
        path = KINDS["ServiceAccount"].path(NAMESPACE, account, "token")
        asked: Object = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        request = Request("POST", path, {}, {"Content-Type": "application/json"}, json.dumps(asked).encode())
        answer = await self.admin.transport.send(request)
        assert answer.status == 201, answer.body
        return str(json.loads(answer.body)["status"]["token"])


@pytest.fixture
async def accounts(plane: ControlPlane) -> AsyncIterator[Accounts]:
    async with AsyncExitStack() as stack:
        admin = Kube(plane.transport(), random=random.random)
        stack.push_async_callback(admin.close)
        found = Accounts(plane, admin, stack)
        await found.install()
        await found.seed()
        yield found
