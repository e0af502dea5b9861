"""Opens workload clusters through the kubeconfig in their Secret, and keeps them open while it is unchanged."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from events.errors import TryLater
from events.kube.client import Kube
from events.kube.kubeconfig import kubeconfig_text
from events.kube.resources import SECRETS

OpenCluster = Callable[[str], Awaitable[Kube]]
"""Creates a client from the text of a kubeconfig."""


class NoKubeconfigYet(TryLater):
    """The Secret exists, its kubeconfig does not yet."""


class OpenedCluster(NamedTuple):
    """The API of a cluster, and the version and text of the Secret that opened it."""

    version: str
    text: str
    kube: Kube


class WorkloadClusters:
    """Opens workload clusters."""

    def __init__(self, management: Kube, opener: OpenCluster) -> None:
        self._management = management
        self._opener = opener
        self._open: dict[tuple[str, str], OpenedCluster] = {}

    async def kubeconfig(self, tenant: str, secret: str) -> str:
        """The kubeconfig, for another process: the text that `open` has checked, and raises as that."""
        await self.open(tenant, secret)
        return self._open[tenant, secret].text

    async def open(self, tenant: str, secret: str) -> Kube:
        """The cluster's API. Raises NotFound without its Secret, NoKubeconfigYet while it is empty, Denied."""
        text, version = await self._read(tenant, secret)
        kept = self._open.get((tenant, secret))
        if kept and kept.version == version:
            return kept.kube
        await self.shut(tenant, secret)
        kube = await self._opener(text)
        self._open[tenant, secret] = OpenedCluster(version, text, kube)
        return kube

    async def _read(self, tenant: str, secret: str) -> tuple[str, str]:
        """The kubeconfig, and the version of its Secret."""
        found = await self._management.get(SECRETS, secret, tenant)
        text = kubeconfig_text(found, f"Secret {tenant}/{secret}")
        if not text:
            raise NoKubeconfigYet(f"Secret {tenant}/{secret} holds no kubeconfig under the key value yet")
        return text, found["metadata"]["resourceVersion"]

    async def shut(self, tenant: str, secret: str) -> None:
        """Close the connections to one cluster."""
        kept = self._open.pop((tenant, secret), None)
        if kept:
            await kept.kube.close()

    async def close(self) -> None:
        """Close all connections."""
        for tenant, secret in tuple(self._open):
            await self.shut(tenant, secret)
