"""What the simulated controllers need of founded clusters, so that these can be a sandbox's or real ones."""

from typing import Protocol

from events.kube.client import Kube


class World(Protocol):
    """The founded clusters' own APIs, each at a place named ``<namespace>.<cluster>``."""

    async def found(self, place: str) -> str:
        """See that the API is there; gives its kubeconfig (YAML). Safe to repeat."""
        ...

    async def drop(self, place: str) -> None:
        """See that it is not. Safe to repeat."""
        ...

    def kube(self, place: str) -> Kube:
        """The way into it."""
        ...
