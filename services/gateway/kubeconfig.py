"""Keeps one Secret per Colony with the kubeconfigs of all its clusters."""

import asyncio
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from events.errors import Denied, Fault, NotFound, TryLater
from events.kube.client import Kube, Object
from events.kube.kubeconfig import Chosen, chosen_context, context_name, merged_yaml
from events.kube.resources import SECRETS
from schemas.cluster import kubeconfig_of
from schemas.crds.manifest import GROUP, VERSION
from services.gateway.read_models import Name
from services.gateway.status.facts import ConditionState, Facts, KubeconfigStatus
from services.gateway.wishes import MANAGER
from services.kubernetes.labels import MANAGER as MANAGED_BY

SUFFIX = ".kubeconfig"
"""No back end's Secret ends so, but in ``-kubeconfig``; a Colony may have the name of one of their clusters."""
WRITTEN = ConditionState(holds=True, reason="Written")


class KubeconfigSource(NamedTuple):
    """Where the kubeconfig of one cluster is, and whether that is a reason to read it again."""

    secret: str
    unreachable: bool = False
    """The inventory cannot reach the cluster: its kubeconfig may have been rotated."""


KubeconfigSources = Mapping[str, KubeconfigSource]
"""By context of the kubeconfig."""


def sources(facts: Iterable[Facts]) -> KubeconfigSources:
    """The source of each cluster whose API was reached, in the order of the status."""
    found = {}
    for each in facts:
        secret = kubeconfig_of(each.cluster)
        if secret and not each.dropped:
            unreachable = each.seen is not None and not each.seen.known
            found[context_name(each.wish.colony, each.wish.cluster)] = KubeconfigSource(secret, unreachable)
    return found


def secret_name(meta: Object) -> str:
    """The name of a Colony's Secret, by the Colony's metadata."""
    return f"{meta['name']}{SUFFIX}"


def name_taken(meta: Object) -> KubeconfigStatus:
    """The status if the name is taken by a Secret that is not the Colony's."""
    return _not_written(
        "NameTaken", f"Secret {secret_name(meta)} is not of this Colony and stays as it is: delete or rename it"
    )


def write_denied(secret: str | None, why: Denied) -> KubeconfigStatus:
    """The status if the API server refuses the write."""
    return _not_written(why.reason, f"the kubeconfig of all clusters cannot be written: {why.message}", secret)


def written_status(meta: Object, left_out: Mapping[str, str]) -> KubeconfigStatus:
    """The status of a Secret that exists; some clusters may be missing in it, each for a reason."""
    if not left_out:
        return KubeconfigStatus(secret_name(meta), WRITTEN)
    return _not_written("Incomplete", _left_out_message(left_out), secret_name(meta))


def absent_status(left_out: Mapping[str, str]) -> KubeconfigStatus:
    """The status if there is no Secret, as no cluster could be in it."""
    return _not_written("Incomplete", _left_out_message(left_out)) if left_out else KubeconfigStatus()


def _left_out_message(left_out: Mapping[str, str]) -> str:
    return "; ".join(f"{called} is left out: {why}" for called, why in left_out.items())


def _not_written(reason: str, message: str, secret: str | None = None) -> KubeconfigStatus:
    return KubeconfigStatus(secret, ConditionState(holds=False, reason=reason, message=message))


def secret_manifest(meta: Object, text: str) -> Object:
    """The Secret, owned by its Colony, so that Kubernetes deletes it with that."""
    owner = {"apiVersion": f"{GROUP}/{VERSION}", "kind": "Colony", "name": meta["name"], "uid": meta["uid"]}
    return {
        "metadata": {
            "name": secret_name(meta),
            "namespace": meta["namespace"],
            "labels": {"app.kubernetes.io/managed-by": MANAGED_BY, f"{GROUP}/colony": meta["name"]},
            "ownerReferences": [owner | {"controller": True}],
        },
        "type": f"{GROUP}/kubeconfig",
        "data": secret_data(text),
    }


def secret_data(text: str) -> Mapping[str, str]:
    """The data of the Secret."""
    return {"value": b64encode(text.encode()).decode()}


def is_owned_by(secret: Object, meta: Object) -> bool:
    """Whether a Secret is owned by this Colony: its name alone proves nothing."""
    return meta["uid"] in _owners(secret).values()


def is_owned_by_predecessor(secret: Object, meta: Object) -> bool:
    """Whether it is owned by an earlier Colony of the same name: Kubernetes deletes it."""
    return meta["name"] in _owners(secret)


def _owners(secret: Object) -> Mapping[str, str]:
    """The uids of the Colonies that own a Secret, by their names."""
    owners = secret["metadata"].get("ownerReferences") or ()
    return {each["name"]: each["uid"] for each in owners if each["kind"] == "Colony" and _is_colony_api(each)}


def _is_colony_api(owner: Object) -> bool:
    return str(owner["apiVersion"]).partition("/")[0] == GROUP


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
