"""Decides whether a catalog that was read may replace the one in use, as a pure function."""

from collections.abc import Sequence
from datetime import datetime
from hashlib import blake2b

from schemas.inventory import Trouble
from schemas.market import CatalogSeen
from services.market.catalog import PriceCatalog
from services.market.catalog_parser import CatalogReading, CatalogText, UnreadCatalog, parse

TOLD = 20
"""Bad rows of one catalog that are told one by one."""
Judgement = tuple[CatalogSeen, PriceCatalog | None]
"""How the catalog is now, and what replaces the offers; None: they stay."""


def judge(last: CatalogSeen, found: Sequence[CatalogReading], now: datetime) -> Judgement:
    """The first of what was found for one cloud counts; it replaces what is served unless it is damaged or unread."""
    first, *others = found
    twice = tuple(
        Trouble(reason="Twice", message=f"{each.source} is another catalog of {last.cloud}: {first.source} counts")
        for each in others
    )
    if isinstance(first, UnreadCatalog):
        return _kept(last, first, Trouble(reason="Unread", message=first.why), twice, now), None
    catalog, digest = parse(last.cloud, first.data, first.ending), blake2b(first.data, digest_size=16).hexdigest()
    damage = (Trouble(reason="Damaged", message=catalog.damaged),) if catalog.damaged else ()
    if damage and last.offers and last.digest != digest:
        return _kept(last, first, damage[0], twice, now), None
    seen = CatalogSeen(
        cloud=last.cloud,
        source=first.source,
        observed_at=_as_of(last, first, digest, now),
        freshness="known",
        offers=len(catalog.offers),
        refused=len(catalog.refused),
        digest=digest,
        degraded=(*twice, *damage, *_rows(catalog)),
    )
    return _stamped(last, seen, now), catalog


def gone(last: CatalogSeen, now: datetime) -> Judgement:
    """Nothing that is read is a catalog of this cloud any more."""
    seen = CatalogSeen(cloud=last.cloud, source=last.source, observed_at=last.observed_at, freshness="gone")
    return _stamped(last, seen, now), PriceCatalog(())


def _as_of(last: CatalogSeen, text: CatalogText, digest: str, now: datetime) -> datetime | None:
    """Where nobody says when it was written: when it was first read so."""
    return text.as_of or (last.observed_at if last.digest == digest else now)


def _kept(
    last: CatalogSeen, found: CatalogReading, trouble: Trouble, others: tuple[Trouble, ...], now: datetime
) -> CatalogSeen:
    served = (
        f"the prices of {last.observed_at:%Y-%m-%d %H:%M} UTC stay served" if last.observed_at else "none are known"
    )
    told = trouble.but(message=f"{trouble.message}; {served}")
    stale = last.but(source=found.source, freshness="stale", degraded=(told, *others))
    return _stamped(last, stale, now)


def _rows(catalog: PriceCatalog) -> tuple[Trouble, ...]:
    told = [Trouble(reason="BadRow", message=why) for why in catalog.refused[:TOLD]]
    if more := len(catalog.refused) - len(told):
        told.append(Trouble(reason="BadRow", message=f"{more} more rows are left out"))
    return tuple(told)


def _stamped(last: CatalogSeen, seen: CatalogSeen, now: datetime) -> CatalogSeen:
    """The last one, if nothing differs; else the next revision, fresh or not since when that changed."""
    since = last.fresh_since if last.revision and seen.freshness == last.freshness else now
    same = seen.but(revision=last.revision, fresh_since=last.fresh_since)
    return last if same == last and last.revision else seen.but(revision=last.revision + 1, fresh_since=since)
