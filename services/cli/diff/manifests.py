"""Reads the manifests of alate's kinds from files and folders, and finds every mistake in them."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from events.kube.client import Object
from events.kube.port import Resource
from events.kube.resources import ADDONPROFILES, CLUSTERADDONPROFILES, CLUSTERCLASSIFIERS, COLONIES, TRIGGERS
from schemas import documents
from schemas.crds import GROUP, InvalidResource, read_classifier, read_colony, read_profile
from schemas.documents import InvalidYaml
from services.cli.documents import STANDARD_INPUT, objects_of
from services.edge.preview import check_trigger
from services.errors import BadInput

ENDINGS = frozenset({".yaml", ".yml", ".json"})
"""Files of a folder that are read."""
KINDS: Mapping[str, tuple[Resource, Callable[[Object], object]]] = {
    "Colony": (COLONIES, read_colony),
    "AddonProfile": (ADDONPROFILES, read_profile),
    "ClusterAddonProfile": (CLUSTERADDONPROFILES, read_profile),
    "ClusterClassifier": (CLUSTERCLASSIFIERS, read_classifier),
    "Trigger": (TRIGGERS, check_trigger),
}
"""From each kind to its resource, and what reads it, or raises InvalidResource."""


@dataclass(frozen=True)
class WrittenObject:
    """An object of one of alate's kinds, and the file that it is from."""

    file: str
    resource: Resource
    item: Object
    mistakes: tuple[str, ...] = ()

    @property
    def namespace(self) -> str | None:
        """None: it is of no namespace."""
        return self.item["metadata"].get("namespace") if self.resource.namespaced else None

    @property
    def name(self) -> str:
        """Its name in its namespace."""
        return str(self.item["metadata"].get("name", ""))

    @property
    def label(self) -> str:
        """Its kind, namespace and name, for people."""
        return f"{self.resource.kind} {'/'.join(filter(None, (self.namespace, self.name)))}"


@dataclass
class WrittenObjects:
    """Everything that was found."""

    manifests: list[WrittenObject] = field(default_factory=list)
    mistakes: list[str] = field(default_factory=list)
    """Of files that hold nothing that can be read, one sentence each."""
    skipped: int = 0
    """Objects of other kinds."""

    @property
    def invalid(self) -> int:
        """How many mistakes there are."""
        return len(self.mistakes) + sum(len(each.mistakes) for each in self.manifests)


def read(places: Iterable[Path], namespace: str | None) -> WrittenObjects:
    """The manifests of files and folders; `namespace` is that of objects that name none. Raises BadInput."""
    found, first = WrittenObjects(), dict[str, str]()
    for file in _files(places):
        for item in _objects(file, found):
            if (manifest := _manifest(file, item, namespace, found)) is not None:
                found.manifests.append(_once(manifest, first))
    if not (found.manifests or found.mistakes):
        kinds = ", ".join(KINDS)
        raise BadInput(f"{' '.join(map(str, places))} holds no object of alate: must hold a {kinds}")
    return found


def _files(places: Iterable[Path]) -> Iterator[Path]:
    for place in places:
        if place.is_dir():
            inside = (each for each in place.rglob("*") if each.suffix in ENDINGS and each.is_file())
            yield from sorted(each for each in inside if not _is_hidden(each.relative_to(place)))
        else:
            yield place


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _objects(file: Path, found: WrittenObjects) -> Iterator[Object]:
    """The objects of a file; what is wrong with it as a whole is a mistake. Raises BadInput if it is not there."""
    called = _called(file)
    try:
        text = sys.stdin.read() if file == STANDARD_INPUT else file.read_text("utf-8")
        written = [each for document in documents.documents(text) for each in objects_of(document)]
    except OSError as error:
        raise BadInput(f"{called} cannot be read ({error.strerror}): name files or folders with -f") from error
    except (InvalidYaml, UnicodeDecodeError) as error:
        found.mistakes.append(f"{called}: is not YAML: {error}")
        return
    for each in written:
        if isinstance(each, dict) and isinstance(each.get("metadata"), dict | None):
            yield each
        else:
            found.mistakes.append(f"{called}: holds something that is no object of Kubernetes")


def _manifest(file: Path, item: Object, namespace: str | None, found: WrittenObjects) -> WrittenObject | None:
    """None for an object of another kind."""
    group, _, _ = str(item.get("apiVersion", "")).partition("/")
    if group != GROUP:
        found.skipped += 1
        return None
    kind = KINDS.get(str(item.get("kind")))
    if kind is None:
        told = f"there is no kind {item.get('kind')} of {GROUP}: must be {', '.join(KINDS)}"
        found.mistakes.append(f"{_called(file)}: {told}")
        return None
    resource, check = kind
    meta = dict(item.get("metadata") or {})
    if resource.namespaced:
        meta["namespace"] = meta.get("namespace") or namespace or "default"
    item = {key: value for key, value in item.items() if key != "status"} | {"metadata": meta}
    return WrittenObject(_called(file), resource, item, _mistakes(item, check))


def _mistakes(item: Object, check: Callable[[Object], object]) -> tuple[str, ...]:
    try:
        check(item)
    except InvalidResource as wrong:
        return wrong.mistakes
    return ()


def _once(manifest: WrittenObject, first: dict[str, str]) -> WrittenObject:
    """The manifest; with a mistake if it was read before."""
    before = first.get(manifest.label)
    first[manifest.label] = manifest.file
    twice = () if before is None else (f"it is in {before} already: must be there once",)
    return replace(manifest, mistakes=(*manifest.mistakes, *twice))


def _called(file: Path) -> str:
    return "standard input" if file == STANDARD_INPUT else str(file)
