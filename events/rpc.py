"""RPC services over the bus as data: a service and its endpoints."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

RpcHandler = Callable[[bytes], Awaitable[bytes]]
"""From a question to its answer; raises `Denied` with one sentence for a question that cannot be answered."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What can be asked, and how it is answered."""

    name: str
    """Letters, digits and dashes."""
    subject: str
    answer: RpcHandler


@dataclass(frozen=True, slots=True)
class RpcService:
    """A service as it can be found; each question goes to one of those that stand at the same desk."""

    name: str
    """Letters, digits and dashes."""
    version: str
    """Semantic."""
    description: str
    questions: tuple[Endpoint, ...]
