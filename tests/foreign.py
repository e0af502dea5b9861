"""An API server in this process that says whatever it is told to, as one that is nobody's friend may."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from events.kube.client import Kube, Request, Response

MISSING = b'{"kind": "Status", "code": 404, "reason": "NotFound", "message": "not found", "details": {"name": "it"}}'


class Foreign:
    """Serves lists and watches of raw objects, by plural; every other kind is not served."""

    def __init__(self, **kinds: list[object]) -> None:
        self.kinds = kinds
        self.version = 1
        self._watches: list[tuple[str, asyncio.Queue[bytes | None]]] = []

    def kube(self) -> Kube:
        return Kube(self, random=lambda: 0.5)

    def say(self, plural: str, item: object, kind: str = "MODIFIED") -> None:
        """Tell every watcher of a change; of an object with a name, the next list has it as well."""
        self.version += 1
        if isinstance(item, dict) and isinstance(item.get("metadata"), dict):
            item["metadata"].setdefault("resourceVersion", str(self.version))
            same = [one for one in self.kinds[plural] if _key(one) != _key(item)]
            self.kinds[plural] = [*same, *([item] if kind != "DELETED" else [])]
        line = json.dumps({"type": kind, "object": item}).encode()
        for of, queue in self._watches:
            if of == plural:
                queue.put_nowait(line)

    def end_watches(self) -> None:
        """As a server does every few minutes."""
        for _, queue in self._watches:
            queue.put_nowait(None)

    async def send(self, request: Request) -> Response:
        parts = request.path.strip("/").split("/")
        if request.method == "PATCH":
            return self._patched(parts, json.loads(request.body))
        if request.method != "GET":
            return Response(403, body=b'{"kind": "Status", "code": 403, "reason": "Forbidden", "message": "no"}')
        if parts[-1] in self.kinds:
            items = self.kinds[parts[-1]]
            return Response(200, body=_json({"metadata": {"resourceVersion": str(self.version)}, "items": items}))
        found = [one for one in self.kinds.get(parts[-2], ()) if _name(one) == parts[-1]]
        return Response(200, body=_json(found[0])) if found else Response(404, body=MISSING)

    def _patched(self, parts: list[str], patch: Any) -> Response:
        """Merged into the object, if it is there; a field that is no map is replaced."""
        plural = next(kind for kind in self.kinds if kind in parts)
        space, name = parts[parts.index(plural) - 1], parts[parts.index(plural) + 1]
        for one in self.kinds[plural]:
            if _name(one) == name and one["metadata"].get("namespace") == space:
                made = {**one, **patch, "metadata": one["metadata"] | patch.get("metadata", {})}
                made["metadata"] = made["metadata"] | {"resourceVersion": str(self.version + 1)}
                self.say(plural, made)
                return Response(200, body=_json(made))
        return Response(404, body=MISSING)

    async def stream(self, request: Request) -> AsyncIterator[bytes | Response]:
        plural = request.path.rpartition("/")[2]
        if plural not in self.kinds:
            yield Response(404, body=MISSING)
            return
        mine = (plural, asyncio.Queue())
        self._watches.append(mine)
        try:
            while (line := await mine[1].get()) is not None:
                yield line
        finally:
            self._watches.remove(mine)

    async def close(self) -> None:
        """Nothing is held."""


def _name(item: object) -> object:
    meta = item.get("metadata") if isinstance(item, dict) else None
    return meta.get("name") if isinstance(meta, dict) else None


def _key(item: object) -> object:
    return _name(item), item["metadata"].get("namespace") if _name(item) else None


def _json(document: object) -> bytes:
    return json.dumps(document).encode()


@asynccontextmanager
async def at_work(run: Callable[[], object]) -> AsyncIterator[asyncio.Task[None]]:
    """A service that runs as long as the block lasts; whoever looks at its task sees whether it has ended."""
    task = asyncio.ensure_future(run())
    try:
        yield task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
