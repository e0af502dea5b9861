"""RPC services over the bus as data: a service and its endpoints."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

RpcHandler = Callable[[bytes], Awaitable[bytes]]
"""From a request to its reply; raises `Denied` with one sentence for a request that cannot be answered."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A subject with its handler."""

    name: str
    """Letters, digits and dashes."""
    subject: str
    answer: RpcHandler


@dataclass(frozen=True, slots=True)
class RpcService:
    """A service as clients discover it; each request goes to one of its instances."""

    name: str
    """Letters, digits and dashes."""
    version: str
    """Semantic."""
    description: str
    questions: tuple[Endpoint, ...]
