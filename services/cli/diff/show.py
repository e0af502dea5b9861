"""Compares manifests with what is in the management cluster, by a dry run of an apply, and prints what would change."""

from collections.abc import Iterator
from typing import NamedTuple

from events.errors import Denied, Fault, NotFound, TryLater
from events.kube.client import Kube, Object
from services.cli.connection import Connection
from services.cli.diff.compare import FieldDifference, differences
from services.cli.diff.manifests import WrittenObject, WrittenObjects
from services.cli.output.render import Form, document
from services.errors import BadInput

MANAGER = "alate"
"""The field manager of the dry run where nobody has applied the object yet."""
EQUAL, DIFFERENT, INVALID = 0, 1, 2
"""Exit codes, as `kubectl diff` has them."""


class DiffResult(NamedTuple):
    """What came of one manifest."""

    manifest: WrittenObject
    state: str
    """valid, invalid, new, changed or unchanged."""
    differences: tuple[FieldDifference, ...] = ()
    mistakes: tuple[str, ...] = ()

    def item(self) -> dict[str, object]:
        """As JSON would have it."""
        one = self.manifest
        return {
            "kind": one.resource.kind,
            "namespace": one.namespace,
            "name": one.name,
            "file": one.file,
            "state": self.state,
            "fields": [{"path": each.path, "from": each.before, "to": each.after} for each in self.differences],
            "mistakes": list(self.mistakes),
        }

    def lines(self) -> Iterator[str]:
        """For people."""
        yield f"{self.manifest.label}  {self.state}"
        yield from (f"  {self.manifest.file}: {each}" for each in self.mistakes)
        yield from (f"  {line}" for each in self.differences for line in each.lines())


async def compared(connection: Connection, found: WrittenObjects) -> list[DiffResult]:
    """The result of each manifest. Raises BadInput if the management cluster cannot be asked."""
    try:
        async with connection.kube() as kube:
            return [await _compared(kube, each) for each in found.manifests]
    except TryLater as away:
        raise BadInput(f"the management cluster does not answer ({away}): use --offline to check files alone") from away
    except Fault as why:
        raise BadInput(f"the management cluster cannot be asked: {why}") from why


def checked(found: WrittenObjects) -> list[DiffResult]:
    """The result of each manifest, without any cluster."""
    return [_checked(each) for each in found.manifests]


def _checked(manifest: WrittenObject) -> DiffResult:
    return DiffResult(manifest, "invalid" if manifest.mistakes else "valid", mistakes=manifest.mistakes)


async def _compared(kube: Kube, manifest: WrittenObject) -> DiffResult:
    """Raises TryLater, Denied for who must not read."""
    if manifest.mistakes:
        return _checked(manifest)
    try:
        live = await kube.get(manifest.resource, manifest.name, manifest.namespace)
    except NotFound:
        live = None
    try:
        after = await kube.apply(manifest.resource, manifest.item, manager=_applier(live), dry_run=True)
    except (Denied, NotFound) as why:
        return DiffResult(manifest, "invalid", mistakes=(f"the management cluster refuses it: {why}",))
    found = tuple(differences(live, after))
    return DiffResult(manifest, "new" if live is None else "changed" if found else "unchanged", found)


def _applier(live: Object | None) -> str:
    """Who has applied the object: only then a field that its file has no longer is seen to go."""
    entries = (live or {}).get("metadata", {}).get("managedFields") or ()
    by = [each["manager"] for each in entries if each.get("operation") == "Apply" and not each.get("subresource")]
    return by[0] if len(by) == 1 else MANAGER


def written(found: WrittenObjects, results: list[DiffResult], form: Form) -> str:
    """All results."""
    if form != "table":
        items = [each.item() for each in results]
        return document({"objects": items, "mistakes": found.mistakes, "skipped": found.skipped}, form)
    lines = [*found.mistakes, *(line for each in results for line in each.lines())]
    skipped = [f"{found.skipped} objects of other kinds are left out"] if found.skipped else []
    return "".join(f"{line}\n" for line in (*lines, *skipped))


def exit_code(found: WrittenObjects, results: list[DiffResult]) -> int:
    """0: nothing would change; 1: something would; 2: something is wrong."""
    if found.mistakes or any(each.state == "invalid" for each in results):
        return INVALID
    return DIFFERENT if any(each.state in ("new", "changed") for each in results) else EQUAL
