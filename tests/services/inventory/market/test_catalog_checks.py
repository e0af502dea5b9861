"""What is served is replaced by something better only, and how old it is is always told."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from schemas.market import CatalogSeen
from services.inventory.market.catalog_checks import REPORTED_ROWS, gone, judge
from services.market.catalog_parser import CatalogText, UnreadCatalog

T0 = datetime(2026, 1, 1, tzinfo=UTC)
LATER = T0 + timedelta(hours=6)
HEAD = "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,SpotPrice,Region,AvailabilityZone\n"
GOOD = "p5,H100,8,192,2048,98.32,21.5,us-east-1,a\n"
NONE = CatalogSeen(cloud="aws")


def text(rows=GOOD, as_of=T0, source="aws.csv", head=HEAD) -> CatalogText:
    return CatalogText("aws", source, (head + rows).encode(), ".csv", as_of)


def served(last=NONE, *found, now=T0):
    seen, catalog = judge(last, found or (text(),), now)
    return seen, None if catalog is None else len(catalog.offers)


FIRST = served()[0]


def test_a_good_catalog_is_known_with_its_age_and_its_size():
    assert served() == (
        CatalogSeen(
            cloud="aws", source="aws.csv", observed_at=T0, revision=1, freshness="known", fresh_since=T0, offers=1,
            digest=FIRST.digest,
        ),
        1,
    )  # fmt: skip


def test_read_again_it_is_word_for_word_the_same():
    assert served(FIRST, text(), now=LATER) == (FIRST, 1)


def test_where_nobody_says_when_it_was_written_it_is_as_old_as_when_it_was_first_read_so():
    seen, _ = served(NONE, text(as_of=None))
    assert seen.observed_at == T0
    assert served(seen, text(as_of=None), now=LATER)[0] == seen
    assert served(seen, text(GOOD.replace("98", "97"), None), now=LATER)[0].observed_at == LATER


@pytest.mark.parametrize(
    ("found", "reason", "message"),
    [
        (UnreadCatalog("aws", "u", "u answers 404 Not Found"), "Unread", "u answers 404 Not Found"),
        (text(GOOD + "p4,H100"), "Damaged", "aws: the last row is cut off: the file is not whole"),
        (text(""), "Damaged", "aws: holds no offer"),
    ],
)
def test_what_cannot_be_read_or_is_damaged_leaves_the_last_good_served_and_tells_its_age(found, reason, message):
    seen, offers = served(FIRST, found, now=LATER)
    assert offers is None
    assert (seen.freshness, seen.fresh_since, seen.observed_at, seen.offers) == ("stale", LATER, T0, 1)
    (trouble,) = seen.degraded
    assert (trouble.reason, trouble.message) == (
        reason, f"{message}; the prices of 2026-01-01 00:00 UTC stay served",
    )  # fmt: skip
    again, _ = served(seen, found, now=LATER + timedelta(hours=6))
    assert again == seen


def test_a_catalog_that_can_be_read_again_is_known_again_since_then():
    stale, _ = served(FIRST, UnreadCatalog("aws", "u", "dead"), now=LATER)
    seen, offers = served(stale, text(), now=LATER + timedelta(hours=1))
    assert (seen.freshness, seen.fresh_since, seen.revision, offers) == ("known", LATER + timedelta(hours=1), 3, 1)


def test_a_damaged_catalog_is_better_than_none_and_stays_served_when_it_is_read_again():
    damaged = text(GOOD + "p4,H100")
    seen, offers = served(NONE, damaged)
    assert (offers, seen.refused, [trouble.reason for trouble in seen.degraded]) == (1, 1, ["Damaged", "BadRow"])
    assert served(seen, damaged, now=LATER) == (seen, 1)


def test_nothing_at_all_is_told_too():
    seen, offers = served(NONE, UnreadCatalog("aws", "u", "dead"))
    assert (offers, seen.freshness, seen.offers) == (None, "stale", 0)
    assert seen.degraded[0].message == "dead; none are known"


def test_bad_rows_are_told_one_by_one_up_to_so_many_and_the_good_ones_are_served():
    bad = "".join(f"x{n},H100,8,1,1,free,,r,\n" for n in range(REPORTED_ROWS + 5))
    seen, offers = served(NONE, text(GOOD + bad))
    assert (offers, seen.refused, len(seen.degraded)) == (1, REPORTED_ROWS + 5, REPORTED_ROWS + 1)
    assert seen.degraded[0].message == "aws row 3: Price 'free' must be a number (USD an hour, without the unit)"
    assert seen.degraded[-1].message == "5 more rows are left out"


def test_a_second_catalog_of_a_cloud_is_left_out_and_named():
    seen, offers = served(NONE, text(), text(source="other/aws.csv"))
    assert offers == 1
    assert seen.degraded[0].message == "other/aws.csv is another catalog of aws: aws.csv counts"


def test_a_catalog_that_is_no_more_offers_nothing():
    seen, catalog = gone(FIRST, LATER)
    assert (seen.freshness, seen.offers, seen.revision, catalog.offers) == ("gone", 0, 2, ())
    assert msgspec.structs.replace(FIRST, freshness="gone") != FIRST
