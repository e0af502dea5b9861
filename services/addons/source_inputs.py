"""What the sources of an add-on hold: its artifact, and the texts of its values."""

from base64 import b64decode
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256

import msgspec

from events.errors import Denied, NotFound, TryLater
from events.kube.client import Kube
from events.kube.resources import CONFIGMAPS, SECRETS
from schemas.crds.sources import SourceSpec, ValuesRef
from services.addons.descriptions import Description
from services.addons.objects.faults import AGAIN, HeldBack, MissingPrerequisite
from services.addons.sources.artifact import Artifact
from services.addons.sources.sources import Sources, fixed

KEPT = 64
"""Contents of rollouts that are remembered, for clusters that keep or get back what others have no longer."""
HELD = 30.0
"""Seconds between two looks whether the sources hold again what they shall."""


@dataclass(frozen=True)
class SourceContent:
    """What the sources of one add-on hold."""

    artifact: Artifact
    values: tuple[str | None, ...]
    """In the order of `valuesFrom`; None: an optional one is not there."""
    digest: str
    """Of what may change without a change of the description; empty: nothing may."""


class SourceInputs:
    """Reads the sources of add-ons."""

    def __init__(self, management: Kube, sources: Sources | None) -> None:
        self._management = management
        self._sources = sources
        self._kept: OrderedDict[str, SourceContent] = OrderedDict()

    async def digest(self, description: Description) -> str:
        """Of what the sources hold now, which is remembered. Raises MissingPrerequisite, Denied, TryLater."""
        spec = description.spec
        if spec.source is None or (fixed(spec.source) and not spec.values_from):
            return ""
        return self._keep(await self._read(description, spec.source)).digest

    async def of(self, description: Description, source: SourceSpec) -> SourceContent:
        """What they hold, or held when the rollout of its profile began. Raises HeldBack, and as `digest`."""
        wanted = description.sources
        if not wanted:
            return await self._read(description, source)
        found = self._kept.get(wanted) or self._keep(await self._read(description, source))
        if found.digest != wanted:
            raise HeldBack("its sources hold something else by now, which its rollout has not brought here", HELD)
        return found

    def _keep(self, found: SourceContent) -> SourceContent:
        self._kept[found.digest] = found
        self._kept.move_to_end(found.digest)
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return found

    async def _read(self, description: Description, source: SourceSpec) -> SourceContent:
        artifact = await self._fetched(description, source)
        texts = [await self._text(ref, description.namespace) for ref in description.spec.values_from]
        moving = "" if fixed(source) else artifact.digest
        said = msgspec.json.encode([moving, texts])
        return SourceContent(artifact, tuple(texts), sha256(said).hexdigest()[:16] if moving or texts else "")

    async def _fetched(self, description: Description, source: SourceSpec) -> Artifact:
        if self._sources is None:
            raise Denied("sources cannot be fetched here: no folder is set for them", "NotInstalled")
        try:
            wide = description.cluster_wide
            return await self._sources.fetch(source, description.namespace, cluster_wide=wide)
        except NotFound as missing:
            raise MissingPrerequisite(missing.message, AGAIN) from missing
        except TryLater as away:  # told at once: a wrong address is seldom right later
            raise MissingPrerequisite(away.message, away.after) from away

    async def _text(self, ref: ValuesRef, namespace: str) -> str | None:
        what = values_name(ref, namespace)
        try:
            found = await self._management.get(SECRETS if ref.kind == "Secret" else CONFIGMAPS, ref.name, namespace)
        except NotFound as missing:
            if ref.optional:
                return None
            raise MissingPrerequisite(f"its values need {what}, which is not there", AGAIN) from missing
        data = found.get("data") or {}
        if ref.key not in data:
            if ref.optional:
                return None
            raise MissingPrerequisite(f"its values need the key {ref.key} of {what}, which is not there", AGAIN)
        return b64decode(data[ref.key]).decode(errors="replace") if ref.kind == "Secret" else str(data[ref.key])


def values_name(ref: ValuesRef, namespace: str) -> str:
    """An object with values, for people."""
    return f"{ref.kind} {namespace}/{ref.name}"
