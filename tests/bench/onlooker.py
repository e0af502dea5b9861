"""Both ends of what is measured are taken from one watch of the bench's own: the first sight, and the answer's."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from time import perf_counter

from events.kube.client import Changed, Kube, Object, Resource

Is = Callable[[Object], bool]

PATIENCE = 30.0
"""Seconds an answer may take."""


class Onlooker:
    """Sees every change of one kind, and when."""

    def __init__(self, kube: Kube, resource: Resource) -> None:
        self._kube = kube
        self._resource = resource
        self._seen: dict[str, list[tuple[float, Object]]] = {}
        self._waiting: dict[str, asyncio.Event] = {}
        self.ready = asyncio.Event()

    async def run(self) -> None:
        """For ever."""
        async with aclosing(self._kube.watch(self._resource)) as sights:
            async for sight in sights:
                self.ready.set()
                if isinstance(sight, Changed):
                    name = sight.object["metadata"]["name"]
                    self._seen.setdefault(name, []).append((perf_counter(), sight.object))
                    self._waiting.pop(name, self.ready).set()

    async def when(self, name: str, true: Is) -> float:
        """When an object was first seen so, in seconds of `perf_counter`. Raises TimeoutError."""
        try:
            async with asyncio.timeout(PATIENCE):
                return await self._until(name, true)
        except TimeoutError as late:
            shown = [seen.get("status") for _, seen in self._seen.get(name, ())][-1:]
            raise TimeoutError(f"{self._resource.plural}.{self._resource.group} {name} is {shown}") from late

    async def _until(self, name: str, true: Is) -> float:
        while True:
            for at, seen in self._seen.get(name, ()):
                if true(seen):
                    return at
            await self._waiting.setdefault(name, asyncio.Event()).wait()


def there(_: Object) -> bool:
    """It exists."""
    return True


def answered(seen: Object) -> bool:
    """The status is of what is written."""
    return bool(seen.get("status", {}).get("observedGeneration") == seen["metadata"]["generation"])


def holds(kind: str) -> Is:
    """A condition is true."""

    def true(seen: Object) -> bool:
        conditions = seen.get("status", {}).get("conditions", ())
        return any(one["type"] == kind and one["status"] == "True" for one in conditions)

    return true
