"""What simulated controllers need of workload clusters, which the sandbox or a real one can provide."""

from typing import Protocol

from events.kube.client import Kube


class World(Protocol):
    """The APIs of workload clusters, each named ``<namespace>.<cluster>``."""

    async def found(self, place: str) -> str:
        """Start the API if necessary; returns its kubeconfig (YAML). Idempotent."""
        ...

    async def drop(self, place: str) -> None:
        """Stop the API. Idempotent."""
        ...

    def kube(self, place: str) -> Kube:
        """A client of the API."""
        ...
