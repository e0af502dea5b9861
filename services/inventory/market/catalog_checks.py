"""Decides whether a catalog that was read may replace the one in use, as a pure function."""

from collections.abc import Sequence
from datetime import datetime
from hashlib import blake2b

from schemas.inventory import Trouble
from schemas.market import CatalogSeen
from services.market.catalog import PriceCatalog
from services.market.catalog_parser import CatalogReading, CatalogText, UnreadCatalog, parse

REPORTED_ROWS = 20
"""How many invalid rows of one catalog are reported one by one."""
Judgement = tuple[CatalogSeen, PriceCatalog | None]
"""The state of the catalog, and the offers that replace those in use; None: they stay."""


def judge(last: CatalogSeen, found: Sequence[CatalogReading], now: datetime) -> Judgement:
    """Judge what was read for one cloud: the first catalog replaces the one in use unless damaged or unread."""
    first, *others = found
    others_ignored = tuple(
        Trouble(reason="Twice", message=f"{each.source} is another catalog of {last.cloud}: {first.source} counts")
        for each in others
    )
    if isinstance(first, UnreadCatalog):
        return _stale(last, first, Trouble(reason="Unread", message=first.why), others_ignored, now), None
    catalog, digest = parse(last.cloud, first.data, first.ending), blake2b(first.data, digest_size=16).hexdigest()
    damage = (Trouble(reason="Damaged", message=catalog.damaged),) if catalog.damaged else ()
    if damage and last.offers and last.digest != digest:
        return _stale(last, first, damage[0], others_ignored, now), None
    seen = CatalogSeen(
        cloud=last.cloud,
        source=first.source,
        observed_at=_as_of(last, first, digest, now),
        freshness="known",
        offers=len(catalog.offers),
        refused=len(catalog.refused),
        digest=digest,
        degraded=(*others_ignored, *damage, *_rows(catalog)),
    )
    return _with_revision(last, seen, now), catalog


def gone(last: CatalogSeen, now: datetime) -> Judgement:
    """The judgement of a cloud of which no catalog exists any more."""
    seen = CatalogSeen(cloud=last.cloud, source=last.source, observed_at=last.observed_at, freshness="gone")
    return _with_revision(last, seen, now), PriceCatalog(())


def _as_of(last: CatalogSeen, text: CatalogText, digest: str, now: datetime) -> datetime | None:
    """The time of the prices: as the source gives it, or else when this content was first read."""
    return text.as_of or (last.observed_at if last.digest == digest else now)


def _stale(
    last: CatalogSeen, found: CatalogReading, trouble: Trouble, others: tuple[Trouble, ...], now: datetime
) -> CatalogSeen:
    served = (
        f"the prices of {last.observed_at:%Y-%m-%d %H:%M} UTC stay served" if last.observed_at else "none are known"
    )
    troubles = trouble.but(message=f"{trouble.message}; {served}")
    stale = last.but(source=found.source, freshness="stale", degraded=(troubles, *others))
    return _with_revision(last, stale, now)


def _rows(catalog: PriceCatalog) -> tuple[Trouble, ...]:
    troubles = [Trouble(reason="BadRow", message=why) for why in catalog.refused[:REPORTED_ROWS]]
    if more := len(catalog.refused) - len(troubles):
        troubles.append(Trouble(reason="BadRow", message=f"{more} more rows are left out"))
    return tuple(troubles)


def _with_revision(last: CatalogSeen, seen: CatalogSeen, now: datetime) -> CatalogSeen:
    """The last level if nothing differs; otherwise the next revision, with the time since when its freshness holds."""
    since = last.fresh_since if last.revision and seen.freshness == last.freshness else now
    same = seen.but(revision=last.revision, fresh_since=last.fresh_since)
    return last if same == last and last.revision else seen.but(revision=last.revision + 1, fresh_since=since)
