"""What a price list says is read as it is meant, and a row that means nothing is refused in one sentence."""

import csv
from datetime import UTC, datetime
from io import StringIO

import pytest

from schemas.inventory import Offer
from schemas.registry import declared
from services.clients.catalog_sources import SAMPLE
from services.market.catalog import read, regions
from services.market.catalog_parser import read_folder

COLUMNS = (
    "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,Region,AvailabilityZone"
)


def catalog(cloud, *lines):
    return read(cloud, csv.DictReader(StringIO("\n".join((COLUMNS, *lines)))))


def test_a_row_is_an_offer_of_one_machine():
    read_row = catalog("aws", "p5.48xlarge,H100,8.0,192.0,2048.0,,98.32,21.5,us-east-1,use1-az1")
    assert read_row.refused == ()
    assert read_row.offers == (
        Offer(
            cloud="aws", region="us-east-1", zone="use1-az1", instance="p5.48xlarge", accelerator="H100",
            accelerators=8, cpu=192.0, memory_gib=2048.0, price=98.32, spot_price=21.5,
        ),
    )  # fmt: skip


@pytest.mark.parametrize("spot", ["", "0.00", "0"])
def test_a_spot_price_of_nothing_means_there_is_no_spot(spot):
    assert catalog("vast", f"1x,H200,1,32,64.0,,2.82,{spot},X,").offers[0].spot_price is None


def test_gcp_hosts_are_joined_with_the_gpus_of_their_zone_and_prices_added():
    read_rows = catalog(
        "gcp",
        "a3-highgpu-8g,,,208.0,1872.0,,10.0,4.0,us-central1,us-central1-a",
        "a3-highgpu-8g,,,208.0,1872.0,,11.0,,us-central1,us-central1-b",
        "a3-highgpu-8g,,,208.0,1872.0,,12.0,5.0,europe-west4,europe-west4-b",
        ",H100,8.0,,,,80.0,20.0,us-central1,us-central1-a",
        ",H100,8.0,,,,90.0,30.0,us-central1,us-central1-b",
        ",T4,1.0,,,,0.35,0.1,us-central1,us-central1-a",
    )
    found = {offer.zone: (offer.price, offer.spot_price, offer.accelerators) for offer in read_rows.offers}
    assert found == {"us-central1-a": (90.0, 24.0, 8), "us-central1-b": (101.0, None, 8)}
    assert read_rows.refused == ()


def test_what_the_source_says_is_kept_even_where_it_is_odd():
    (odd,) = catalog("azure", "Standard_ND96isr_H100_v5,H100,12,96,1900,,98.32,98.32,eastus,").offers
    assert (odd.accelerators, odd.spot_price, odd.zone) == (12, 98.32, "")


def test_the_first_row_counts_where_one_offer_is_there_twice_and_the_second_is_named():
    row = "p5,H100,8,192,2048,,{},,us-east-1,a"
    found = catalog("aws", row.format(5), row.format(4))
    assert [offer.price for offer in found.offers] == [5.0]
    assert found.refused == ("aws row 3: p5 of us-east-1 a is in row 2 already, which counts",)


def test_a_machine_without_accelerators_is_passed_over_without_a_word():
    found = catalog("aws", "m5.large,,,2,8,,0.096,0.03,us-east-1,a", "p5,H100,8,192,2048,,5,,us-east-1,a")
    assert ([offer.instance for offer in found.offers], found.refused) == (["p5"], ())


