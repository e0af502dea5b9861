"""The kinds that a cluster serves: the built-in ones and those of its CustomResourceDefinitions."""

from collections.abc import Iterator

from services.sandbox.api.schema.custom import DEFINITIONS, Served, kinds_of
from services.sandbox.api.schema.kinds import ServedKind, builtins
from services.sandbox.api.store.store import Store, StoreChange, Topic


class Catalog:
    """Finds kinds; follows the definitions in the store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._custom: dict[str, dict[str, Served]] = {}
        store.listeners.append(self._follow)

    def load(self) -> None:
        """Read every stored definition."""
        for cluster in self._store.clusters:
            for (_, name), entry in self._store.table(Topic(cluster, *DEFINITIONS)).items():
                self._serve(cluster, name, kinds_of(entry.object()))

    def find(self, cluster: str, group: str, version: str, plural: str) -> ServedKind | None:
        at = (group, version, plural)
        return builtins().get(at) or next((s[at] for s in self._of(cluster) if at in s), None)

    def by_kind(self, cluster: str, api_version: str, kind: str) -> ServedKind | None:
        """The kind that an owner reference or a body names."""
        return next((k for k in self.all(cluster) if k.kind == kind and k.api_version == api_version), None)

    def all(self, cluster: str) -> Iterator[ServedKind]:
        """All kinds that a cluster serves."""
        yield from builtins().values()
        for served in self._of(cluster):
            yield from served.values()

    def taken(self, cluster: str, name: str, group: str, kind: str) -> bool:
        """Whether another definition of the group has this kind."""
        others = (s for n, s in self._custom.get(cluster, {}).items() if n != name)
        return any(k.kind == kind and k.group == group for s in others for k in s.values())

    def forget(self, cluster: str) -> None:
        self._custom.pop(cluster, None)

    def _of(self, cluster: str) -> Iterator[Served]:
        return iter(self._custom.get(cluster, {}).values())

    def _serve(self, cluster: str, name: str, served: Served) -> None:
        self._custom.setdefault(cluster, {})[name] = served

    def _follow(self, change: StoreChange) -> None:
        if change.key[1:3] != DEFINITIONS:
            return
        definition = change.after.read() if change.after else None
        if definition and not _refused(definition):
            self._serve(change.key.cluster, change.key.name, kinds_of(definition))
        else:
            self._custom.get(change.key.cluster, {}).pop(change.key.name, None)


def _refused(definition: dict[str, object]) -> bool:
    status = definition.get("status")
    return isinstance(status, dict) and not status.get("acceptedNames")
