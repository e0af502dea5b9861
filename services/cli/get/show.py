"""`alate get` shows what exists, once or as it changes, as a table or for programs."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, aclosing
from typing import NamedTuple

from events.bus import CaughtUp, FeedItem, Stored
from events.kube.client import Changed, Kube, Listed, Lost
from events.kube.resources import COLONIES
from events.streams import is_tombstone
from schemas.registry import Stream
from schemas.subjects import token
from services.cli.connection import Connection
from services.cli.get.kinds import KINDS, WISHES, ResourceKind
from services.cli.get.labels import ClusterLabels, entity
from services.cli.get.unknown import unknown_name
from services.cli.output.colours import coloured
from services.cli.output.render import Form, Printer, TextWriter, sort
from services.errors import BadInput, Failed
from services.queries.filter import EVERYTHING, InvalidFilter, ItemFilter
from services.queries.item import Item

WISH = WISHES.partition("{")[0]
EVERY = None
"""All namespaces."""


class Selection(NamedTuple):
    """Which items of a kind are shown, and in which order."""

    namespace: str | None = "default"
    """None: all of them."""
    name: str | None = None
    labels: str = ""
    """A selector of Colonies, as ``kubectl -l`` takes it."""
    sieve: ItemFilter = EVERYTHING
    sort: str | None = None
    """A column."""
    ended: bool = False
    """Also what has ended; what is asked for by name, or ends while it is watched, is shown in any case."""
    watch: bool = False
    """Go on with every change."""


async def get(
    connection: Connection, word: str, selection: Selection, form: Form, write: TextWriter = sys.stdout.write
) -> None:
    """Show all items of a kind that are selected; with `watch` go on with every change. Raises BadInput, Failed."""
    kind = kind_of(word)
    _check(word, kind, selection)
    namespaces = selection.namespace is EVERY and kind.cluster_or_colony
    printer = Printer(kind, form, write, coloured=coloured(sys.stdout), namespaces=namespaces)
    view = ItemView(kind, selection, await _colonies_selected(connection, kind, selection))
    async with aclosing(_items(connection, kind, selection, view.labels)) as items:
        async for item in items:
            if item is None:
                printer.all(view.whole(word))
                if not selection.watch:
                    return
            elif view.take(item) and printer.begun:
                for one in view.shown((item,)):
                    printer.one(one)


class ItemView:
    """All items of a kind that are known, and those of them that are shown."""

    def __init__(self, kind: ResourceKind, selection: Selection, colonies: frozenset[tuple[str, str]] | None) -> None:
        self.labels = ClusterLabels()
        self._kind = kind
        self._selection = selection
        self._colonies = colonies
        """Namespace and name of the Colonies whose clusters are shown; None: all."""
        name = selection.name
        self._name = entity(name) if name and kind.cluster and "/" in name else name
        self._found: dict[tuple[str, ...], Item] = {}

    def take(self, item: Item) -> bool:
        """Keep an item; whether it is new or has changed. Of an entity the last of its states is kept."""
        namespace = item.get("namespace") or item.get("metadata", {}).get("namespace", "")
        key = (str(namespace), *self._kind.names(item))
        changed = self._found.get(key) != item
        self._found[key] = item
        return changed

    def whole(self, word: str) -> list[Item]:
        """Everything that is shown, in order. Raises Failed if nothing has the name that is asked for."""
        asked, ended = self._selection.name, self._selection.ended
        there = [item for item in self.shown(self._found.values()) if ended or asked or not self._kind.over(item)]
        if asked is not None and not there:
            raise Failed(unknown_name(word, asked, self._names()))
        return sort(self._kind, there, self._selection.sort)

    def _names(self) -> Iterator[str]:
        """All that an item can be asked for by, clusters as people write them, and clusters that have no item."""
        kind, items = self._kind, list(self._found.values())
        if kind.cluster:
            yield from self.labels.clusters.values()
        for item in kind.arranged(items, items):
            yield from kind.names(self.labels.labelled(item, kind.cluster) if kind.cluster else item)

    def shown(self, some: Iterable[Item]) -> list[Item]:
        """Those of some items that are selected, as they are shown."""
        kind, field = self._kind, self._kind.cluster
        asked = [item for item in some if self._name is None or self._name in kind.names(item)]
        arranged = [item for item in kind.arranged(asked, list(self._found.values())) if self._lets(item)]
        return [self.labels.labelled(item, field) for item in arranged] if field else arranged

    def _lets(self, item: Item) -> bool:
        if self._colonies is not None and self._kind.cluster:
            owner = (str(item.get("namespace")), self.labels.colony(item, self._kind.cluster))
            return owner in self._colonies and self._selection.sieve.lets(item)
        return self._selection.sieve.lets(item)


def kind_of(word: str) -> ResourceKind:
    """A kind by its plural or singular. Raises BadInput."""
    singulars = {"colony": "colonies"} | {plural[:-1]: plural for plural in KINDS}
    kind = KINDS.get(singulars.get(word, word))
    if kind is None:
        raise BadInput(f"there is no kind {word}: get one of {', '.join(KINDS)}")
    return kind


def _check(word: str, kind: ResourceKind, selection: Selection) -> None:
    """Raises BadInput for what a kind has not."""
    sieve = selection.sieve
    sort(kind, (), selection.sort)
    given = {"--cloud": sieve.cloud, "--region": sieve.region, "--max-price": sieve.max_price, "--spot": sieve.spot}
    named = [option for option, value in given.items() if value not in (None, False)]
    if named and word not in ("offer", "offers"):
        raise BadInput(f"{', '.join(named)} selects offers, not {word}: `alate get offers` understands it")
    if selection.labels and not kind.cluster_or_colony:
        raise BadInput(f"-l selects by the labels of Colonies, and {word} belong to none: leave it out")
    try:
        sieve.check()
    except InvalidFilter as wrong:
        raise BadInput(str(wrong)) from wrong


async def _colonies_selected(
    connection: Connection, kind: ResourceKind, selection: Selection
) -> frozenset[tuple[str, str]] | None:
    """Namespace and name of the Colonies that the labels select; None where nothing is selected by labels."""
    if not selection.labels or not kind.cluster:
        return None
    async with connection.kube() as kube:
        listed = await kube.list(COLONIES, selection.namespace, labels=selection.labels)
    return frozenset((each["metadata"]["namespace"], each["metadata"]["name"]) for each in listed.items)


async def _items(
    connection: Connection, kind: ResourceKind, selection: Selection, labels: ClusterLabels
) -> AsyncGenerator[Item | None]:
    """Everything that exists, None, then every change."""
    if kind.stream is None:
        async with connection.kube() as kube:
            async for item in _colonies(kube, selection):
                yield item
        return
    tenant = "*" if selection.namespace is EVERY else token(selection.namespace)
    wanted = {kind.stream: (kind.filter, *kind.also)} | ({Stream.LEVELS: kind.levels} if kind.levels else {})
    async with connection.bus() as bus, AsyncExitStack() as stack:
        feeds: dict[Stream, AsyncGenerator[FeedItem, None]] = {}
        for stream, filters in wanted.items():
            feed = bus.feed(stream, *(each.format(tenant=tenant) for each in filters))
            feeds[stream] = await stack.enter_async_context(aclosing(feed))
        newest, behind = dict.fromkeys(feeds, 0), set(feeds)
        async for stream, fed in await stack.enter_async_context(aclosing(_together(feeds))):
            if isinstance(fed, CaughtUp) and stream in behind:
                behind.remove(stream)
                if not behind:
                    yield None
            elif isinstance(fed, Stored) and fed.sequence > newest[stream]:  # a feed that reconnects repeats itself
                newest[stream] = fed.sequence
                for item in _read(kind, fed, labels):
                    yield item


def _read(kind: ResourceKind, stored: Stored, labels: ClusterLabels) -> Iterable[Item]:
    """The items in a message; a wish only tells how a cluster is called."""
    if is_tombstone(stored):
        return ()
    if not stored.subject.startswith(WISH):
        return kind.items(stored)
    labels.read(stored)
    return ()


async def _together(
    feeds: Mapping[Stream, AsyncGenerator[FeedItem, None]],
) -> AsyncGenerator[tuple[Stream, FeedItem]]:
    """What each feed gives as it comes, one thing of each at a time."""
    waits = {asyncio.ensure_future(anext(feed)): stream for stream, feed in feeds.items()}
    try:
        while waits:
            done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                stream = waits.pop(each)
                yield stream, each.result()
                waits[asyncio.ensure_future(anext(feeds[stream]))] = stream
    finally:
        for each in waits:
            each.cancel()
        await asyncio.gather(*waits, return_exceptions=True)


async def _colonies(kube: Kube, selection: Selection) -> AsyncGenerator[Item | None]:
    async for sight in kube.watch(COLONIES, selection.namespace, labels=selection.labels):
        match sight:
            case Listed(items):
                for item in items:
                    yield item
                yield None
            case Changed(changed):
                yield changed
            case Lost(reason):
                raise Failed(f"the management cluster does not answer: {reason}")
