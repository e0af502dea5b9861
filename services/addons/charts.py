"""Add-ons that are charts: their release, its objects and their drift, and how they go."""

from collections.abc import Iterable
from functools import partial

import msgspec

from events.errors import NotFound
from events.kube.client import Object
from events.kube.discovery import find
from services.addons.contents import ChartRelease
from services.addons.helm.releases import Helm, HelmRelease, InstalledRelease
from services.addons.objects.apply import ApplyResult, Written
from services.addons.objects.compare import HELM, Compared, compare, compare_existing
from services.addons.objects.faults import CONTESTED, OwnedByAnother
from services.addons.objects.in_parallel import in_parallel
from services.addons.objects.target import Target, configuration, owned, read_piece
from services.addons.owned_objects import owner_label
from services.addons.record import (
    InventoryRecord,
    kept_record,
    read_records,
    record_of,
    rewrite_record,
    write_record,
)
from services.addons.releases import release_name

HOOKS = 300.0
"""Seconds that hooks may take, if nothing else is written."""


def wanted_release(content: ChartRelease, kubeconfig: str, user: str) -> HelmRelease:
    """The release as it is wanted, in the name of `user` if that is not empty."""
    options = content.options
    return HelmRelease(
        kubeconfig=kubeconfig,
        release=content.release,
        namespace=content.namespace,
        as_user=user,
        timeout_seconds=options.timeout.total_seconds() if options.timeout else HOOKS,
        skip_hooks=options.skip_hooks,
        chart=content.chart.path,
        digest=content.chart.digest,
        values=content.values,
        max_history=options.max_history,
        roll_back=options.roll_back,
        skip_crds=options.skip_crds,
    )


async def apply_chart(helm: Helm, target: Target, wanted: HelmRelease) -> ApplyResult:
    """Install or upgrade the release; where it is as wanted, correct what others have changed of its objects.

    The record is written first, so that a release that is interrupted is not forgotten. Raises as `Helm`.
    """
    name = release_name(wanted.namespace, wanted.release)
    await refuse_anothers(target, name)
    kept = await kept_record(target.records, target.addon)
    keep = target.keep_while
    record = msgspec.structs.replace(record_of(kept), priority=target.priority, release=name, keep_while=keep)
    await rewrite_record(target.records, target.addon, record, kept)
    installed = await helm.ensure(target.kube, wanted)
    if not installed.changed:
        await _correct(target, installed.objects)
    has = tuple(owned(target, each) for each in installed.objects)
    await write_record(target.records, target.addon, InventoryRecord(has, (), target.priority, name, keep))
    return ApplyResult(tuple(await _read(target, installed)))


async def refuse_anothers(target: Target, release: str) -> None:
    """Raises OwnedByAnother if the release is that of an add-on whose priority is not worse."""
    own = owner_label(target.addon)
    for name, record in (await read_records(target.records)).items():
        if name != own and record.release == release and record.priority <= target.priority:
            raise OwnedByAnother(f"the release {release} is that of {name}", CONTESTED, owner=name)


async def compare_chart(helm: Helm, target: Target, wanted: HelmRelease, *, thorough: bool) -> Compared | None:
    """How the release differs from what is wanted, None if another revision is; without `thorough` only what is gone.

    A thorough comparison starts a process of Helm for what the release consists of, unless that is known.
    """
    if not await helm.is_current(target.kube, wanted):
        return None
    if not thorough:
        return await compare_existing(target)
    installed = await helm.status(target.kube, wanted)
    return await compare(target, installed.objects, manager=HELM)


async def _correct(target: Target, objects: Iterable[Object]) -> None:
    """Write again what differs, as Helm would."""
    listed = list(objects)
    found = await compare(target, listed, manager=HELM)
    wrong = {*found.missing, *(each.one for each in found.drifted)}
    await in_parallel(partial(_write, target), [each for each in listed if owned(target, each) in wrong])


async def _write(target: Target, document: Object) -> None:
    piece = await read_piece(target, document)
    if piece.resource is not None:
        await target.kube.apply(piece.resource, configuration(target, piece, {}), manager=HELM)


async def _read(target: Target, installed: InstalledRelease) -> list[Written]:
    found = await in_parallel(partial(_read_one, target, installed), installed.objects)
    return [each for each in found if each is not None]


async def _read_one(target: Target, installed: InstalledRelease, document: Object) -> Written | None:
    one = owned(target, document)
    try:
        resource = await find(target.kube, one.api_version, one.kind)
        return Written(resource, await target.kube.get(resource, one.name, one.namespace), installed.changed)
    except NotFound:
        return None
