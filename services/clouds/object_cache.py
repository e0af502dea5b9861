"""What a back end reads again and again is kept at hand by a watch, so that founding asks the API server less."""

from events.kube.client import Changed, Kube, Listed, Lost, Object, Resource


class Kept:
    """Objects of one kind: as the watch shows them while one is heard, else as the API server answers."""

    def __init__(self, kube: Kube, resource: Resource, labels: str = "") -> None:
        """`labels` is a selector as in ``kubectl -l``."""
        self._kube = kube
        self._resource = resource
        self._labels = labels
        self._objects: dict[str, dict[str, Object]] | None = None

    async def run(self) -> None:
        """Follow, for ever."""
        async for sight in self._kube.watch(self._resource, labels=self._labels):
            match sight:
                case Listed(items):
                    self._objects = {}
                    for item in items:
                        self._take(self._objects, item, gone=False)
                case Changed(item, gone) if self._objects is not None:
                    self._take(self._objects, item, gone=gone)
                case Lost():
                    self._objects = None

    async def of(self, namespace: str, *, anew: bool = False) -> tuple[Object, ...]:
        """Those of a namespace; `anew` asks the API server, as what was just made may not be seen yet.

        Raises the faults of a list.
        """
        if anew or self._objects is None:
            return (await self._kube.list(self._resource, namespace, labels=self._labels)).items
        return tuple(self._objects.get(namespace, {}).values())

    @staticmethod
    def _take(objects: dict[str, dict[str, Object]], item: Object, *, gone: bool) -> None:
        meta = item["metadata"]
        there = objects.setdefault(meta["namespace"], {})
        if gone:
            there.pop(meta["name"], None)
        else:
            there[meta["name"]] = item
