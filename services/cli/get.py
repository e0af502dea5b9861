"""`alate get` shows what is there, once or as it changes, as a table or for programs."""

import sys
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing

from events.bus import CaughtUp, Stored
from events.kinds import COLONIES
from events.kube import Changed, Kube, Listed, Lost
from events.tombstone import is_tombstone
from schemas.subjects import token
from services.bad import BadInput, Failed
from services.cli.item import Item
from services.cli.kinds import KINDS, Kind
from services.cli.show import Form, Show, Write
from services.cli.sort import sort
from services.cli.where import Where
from services.items.sieve import EVERYTHING, Sieve, Unfit


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
            else:
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
    filters = [each.format(tenant=token(namespace)) for each in (kind.filter, *kind.also)]
    async with where.bus() as bus, aclosing(bus.feed(kind.stream, *filters)) as feed:
        newest, whole = 0, False
        async for fed in feed:
            if isinstance(fed, CaughtUp) and not whole:
                whole = True
                yield None
            elif isinstance(fed, Stored) and fed.sequence > newest:  # a feed that begins anew repeats itself
                newest = fed.sequence
                for item in () if is_tombstone(fed) else kind.items(fed):
                    yield item


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
