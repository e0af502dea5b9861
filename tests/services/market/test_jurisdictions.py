"""Every region of the catalogs we ship is in a country that is known, and what is not known is nowhere."""

import pytest

from schemas.inventory import Offer
from services.clients.catalog_sources import SAMPLE
from services.market.catalog_parser import read_folder
from services.market.jurisdictions import COUNTRIES, EU, country, within

SHIPPED = read_folder(SAMPLE)


def offer(cloud, region, **more) -> Offer:
    return Offer(cloud=cloud, region=region, instance="x", accelerator="H100", accelerators=8, price=1.0, **more)


def test_every_region_we_ship_prices_of_has_its_country():
    assert {(o.cloud, o.region) for catalog in SHIPPED.values() for o in catalog.offers if not country(o)} == set()


@pytest.mark.parametrize(
    ("cloud", "region", "there"),
    [
        ("aws", "eu-west-2", "GB"), ("aws", "eu-central-2", "CH"), ("azure", "norwayeast", "NO"),
        ("gcp", "europe-west6", "CH"), ("gcp", "me-west1", "IL"), ("runpod", "CA", "CA"),
        ("vast", "France, FR, EU", "FR"), ("vast", ", US, NA", "US"), ("vast", "nowhere", ""),
        ("nebius", "eu-north1", "FI"), ("lambda", "europe-central-1", "DE"), ("aws", "eu-atlantis-1", ""),
    ],
)  # fmt: skip
def test_a_regions_name_is_no_guess_at_its_country(cloud, region, there):
    assert country(offer(cloud, region)) == there


def test_europe_is_not_the_union():
    assert not within(offer("aws", "eu-west-2"), ("EU", "EEA"))
    assert not within(offer("azure", "norwayeast"), ("EU",))
    assert within(offer("azure", "norwayeast"), ("EEA",))


def test_the_tables_hold_codes_and_no_region_twice():
    assert len(EU) == 27
    assert all(len(code) == 2 and code.isupper() for code in COUNTRIES.values())