def test_a_limited_machine_may_cost_nothing():
    columns = f"{COLUMNS},Limit"
    rows = csv.DictReader(StringIO(f"{columns}\ndgx,H100,8,1,1,,0,,own,,4\nbad,H100,8,1,1,,0,,own,,half\n"))
    found = read("onprem", rows)
    assert [(o.instance, o.price, o.limit) for o in found.offers] == [("dgx", 0.0, 4)]
    assert found.refused == ("onprem row 3: Limit 'half' must be a number (nodes, without the unit)",)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("x,Abacus,1,1,1,,1,,r,", "AcceleratorName 'Abacus' is no accelerator that is known"),
        ("x,,1,1,1,,1,,r,", "AcceleratorName '' is no accelerator that is known"),
        (",,,,,,,,,", "is empty"),
        ("x,H100,1,1,1,,1,,r,,,", "has more than the 10 fields that the first line names"),
        ("x,H100,1,1,1,,1", "has 7 of 10 fields: it is cut off"),
        ("x,H100,0,1,1,,1,,r,", "AcceleratorCount '0' must be a whole number from 1 to 128"),
        ("x,H100,0.5,1,1,,1,,r,", "AcceleratorCount '0.5' must be a whole number from 1 to 128"),
        (
            "x,H100,18446744073709551615,1,1,,1,,r,",
            "AcceleratorCount '18446744073709551615' must be a whole number from 1 to 128",
        ),
        ("x,H100,-8,1,1,,1,,r,", "AcceleratorCount '-8' must not be negative"),
        ("x,H100,nan,1,1,,1,,r,", "AcceleratorCount 'nan' must be a number"),
        ("x,H100,inf,1,1,,1,,r,", "AcceleratorCount 'inf' must be a number"),
        ("x,H100,1,1,1,,,,r,", "Price '' must be a number"),
        ("x,H100,1,1,1,,nan,,r,", "Price 'nan' must be a number (USD an hour, without the unit)"),
        ("x,H100,1,1,1,,-3,,r,", "Price '-3' must not be negative"),
        ("x,H100,1,1,1,,0,,r,", "Price '0' must be more than 0 where no Limit is given"),
        ("x,H100,1,1,1,,$98.32,,r,", "Price '$98.32' must be a number (USD an hour, without the unit)"),
        ("x,H100,1,1,1,,1_000,,r,", "Price '1_000' must be a number (USD an hour, without the unit)"),
        ("x,H100,1,1,2048 MB,,1,,r,", "MemoryGiB '2048 MB' must be a number (GiB, without the unit)"),
        ("x,H100,1,-4,1,,1,,r,", "vCPUs '-4' must not be negative"),
        ("x,H100,1,1,1,,1,-1,r,", "SpotPrice '-1' must not be negative"),
        ("x,H100,1,1,1,,1,cheap,r,", "SpotPrice 'cheap' must be a number (USD an hour, without the unit)"),
        ("x,H100,1,many,1,,1,,r,", "vCPUs 'many' must be a number"),
        ("x,H100,1,1,1,,1,,,", "Region '' must be given"),
        (",H100,1,1,1,,1,,r,", "InstanceType '' must be given"),
        ("x", "has 1 of 10 fields: it is cut off"),
        ("x\0y,H100,1,1,1,,1,,r,", "InstanceType 'x\\x00y' holds what cannot be printed"),
        ("x,H100,1,1,1,,1,,\x1b[2Jr,", "Region '\\x1b[2Jr' holds what cannot be printed"),
        ("x,H100,1,1,1,,1,,r,z\u202e", "AvailabilityZone 'z\\u202e' holds what cannot be printed"),
    ],
)
def test_a_row_that_makes_no_sense_is_refused_with_its_line_and_the_next_is_read(line, why):
    good = "y,H100,1,1,1,,1,,r,"
    read_rows = catalog("aws", good.replace("y", "z"), line, good)
    assert read_rows.refused == (f"aws row 3: {why}",)
    assert [offer.instance for offer in read_rows.offers] == ["z", "y"]


def test_a_country_that_cannot_be_printed_is_refused_and_one_of_another_script_is_not():
    columns = f"{COLUMNS},Country"
    lines = "x,H100,1,1,1,,1,,r,z,D\bE\ny,H100,1,1,1,,1,,région,東京,日本\n"
    found = read("onprem", csv.DictReader(StringIO(f"{columns}\n{lines}")))
    assert found.refused == ("onprem row 2: Country 'D\\x08E' holds what cannot be printed",)
    assert [(o.region, o.zone, o.country) for o in found.offers] == [("région", "東京", "日本")]


def test_a_price_of_gcp_that_is_none_is_refused_with_the_line_of_its_host():
    read_rows = catalog(
        "gcp",
        ",H100,eight,,,,80.0,20.0,r,z",
        ",H100,8.0,,,,80.0,20.0,r,z",
        "a3-highgpu-8g,,,208.0,1872.0,,dear,4.0,r,z",
        "a2-highgpu-1g",
    )
    assert read_rows.offers == ()
    assert read_rows.refused == (
        "gcp row 4: Price 'dear + 80.0' must be a number (USD an hour, without the unit)",
        "gcp row 5: has 1 of 10 fields: it is cut off",
    )


def test_a_list_without_the_columns_is_refused_row_by_row():
    assert read("aws", [{"a": "b"}]).refused == ("aws row 2: AcceleratorName None is no accelerator that is known",)


def test_offers_are_said_region_by_region_and_every_region_can_be_a_subject():
    lines = ('1x,H200,1,32,64.0,,2.82,0.00,", US, NA",', '2x,H200,2,32,64.0,,4.71,0.00,"France, FR, EU",')
    said = list(regions(catalog("vast", *lines, lines[0].replace("1x", "4x")).offers))
    assert [(each.region, len(each.offers)) for each in said] == [(", US, NA", 2), ("France, FR, EU", 1)]
    assert declared(type(said[0])).at("vast", said[0].region) == "inventory.offers.vast._2C_20US_2C_20NA"


def test_the_prices_that_are_shipped_are_read_without_a_complaint_about_a_whole_cloud():
    shipped = read_folder(SAMPLE)
    assert {cloud for cloud, found in shipped.items() if found.offers} == set(shipped)
    assert {"aws", "gcp"} <= set(shipped)
    assert all(offer.price > 0 and offer.accelerators >= 1 for found in shipped.values() for offer in found.offers)


def test_a_folder_without_lists_holds_nothing(tmp_path):
    assert read_folder(tmp_path) == {}


def test_offers_say_how_old_their_prices_are():
    now = datetime(2026, 1, 1, tzinfo=UTC)
    (said,) = regions(catalog("aws", "p5,H100,8,192,2048,,5,,us-east-1,a").offers, now)
    assert said.as_of == now
