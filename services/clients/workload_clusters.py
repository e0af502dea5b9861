"""A founded cluster is opened through the kubeconfig in its Secret, and kept open while the Secret stays the same."""

from collections.abc import Awaitable, Callable

from events.errors import TryLater
from events.kube.client import Kube
from events.kube.resources import SECRETS
from services.kubernetes.kubeconfig import held

Open = Callable[[str], Awaitable[Kube]]
"""From a kubeconfig's text to a client."""


class Keyless(TryLater):
    """The Secret is there, the kubeconfig in it is not yet."""


class Workloads:
    """Opens founded clusters."""

    def __init__(self, management: Kube, opener: Open) -> None:
        self._management = management
        self._opener = opener
        self._open: dict[tuple[str, str], tuple[str, Kube]] = {}

    async def open(self, tenant: str, secret: str) -> Kube:
        """The cluster's API. Raises NotFound without its Secret, Keyless while that is empty, Denied for nonsense."""
        found = await self._management.get(SECRETS, secret, tenant)
        text = held(found, f"Secret {tenant}/{secret}")
        if not text:
            raise Keyless(f"Secret {tenant}/{secret} holds no kubeconfig under the key value yet")
        version = found["metadata"]["resourceVersion"]
        kept = self._open.get((tenant, secret))
        if kept and kept[0] == version:
            return kept[1]
        await self.shut(tenant, secret)
        kube = await self._opener(text)
        self._open[tenant, secret] = (version, kube)
        return kube

    async def shut(self, tenant: str, secret: str) -> None:
        """Let go of a cluster's connections."""
        kept = self._open.pop((tenant, secret), None)
        if kept:
            await kept[1].close()

    async def close(self) -> None:
        """Let go of all connections."""
        for tenant, secret in tuple(self._open):
            await self.shut(tenant, secret)
