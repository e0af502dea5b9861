"""Fetches the sources of add-ons: each once for all who ask, and again only when it may have changed."""

import asyncio
import hashlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import structlog

from events.bus import Clock
from events.errors import Denied, NotFound, TryLater
from events.kube.client import Kube
from schemas.crds.sources import KINDS, SourceSpec
from services.addons.sources.artifact import Artifact, CachedTree, part
from services.addons.sources.cache import ArtifactCache
from services.addons.sources.chart import pull_chart
from services.addons.sources.flux import pull_flux
from services.addons.sources.git import pull_git
from services.addons.sources.in_cluster import pull_config_map, pull_secret
from services.addons.sources.oci import pull_oci
from services.addons.sources.records import SourceRecord
from services.addons.sources.request import FetchFolders, Pull, SourceRequest, SourceSettings
from services.addons.sources.shared_calls import SharedCalls
from services.addons.sources.url import pull_url
from services.addons.sources.versions import exact

PULLS: Mapping[str, Pull] = {
    "chart": pull_chart,
    "oci": pull_oci,
    "url": pull_url,
    "git": pull_git,
    "flux": pull_flux,
    "config_map": pull_config_map,
    "secret": pull_secret,
}
"""How each kind of source is fetched."""
NEAR = frozenset({"config_map", "secret", "flux"})
"""Kinds that are objects of the management cluster, which are read whenever they are asked for."""
UNSUMMED = frozenset({"git", "config_map", "secret"})
"""Kinds that are not one file."""
AT_ONCE = 4
"""Fetches of one namespace at a time: its slow servers delay no other namespace."""
REMEMBERED = timedelta(seconds=10)
"""How long a failed fetch is not repeated, however many clusters ask."""

log = structlog.get_logger()


@dataclass(frozen=True)
class _Found:
    """What a source came to."""

    tree: CachedTree
    revision: str
    stale: str = ""


class Sources:
    """All sources of all add-ons."""

    def __init__(self, management: Kube, folder: Path, clock: Clock, settings: SourceSettings | None = None) -> None:
        """`folder` is kept for the next process. Raises OSError."""
        self._management = management
        self._clock = clock
        self._settings = settings or SourceSettings()
        self._cache = ArtifactCache(folder, self._settings.limit)
        self._calls: SharedCalls[_Found] = SharedCalls()
        self._parts: SharedCalls[tuple[str, Path]] = SharedCalls()
        self._slots: dict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(AT_ONCE))
        self._failed: dict[str, tuple[datetime, Denied | NotFound | TryLater]] = {}

    async def close(self) -> None:
        """End what is being fetched, and leave the folder."""
        await self._calls.close()
        await self._parts.close()
        self._cache.close()

    async def fetch(self, source: SourceSpec, namespace: str, *, cluster_wide: bool = False) -> Artifact:
        """The source's content now, for a Colony or profile of the namespace; `cluster_wide`: of all.

        It stays in the cache as long as the artifact is held. Raises NotFound for an object of the management cluster,
        TryLater for what passes, Denied for what does not without a change.
        """
        _refuse_unused(source)
        if source.flux and source.flux.namespace not in (None, namespace) and not cluster_wide:
            raise Denied("a source of Flux in another namespace is for a ClusterAddonProfile alone", "Forbidden")
        key, near = source_key(source, namespace), kind_of(source) in NEAR
        found = await self._calls.get(key, lambda: self._look(key, source, namespace), fresh=near)
        digest, path = found.tree.parts.get(source.path) or await self._parts.get(
            f"{found.tree.digest}/{source.path}", lambda: part(found.tree, source.path)
        )
        return Artifact(digest, path, found.revision, found.tree, found.stale)

    async def _look(self, key: str, source: SourceSpec, namespace: str) -> _Found:
        """What is known, if it is new enough; what the server says otherwise."""
        kept = await self._cache.find(key)
        if kept and (fixed(source) or self._new_enough(source, kept[0])):
            return _Found(kept[1], kept[0].revision)
        try:
            self._refuse_again(key)
            return await self._fetch(key, SourceRequest(source, namespace, self._management, self._settings), kept)
        except (Denied, NotFound, TryLater) as fault:
            near = kind_of(source) in NEAR
            if not near:
                self._failed.setdefault(key, (self._clock(), fault))
            if kept is None or near or not isinstance(fault, TryLater):
                raise
            log.warning("sources.stale", source=kind_of(source), revision=kept[0].revision, why=fault.message)
            return _Found(kept[1], kept[0].revision, fault.message)

    def _new_enough(self, source: SourceSpec, record: SourceRecord) -> bool:
        return kind_of(source) not in NEAR and self._clock() - record.at < self._settings.interval

    def _refuse_again(self, key: str) -> None:
        """Raises the last fault again while it is young."""
        at, fault = self._failed.get(key, (None, None))
        if at is not None and fault is not None and self._clock() - at < REMEMBERED:
            raise replace(fault)
        self._failed = {each: one for each, one in self._failed.items() if self._clock() - one[0] < REMEMBERED}

    async def _fetch(self, key: str, request: SourceRequest, kept: tuple[SourceRecord, CachedTree] | None) -> _Found:
        async with self._slots[request.namespace], self._cache.partial() as scratch:
            folders = FetchFolders(scratch / "tree", scratch)
            folders.tree.mkdir()
            pull = PULLS[kind_of(request.source)]
            revision = await pull(request, kept[0].revision if kept else "", folders)
            tree = kept[1] if kept and revision == kept[0].revision else await self._cache.keep(folders.tree)
            self._cache.record(key, SourceRecord(tree.digest, revision, self._clock()))
        log.info("sources.fetched", source=kind_of(request.source), revision=revision, digest=tree.digest)
        return _Found(tree, revision)


def kind_of(source: SourceSpec) -> str:
    """The one kind that is written."""
    return next(kind for kind in KINDS if getattr(source, kind) is not None)


def _refuse_unused(source: SourceSpec) -> None:
    """Raises Denied for a verification that would not take place."""
    registry = source.oci or (source.chart and source.chart.repository.startswith("oci://"))
    if source.cosign_key and not registry:
        raise Denied("cosignKey is for charts and artifacts of an OCI registry: use sha256 here", "Unsupported")
    if source.sha256 and kind_of(source) in UNSUMMED:
        raise Denied("sha256 is of one file that is downloaded: name a commit, or leave it out", "Unsupported")


def fixed(source: SourceSpec) -> bool:
    """Whether what it names never changes, by what it is called."""
    chart, git, oci = source.chart, source.git, source.oci
    return bool(
        (chart and exact(chart.version))
        or (git and git.commit)
        or (oci and oci.digest)
        or (source.sha256 and source.url)
    )


def source_key(source: SourceSpec, namespace: str) -> str:
    """One key for whatever comes to the same: other namespaces share it unless something of theirs is used."""
    own = source.credentials or source.cosign_key or kind_of(source) in NEAR
    written = source.model_dump(mode="json", exclude_defaults=True, exclude={"path"})
    said = msgspec.json.encode([written, namespace if own else ""], order="sorted")
    return hashlib.sha256(said).hexdigest()
