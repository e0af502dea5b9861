"""The add-ons that profiles had before, kept as ControllerRevisions for clusters that still have them, or go back."""

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from typing import Any

import structlog

from events.errors import Denied, NotFound, TryLater
from events.kube.client import Kube, Object
from events.kube.resources import CLUSTERADDONPROFILES, CONTROLLERREVISIONS
from schemas.crds import AddonSpec, InvalidResource
from schemas.crds.model import read
from services.addons.plan.profile_store import KnownProfile, ProfileName
from services.kubernetes.labels import GROUP
from services.runtime.watch_follower import follow

LABEL = f"{GROUP}/profile"
"""On a ControllerRevision: the kind of the profile that owns it."""
KEPT = 10
"""Revisions of a profile that are kept, as of a Deployment."""
AGAIN = 10.0
"""Seconds until a revision that could not be written is tried again."""

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

    def run(self) -> Coroutine[Any, Any, None]:
        """Watch until cancelled."""
        return follow(self._kube.watch(CONTROLLERREVISIONS, labels=LABEL), self)

    def on_list(self, items: Sequence[Object]) -> None:
        """These are all."""
        self._known.clear()
        for item in items:
            self._keep(item)

    def on_change(self, item: Object, *, gone: bool) -> None:
        """One was added or changed, or is gone."""
        self._drop(item) if gone else self._keep(item)

    async def ensure(self, name: ProfileName, known: KnownProfile) -> None:
        """Write down the profile's add-ons as they are now, and delete the oldest. Raises Fault."""
        kept = self._known.setdefault(name, {})
        own = f"{name.full.replace('/', '.')}-{known.profile.revision}"
        if own in kept and _owner(kept[own]).get("uid") == known.item["metadata"]["uid"]:
            return
        self._keep(await self._written(_document(own, name, known)))
        old = sorted((each for each in kept if each != own), key=lambda each: kept[each].get("revision", 0))
        for each in old[: max(0, len(old) - KEPT)]:
            await self._delete(each, name.home)

    async def _written(self, item: Object) -> Object:
        try:
            return await self._kube.create(CONTROLLERREVISIONS, item)
        except Denied as refused:
            if refused.reason != "AlreadyExists":
                raise
        meta = item["metadata"]
        found = await self._kube.get(CONTROLLERREVISIONS, meta["name"], meta["namespace"])
        if _owner(found).get("uid") != meta["ownerReferences"][0]["uid"]:
            raise TryLater(f"ControllerRevision {meta['name']} is still that of a deleted profile", AGAIN)
        return found

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


def _owner(item: Object) -> Object:
    return next(iter(item["metadata"].get("ownerReferences", ())), {})


def _profile(item: Object) -> ProfileName:
    of_all = item["metadata"]["labels"][LABEL] == CLUSTERADDONPROFILES.kind
    return ProfileName("" if of_all else item["metadata"]["namespace"], _owner(item).get("name", ""))


def _document(own: str, name: ProfileName, known: KnownProfile) -> Object:
    meta = known.item["metadata"]
    owner = {"apiVersion": name.kind.api_version, "kind": name.kind.kind, "name": name.name, "uid": meta["uid"]}
    return {
        "metadata": {
            "name": own,
            "namespace": name.home,
            "labels": {LABEL: name.kind.kind},
            "ownerReferences": [owner],
        },
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
