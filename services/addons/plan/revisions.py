"""The add-ons that profiles had before, kept as ControllerRevisions for clusters that still have them, or go back."""

import asyncio
from collections.abc import Iterator

import structlog

from events.errors import Denied, NotFound
from events.kube.client import Changed, Kube, Listed, Lost, Object
from events.kube.resources import CONTROLLERREVISIONS
from schemas.crds import AddonSpec, InvalidResource
from schemas.crds.model import read
from services.addons.plan.profile_store import KnownProfile, ProfileName
from services.kubernetes.labels import GROUP

LABEL = f"{GROUP}/profile"
"""On a ControllerRevision: the profile's name; that of a ClusterAddonProfile is preceded by ``all.``."""
KEPT = 10
"""Revisions of a profile that are kept, as of a Deployment."""

log = structlog.get_logger()


class Revisions:
    """Every revision of every profile with a rollout, while `run` runs."""

    def __init__(self, kube: Kube) -> None:
        self.listed = asyncio.Event()
        """Set once all are known."""
        self._kube = kube
        self._known: dict[ProfileName, dict[str, Object]] = {}
        """By the revision's own name."""
        self._read: dict[str, dict[tuple[str, str], AddonSpec]] = {}
        """Add-ons by name and digest, of each revision that was read."""

    async def run(self) -> None:
        """Watch until cancelled."""
        async for sight in self._kube.watch(CONTROLLERREVISIONS, labels=LABEL):
            match sight:
                case Listed(items):
                    self._known.clear()
                    for item in items:
                        self._keep(item)
                    self.listed.set()
                case Changed(item, gone):
                    self._drop(item) if gone else self._keep(item)
                case Lost(reason):
                    log.warning("kubernetes.watch_lost", reason=reason)

    async def ensure(self, name: ProfileName, known: KnownProfile) -> None:
        """Write down the profile's add-ons as they are now, and delete the oldest. Raises Fault."""
        own = f"{_flat(name)}-{known.profile.revision}"
        kept = self._known.setdefault(name, {})
        if own in kept:
            return
        item = _document(own, name, known)
        try:
            self._keep(await self._kube.create(CONTROLLERREVISIONS, item))
        except Denied as refused:
            if refused.reason != "AlreadyExists":
                raise
        old = sorted((each for each in kept if each != own), key=lambda each: kept[each].get("revision", 0))
        for each in old[: max(0, len(old) - KEPT)]:
            await self._delete(each, name.home)

    async def _delete(self, name: str, namespace: str) -> None:
        try:
            await self._kube.delete(CONTROLLERREVISIONS, name, namespace)
        except NotFound:
            return

    def find(self, name: ProfileName, addon: str, digest: str) -> AddonSpec | None:
        """An add-on of a profile as it had this digest; None if that is not kept."""
        for own, item in self._known.get(name, {}).items():
            if own not in self._read:
                self._read[own] = dict(_addons(item))
            if (found := self._read[own].get((addon, digest))) is not None:
                return found
        return None

    def _keep(self, item: Object) -> None:
        self._known.setdefault(_profile(item), {})[item["metadata"]["name"]] = item

    def _drop(self, item: Object) -> None:
        self._known.get(_profile(item), {}).pop(item["metadata"]["name"], None)
        self._read.pop(item["metadata"]["name"], None)


def _flat(name: ProfileName) -> str:
    return name.full.replace("/", ".")


def _profile(item: Object) -> ProfileName:
    meta = item["metadata"]
    return ProfileName.of(str(meta["labels"][LABEL]).replace(".", "/"), meta["namespace"])


def _document(own: str, name: ProfileName, known: KnownProfile) -> Object:
    meta = known.item["metadata"]
    owner = {"apiVersion": name.kind.api_version, "kind": name.kind.kind, "name": name.name, "uid": meta["uid"]}
    return {
        "metadata": {"name": own, "namespace": name.home, "labels": {LABEL: _flat(name)}, "ownerReferences": [owner]},
        "data": {"addons": known.item["spec"]["addons"]},
        "revision": known.profile.generation,
    }


def _addons(item: Object) -> Iterator[tuple[tuple[str, str], AddonSpec]]:
    """The add-ons of a revision; one that an earlier version wrote may no longer be readable."""
    for written in item.get("data", {}).get("addons", ()):
        try:
            spec = read(AddonSpec, written)
        except InvalidResource as wrong:
            log.warning("profile.revision_unreadable", name=item["metadata"]["name"], reason=str(wrong))
        else:
            yield (spec.name, spec.digest), spec
