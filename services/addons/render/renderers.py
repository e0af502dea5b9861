"""Renders artifacts by what they hold, once for all clusters that want the same, and remembers the last results."""

import asyncio
import hashlib
from collections import OrderedDict, defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import msgspec

from events.errors import Denied
from events.kube.client import Object
from schemas.crds.addons import Renderer
from services.addons.render.jsonnet import render_jsonnet
from services.addons.render.kustomize import render_kustomize
from services.addons.render.options import Render, RenderOptions, RenderSettings
from services.addons.render.yaml_files import render_yaml
from services.addons.render.ytt import render_ytt
from services.addons.sources.artifact import KUSTOMIZATIONS, Artifact
from services.addons.sources.shared_calls import SharedCalls

RENDERS: Mapping[Renderer, Render] = {
    Renderer.KUSTOMIZE: render_kustomize,
    Renderer.YAML: render_yaml,
    Renderer.JSONNET: render_jsonnet,
    Renderer.YTT: render_ytt,
}
REMEMBERED = 16 << 20
"""Bytes of results that are remembered, as JSON; in memory they take several times as much."""
AT_ONCE = 4
"""Renderings at a time: each may take a processor. One of a namespace, so that it delays no other."""
FAILED = 60.0
"""Seconds in which the same is not tried again after it has failed, however many clusters ask."""
LASTING = frozenset({"InvalidManifests", "RemoteRefused", "RenderFailed", "TooCostly", "TooLarge"})
"""Reasons that lie in what is rendered."""


def choose(path: Path) -> Renderer:
    """What renders a folder or file, by what is there. Reads the folder: not for the loop."""
    if (path / "Chart.yaml").is_file():
        return Renderer.HELM
    if any((path / name).is_file() for name in KUSTOMIZATIONS):
        return Renderer.KUSTOMIZE
    if path.suffix == ".jsonnet" or (path.is_dir() and any(path.glob("*.jsonnet"))):
        return Renderer.JSONNET
    return Renderer.YAML


async def renderer_of(artifact: Artifact, wanted: Renderer | None = None) -> Renderer:
    """What renders an artifact; Helm is to be done by its worker."""
    return wanted if wanted is not None else await asyncio.to_thread(choose, artifact.path)


class Renderers:
    """All renderers but Helm's."""

    def __init__(self, settings: RenderSettings | None = None) -> None:
        self._settings = settings or RenderSettings()
        self._calls: SharedCalls[list[Object]] = SharedCalls()
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._lanes: dict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(1))
        self._failed: dict[str, tuple[float, Denied]] = {}
        self._results: OrderedDict[str, tuple[int, list[Object]]] = OrderedDict()
        """With their sizes, in the order of use."""
        self._size = 0

    async def render(
        self, artifact: Artifact, options: RenderOptions | None = None, namespace: str = ""
    ) -> list[Object]:
        """The Kubernetes objects, in the order they are given; `namespace`: of who asks.

        The metadata is the caller's own; what else they hold is shared with others and must not be changed.
        Raises Denied with one sentence for what is wrong, too large or too costly, or without its program.
        """
        wanted = options or RenderOptions()
        renderer = await renderer_of(artifact, wanted.renderer)
        if renderer not in RENDERS:
            raise Denied("a chart is rendered by Helm alone", "Unsupported")
        key = _key(artifact, renderer, wanted)
        if key in self._results:
            self._results.move_to_end(key)
            found = self._results[key][1]
        else:
            self._refuse_again(key)
            turn = self._lanes[namespace]
            found = await self._calls.get(key, lambda: self._render(key, RENDERS[renderer], artifact, wanted, turn))
        return [_own(each) for each in found]

    async def close(self) -> None:
        """End what is being rendered."""
        await self._calls.close()

    def _refuse_again(self, key: str) -> None:
        """Raises the last fault again while it is young."""
        now = asyncio.get_running_loop().time()
        self._failed = {each: one for each, one in self._failed.items() if now - one[0] < FAILED}
        if key in self._failed:
            raise replace(self._failed[key][1])

    async def _render(
        self, key: str, render: Render, artifact: Artifact, options: RenderOptions, turn: asyncio.Semaphore
    ) -> list[Object]:
        try:
            async with turn, self._turns:
                found = await render(artifact.tree.root, artifact.path, options, self._settings)
            if not found:
                raise Denied("the source comes to no Kubernetes object", "InvalidManifests")  # noqa: TRY301 - as others
        except Denied as refused:
            if refused.reason in LASTING:
                self._failed[key] = (asyncio.get_running_loop().time(), refused)
            raise
        return self._keep(key, found)

    def _keep(self, key: str, found: list[Object]) -> list[Object]:
        size = len(msgspec.json.encode(found))
        self._results[key] = (size, found)
        self._size += size
        while self._size > REMEMBERED:
            self._size -= self._results.popitem(last=False)[1][0]
        return found


def _own(shared: Object) -> Object:
    """The same object with metadata that may be changed."""
    meta = {key: dict(each) if isinstance(each, dict) else each for key, each in shared["metadata"].items()}
    return shared | {"metadata": meta}


def _key(artifact: Artifact, renderer: Renderer, options: RenderOptions) -> str:
    where = artifact.path.relative_to(artifact.tree.root).as_posix()
    patches = [each.model_dump() for each in options.patches]
    said = (artifact.tree.digest, where, renderer, options.values, options.components, patches)
    return hashlib.sha256(msgspec.json.encode(said, order="sorted")).hexdigest()
