"""The Secret that opens all clusters of a Colony is kept as the Secrets of its clusters are now."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from events.errors import Denied, Fault, NotFound, TryLater
from events.kube.client import Kube, Object
from events.kube.kubeconfig import Chosen
from events.kube.resources import SECRETS
from services.gateway.annotations import MANAGER
from services.gateway.kubeconfig import merge
from services.gateway.kubeconfig import secret as merged
from services.gateway.kubeconfig.merge import Sources, Told
from services.gateway.read_models import Name
from services.kubernetes.kubeconfig import opens, written

ROUND = 600.0
"""Seconds in which all Secrets are looked at once: a client certificate is good for months after the next is there."""
FASTER = ("AlreadyExists", "Conflict")
"""Why the API server refuses what somebody else has done, or changed, meanwhile."""
GOING = 2.0
"""Seconds until it is asked again for a name that an earlier Colony's Secret still has."""


@dataclass
class _Kept:
    """What is known of one Colony's Secret; contents are not kept."""

    uid: str
    """The Colony's."""
    sources: Sources = field(default_factory=dict)
    told: Told = field(default_factory=Told)
    versions: dict[str, str] = field(default_factory=dict)
    """The resourceVersion of each Secret that was read or written; empty for one that was not there."""

    sure: bool = True
    """Nothing happened since that nobody could follow."""

    @property
    def absent(self) -> bool:
        """It is not there, and nobody has its name."""
        return self.sure and self.told == Told()

    def serves(self, sources: Sources) -> bool:
        """Nothing has to be done for these."""
        whole = self.told.verdict is None or self.told.verdict.holds is True
        return self.sure and whole and self.sources == sources


class Kubeconfigs:
    """Those of all Colonies."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube
        self._kept: dict[Name, _Kept] = {}

    def told(self, meta: Object) -> Told | None:
        """What is known of it; None before it was ever looked at."""
        kept = self._known(meta)
        return kept.told if kept else None

    def forget(self, name: Name) -> None:
        """The Colony is gone, and its Secret with it."""
        self._kept.pop(name, None)

    async def keep(self, meta: Object, sources: Sources, *, unfounded: bool) -> None:
        """Have the Secret open these clusters and no others. Level-driven: asks nothing where nothing has changed.

        `unfounded`: no cluster of this Colony ever was founded, so none was opened. Raises TryLater.
        """
        name, uid = (meta["namespace"], meta["name"]), meta["uid"]
        kept = self._known(meta)
        if kept is None and unfounded:
            kept = self._kept[name] = _Kept(uid)
        if kept is not None and kept.serves(sources):
            return
        absent = kept is not None and kept.absent
        if kept is not None:
            kept.sure = False
        self._kept[name] = await self._brought(meta, _Kept(uid, sources, kept.told if kept else Told()), absent=absent)

    async def follow(self, touch: Callable[[Name], None]) -> None:
        """Look at every Secret in turn, for ever; `touch` a Colony of which one has changed."""
        while True:
            names = [name for name, kept in self._kept.items() if kept.versions]
            for name in names:
                await asyncio.sleep(ROUND / len(names))
                if await self._moved(name):
                    touch(name)
            if not names:
                await asyncio.sleep(ROUND)

    async def _moved(self, name: Name) -> bool:
        """Whether a Secret of a Colony is another than it was."""
        kept = self._kept.get(name)
        if kept is None:
            return False
        try:
            same = all([await self._version(name[0], secret) == version for secret, version in kept.versions.items()])
        except Fault:  # nobody can say now: the next round asks again
            return False
        if same or self._kept.get(name) is not kept:
            return False
        kept.sure = False
        return True

    def _known(self, meta: Object) -> _Kept | None:
        """Of this very Colony: what is known of an earlier one of its name says nothing."""
        kept = self._kept.get((meta["namespace"], meta["name"]))
        return kept if kept is not None and kept.uid == meta["uid"] else None

    async def _brought(self, meta: Object, kept: _Kept, *, absent: bool) -> _Kept:
        """What is known once it is as it has to be, or somebody has said why it cannot be. Raises TryLater."""
        try:
            kept.told = await self._write(meta, kept, absent=absent)
        except NotFound as late:  # what was there a moment ago, or the namespace
            raise TryLater(late.message) from late
        except Denied as why:
            if why.reason in FASTER:
                raise TryLater(why.message) from why
            kept.told = merge.denied(kept.told.secret, why)
        return kept

    async def _write(self, meta: Object, kept: _Kept, *, absent: bool) -> Told:
        """See to it. The Secret itself is read first, so that what it becomes is never older than what it was."""
        space, own = meta["namespace"], merge.secret_name(meta)
        there = None if absent else await self._there(space, own, kept)
        if there is not None and not merged.is_of(there, meta):
            if merged.is_of_an_earlier(there, meta):
                raise TryLater(f"Secret {space}/{own} is still an earlier Colony's of the name", GOING)
            return merge.taken(meta) if kept.sources else Told()
        found, left_out = await self._read(space, kept)
        if found:
            kept.versions[own] = await self._written(meta, there, written(found))
            return merge.opened(meta, left_out)
        if there is not None:
            await self._kube.delete(SECRETS, own, space, uid=there["metadata"]["uid"])
        kept.versions.pop(own, None)
        return merge.unopened(left_out)

    async def _read(self, space: str, kept: _Kept) -> tuple[dict[str, Chosen], dict[str, str]]:
        """What opens each cluster, and of each that nothing opens, why."""
        found, left_out = {}, {}
        for called, source in kept.sources.items():
            secret = await self._there(space, source.secret, kept)
            try:
                choice = opens(secret or {}, source.secret)
            except Denied:  # its message may quote what the Secret holds, and nobody may read that here
                left_out[called] = f"Secret {source.secret} holds no kubeconfig that can be taken"
                continue
            if choice is None:
                left_out[called] = f"Secret {source.secret} holds no kubeconfig yet"
            else:
                found[called] = choice
        return found, left_out

    async def _written(self, meta: Object, there: Object | None, text: str) -> str:
        """The version it then has; nothing is written where it says so already."""
        if there is None:
            made = await self._kube.create(SECRETS, merged.manifest(meta, text), manager=MANAGER)
            return str(made["metadata"]["resourceVersion"])
        version, data = there["metadata"]["resourceVersion"], merged.data(text)
        if there.get("data") == data:
            return str(version)
        patch = {"metadata": {"resourceVersion": version}, "data": data}
        changed = await self._kube.patch(SECRETS, there["metadata"]["name"], meta["namespace"], patch, manager=MANAGER)
        return str(changed["metadata"]["resourceVersion"])

    async def _there(self, space: str, secret: str, kept: _Kept) -> Object | None:
        try:
            found = await self._kube.get(SECRETS, secret, space)
        except NotFound:
            kept.versions[secret] = ""
            return None
        kept.versions[secret] = _version(found)
        return found

    async def _version(self, space: str, secret: str) -> str:
        try:
            return _version(await self._kube.get(SECRETS, secret, space))
        except NotFound:
            return ""


def _version(secret: Object) -> str:
    return str(secret["metadata"]["resourceVersion"])
