"""What an apply of an add-on would change on its cluster, and which of its objects another one has."""

from collections.abc import Iterable

from events.errors import Denied
from events.kube.client import Object
from services.addons.charts import refuse_anothers
from services.addons.helm.releases import Helm, HelmRelease
from services.addons.objects.claims import is_shared, rivals
from services.addons.objects.compare import HELM, Compared, compare
from services.addons.objects.faults import OwnedByAnother
from services.addons.objects.target import Target, read
from services.addons.record import read_record
from services.addons.releases import release_name


async def dry_run_objects(target: Target, documents: Iterable[Object]) -> str:
    """What an apply of objects would change. Raises TryLater, Denied."""
    listed = list(documents)
    return described(await compare(target, listed), await _conflicts(target, listed))


async def dry_run_chart(helm: Helm, target: Target, release: HelmRelease) -> str:
    """What an install or upgrade would change. Raises TryLater, Denied."""
    try:
        await refuse_anothers(target, release_name(release.namespace, release.release))
    except OwnedByAnother as conflict:
        return f"conflict: {conflict.message}"
    rendered = await helm.render(target.kube, release)
    return described(await compare(target, rendered.objects, manager=HELM), ())


async def dry_run_withdrawal(target: Target) -> str:
    """What would go, as the profile selects the cluster no longer."""
    record = await read_record(target.records, target.addon)
    what = f"the release {record.release}" if record.release else f"{len(record.has)} objects"
    return f"its profile selects the cluster no longer: {what} would be withdrawn"


def described(found: Compared, conflicts: tuple[str, ...]) -> str:
    """What an apply would change, counted, and the first conflict or else the first change in full."""
    if conflicts:
        return f"conflict: {conflicts[0]}"
    if found.as_wanted:
        return "nothing would change"
    counts = ((len(found.missing), "created"), (len(found.drifted), "changed"), (len(found.surplus), "deleted"))
    said = ", ".join(f"{number} {what}" for number, what in counts if number)
    first = next((str(each) for each in (*found.refused, *found.drifted)), "")
    return f"{said or 'nothing'} would be written{f'; {first}' if first else ''}"


async def _conflicts(target: Target, documents: list[Object]) -> tuple[str, ...]:
    """Why objects would stay with their owners."""
    pieces = await read(target, documents)
    records = await rivals(target, pieces, await read_record(target.records, target.addon))
    told: list[str] = []
    for piece in pieces:
        try:
            await is_shared(piece, target, records)
        except OwnedByAnother as conflict:
            told.append(conflict.message)
        except Denied:  # the comparison says so
            continue
    return tuple(told)
