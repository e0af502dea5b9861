"""Keeps the kubeconfig Secret of each Colony equal to the Secrets of its clusters."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from events.errors import Denied, Fault, NotFound, TryLater
from events.kube.client import Kube, Object
from events.kube.kubeconfig import Chosen
from events.kube.resources import SECRETS
from services.gateway.annotations import MANAGER
from services.gateway.kubeconfig.secret import (
    KubeconfigSources,
    absent_status,
    is_owned_by,
    is_owned_by_predecessor,
    name_taken,
    secret_data,
    secret_manifest,
    secret_name,
    write_denied,
    written_status,
)
from services.gateway.read_models import Name
from services.gateway.status.facts import KubeconfigStatus
from services.kubernetes.kubeconfig import chosen_context, merged_yaml

POLL_ROUND = 600.0
"""Seconds in which every Secret is read once: an old client certificate stays valid for months after its renewal."""
CONFLICTS = ("AlreadyExists", "Conflict")
"""Reasons of the API server if somebody else was faster."""
RETRY_NAME = 2.0
"""Seconds until the next try for a name that an earlier Colony's Secret still has."""


@dataclass
class KubeconfigRecord:
    """What is known of one Colony's Secret; contents are not kept."""

    uid: str
    """The uid of the Colony."""
    sources: KubeconfigSources = field(default_factory=dict)
    status: KubeconfigStatus = field(default_factory=KubeconfigStatus)
    versions: dict[str, str] = field(default_factory=dict)
    """The resourceVersion of each Secret that was read or written; empty for one that was not there."""

    current: bool = True
    """False once something may have changed since it was read."""

    @property
    def absent(self) -> bool:
        """Whether the Secret does not exist, and nobody has its name."""
        return self.current and self.status == KubeconfigStatus()

    def serves(self, sources: KubeconfigSources) -> bool:
        """Whether the Secret is complete for these sources."""
        whole = self.status.condition is None or self.status.condition.holds is True
        return self.current and whole and self.sources == sources


class Kubeconfigs:
    """The kubeconfig Secrets of all Colonies."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube
        self._records: dict[Name, KubeconfigRecord] = {}

    def status(self, meta: Object) -> KubeconfigStatus | None:
        """What is known of a Colony's Secret; None before it was first read."""
        record = self._record(meta)
        return record.status if record else None

    def forget(self, name: Name) -> None:
        """Drop what is known of a Colony that is gone; its Secret goes with it."""
        self._records.pop(name, None)

    async def ensure(self, meta: Object, sources: KubeconfigSources, *, never_created: bool) -> None:
        """Make the Secret contain these clusters and no others; does nothing if nothing has changed.

        `never_created`: no cluster of this Colony was ever created. Raises TryLater.
        """
        name, uid = (meta["namespace"], meta["name"]), meta["uid"]
        record = self._record(meta)
        if record is None and never_created:
            record = self._records[name] = KubeconfigRecord(uid)
        if record is not None and record.serves(sources):
            return
        absent = record is not None and record.absent
        if record is not None:
            record.current = False
        status = record.status if record else KubeconfigStatus()
        self._records[name] = await self._synced(meta, KubeconfigRecord(uid, sources, status), absent=absent)

    async def poll_secrets(self, touch: Callable[[Name], None]) -> None:
        """Read every Secret in turn, for ever; call `touch` with a Colony if one of its Secrets has changed."""
        while True:
            names = [name for name, record in self._records.items() if record.versions]
            for name in names:
                await asyncio.sleep(POLL_ROUND / len(names))
                if await self._has_changed(name):
                    touch(name)
            if not names:
                await asyncio.sleep(POLL_ROUND)

    async def _has_changed(self, name: Name) -> bool:
        """Whether a Secret of a Colony has changed."""
        record = self._records.get(name)
        if record is None:
            return False
        try:
            same = all([await self._version(name[0], secret) == version for secret, version in record.versions.items()])
        except Fault:  # nobody can say now: the next round asks again
            return False
        if same or self._records.get(name) is not record:
            return False
        record.current = False
        return True

    def _record(self, meta: Object) -> KubeconfigRecord | None:
        """What is known of this Colony, and not of an earlier one of its name."""
        record = self._records.get((meta["namespace"], meta["name"]))
        return record if record is not None and record.uid == meta["uid"] else None

    async def _synced(self, meta: Object, record: KubeconfigRecord, *, absent: bool) -> KubeconfigRecord:
        """The record after the Secret was written, or the write was refused. Raises TryLater."""
        try:
            record.status = await self._write(meta, record, absent=absent)
        except NotFound as late:  # what was there a moment ago, or the namespace
            raise TryLater(late.message) from late
        except Denied as why:
            if why.reason in CONFLICTS:
                raise TryLater(why.message) from why
            record.status = write_denied(record.status.secret, why)
        return record

    async def _write(self, meta: Object, record: KubeconfigRecord, *, absent: bool) -> KubeconfigStatus:
        """Write the Secret. It is read before its sources, so that an older version never replaces a newer one."""
        space, own = meta["namespace"], secret_name(meta)
        there = None if absent else await self._get(space, own, record)
        if there is not None and not is_owned_by(there, meta):
            if is_owned_by_predecessor(there, meta):
                raise TryLater(f"Secret {space}/{own} is still an earlier Colony's of the name", RETRY_NAME)
            return name_taken(meta) if record.sources else KubeconfigStatus()
        found, left_out = await self._read(space, record)
        if found:
            record.versions[own] = await self._written(meta, there, merged_yaml(found))
            return written_status(meta, left_out)
        if there is not None:
            await self._kube.delete(SECRETS, own, space, uid=there["metadata"]["uid"])
        record.versions.pop(own, None)
        return absent_status(left_out)

    async def _read(self, space: str, record: KubeconfigRecord) -> tuple[dict[str, Chosen], dict[str, str]]:
        """The kubeconfig of each cluster, and why the others have none."""
        found, left_out = {}, {}
        for context, source in record.sources.items():
            secret = await self._get(space, source.secret, record)
            try:
                choice = chosen_context(secret or {}, source.secret)
            except Denied:  # its message may quote what the Secret holds, and nobody may read that here
                left_out[context] = f"Secret {source.secret} holds no kubeconfig that can be taken"
                continue
            if choice is None:
                left_out[context] = f"Secret {source.secret} holds no kubeconfig yet"
            else:
                found[context] = choice
        return found, left_out

    async def _written(self, meta: Object, there: Object | None, text: str) -> str:
        """Write the text unless it is there; returns the resourceVersion."""
        if there is None:
            made = await self._kube.create(SECRETS, secret_manifest(meta, text), manager=MANAGER)
            return str(made["metadata"]["resourceVersion"])
        version, data = there["metadata"]["resourceVersion"], secret_data(text)
        if there.get("data") == data:
            return str(version)
        patch = {"metadata": {"resourceVersion": version}, "data": data}
        changed = await self._kube.patch(SECRETS, there["metadata"]["name"], meta["namespace"], patch, manager=MANAGER)
        return str(changed["metadata"]["resourceVersion"])

    async def _get(self, space: str, secret: str, record: KubeconfigRecord) -> Object | None:
        try:
            found = await self._kube.get(SECRETS, secret, space)
        except NotFound:
            record.versions[secret] = ""
            return None
        record.versions[secret] = _version(found)
        return found

    async def _version(self, space: str, secret: str) -> str:
        try:
            return _version(await self._kube.get(SECRETS, secret, space))
        except NotFound:
            return ""


def _version(secret: Object) -> str:
    return str(secret["metadata"]["resourceVersion"])
