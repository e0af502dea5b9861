"""`alate get` shows what is there, once or as it changes, as a table or for programs."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import AsyncExitStack, aclosing

from events.bus import CaughtUp, FeedItem, Stored
from events.kube.client import Changed, Kube, Listed, Lost
from events.kube.resources import COLONIES
from events.tombstone import is_tombstone
from schemas.registry import Stream
from schemas.subjects import token
from services.cli.connection import Where
from services.cli.get.kinds import KINDS, Kind
from services.cli.output.item import Item
from services.cli.output.render import Form, Show, Write
from services.cli.output.sort import sort
from services.errors import BadInput, Failed
from services.queries.filter import EVERYTHING, Sieve, Unfit

Feed = AsyncGenerator[FeedItem, None]


async def get(  # noqa: PLR0913 - what the command line offers
    where: Where,
    word: str,
    name: str | None,
    namespace: str,
    form: Form,
    *,
    watch: bool,
    sieve: Sieve = EVERYTHING,
    by: str | None = None,
    ended: bool = False,
    write: Write = sys.stdout.write,
) -> None:
    """Show all items of a kind, or those that bear the name; with `watch` go on with every change.

    `by` is a column to sort by. What has ended is shown if it is asked for, or ends while it is watched.
    """
    kind = kind_of(word)
    _check(word, sieve)
    sort(kind, (), by)
    show = Show(kind, form, write)
    found: dict[tuple[str, ...], Item] = {}

    def shown(some: Iterable[Item]) -> list[Item]:
        asked = [item for item in some if name is None or name in kind.names(item)]
        return [item for item in kind.arranged(asked, list(found.values())) if sieve.lets(item)]

    async with aclosing(_items(where, kind, namespace)) as items:
        async for item in items:
            if item is None:
                there = [item for item in shown(found.values()) if ended or name or not kind.over(item)]
                _all(show, word, name, sort(kind, there, by))
                if not watch:
                    return
            elif found.get(kind.names(item)) != item:
                found[kind.names(item)] = item  # of an entity the last of its states
                for one in shown((item,)) if show.begun else ():
                    show.one(one)


def kind_of(word: str) -> Kind:
    """A kind by its plural or singular. Raises BadInput."""
    singulars = {"colony": "colonies"} | {plural[:-1]: plural for plural in KINDS}
    kind = KINDS.get(singulars.get(word, word))
    if kind is None:
        raise BadInput(f"there is no kind {word}: get one of {', '.join(KINDS)}")
    return kind


def _check(word: str, sieve: Sieve) -> None:
    given = {"--cloud": sieve.cloud, "--region": sieve.region, "--max-price": sieve.max_price, "--spot": sieve.spot}
    named = [option for option, value in given.items() if value not in (None, False)]
    if named and word not in ("offer", "offers"):
        raise BadInput(f"{', '.join(named)} tells offers apart, not {word}: `alate get offers` understands it")
    try:
        sieve.check()
    except Unfit as wrong:
        raise BadInput(str(wrong)) from wrong


def _all(show: "Show", word: str, name: str | None, found: list[Item]) -> None:
    if name is not None and not found:
        raise Failed(f"there is no {name} among the {word}: `alate get {word}` shows what there is")
    show.all(found)


async def _items(where: Where, kind: Kind, namespace: str) -> AsyncGenerator[Item | None]:
    """Everything that is there, None, then every change."""
    if kind.stream is None:
        async with where.kube() as kube:
            async for item in _colonies(kube, namespace):
                yield item
        return
    wanted = {kind.stream: (kind.filter, *kind.also)} | ({Stream.LEVELS: kind.levels} if kind.levels else {})
    async with where.bus() as bus, AsyncExitStack() as stack:
        feeds: dict[Stream, Feed] = {}
        for stream, filters in wanted.items():
            feed = bus.feed(stream, *(each.format(tenant=token(namespace)) for each in filters))
            feeds[stream] = await stack.enter_async_context(aclosing(feed))
        newest, behind = dict.fromkeys(feeds, 0), set(feeds)
        async for stream, fed in await stack.enter_async_context(aclosing(_together(feeds))):
            if isinstance(fed, CaughtUp) and stream in behind:
                behind.remove(stream)
                if not behind:
                    yield None
            elif isinstance(fed, Stored) and fed.sequence > newest[stream]:  # one that begins anew repeats itself
                newest[stream] = fed.sequence
                for item in () if is_tombstone(fed) else kind.items(fed):
                    yield item


async def _together(feeds: Mapping[Stream, Feed]) -> AsyncGenerator[tuple[Stream, FeedItem]]:
    """What each of them gives as it comes, of each one thing at a time."""
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


async def _colonies(kube: Kube, namespace: str) -> AsyncGenerator[Item | None]:
    async for sight in kube.watch(COLONIES, namespace):
        match sight:
            case Listed(items):
                for item in items:
                    yield item
                yield None
            case Changed(changed):
                yield changed
            case Lost(reason):
                raise Failed(f"the management cluster cannot be heard: {reason}")
