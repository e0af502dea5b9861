"""A text that is not whole is told from one that is, and what is good of either is read."""

import pytest

from services.market import catalog_parser
from services.market.catalog_parser import COLUMNS, LARGEST, LARGEST_YAML, parse

HEAD = "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,SpotPrice,Region,AvailabilityZone\n"
GOOD = "p5,H100,8,192,2048,98.32,21.5,us-east-1,a\n"
NAMED = HEAD.strip().replace(",", ", ")
NEEDS = "InstanceType, AcceleratorName, AcceleratorCount, vCPUs, MemoryGiB, Price, Region"
OWN = """
pools:
  - {name: dgx, accelerator: H100-SXM, accelerators: 8, nodes: 4, cpu: 192, memoryGiB: 2048, region: berlin, zone: r1}
  - {name: box, accelerator: L4, accelerators: 1, nodes: 2, pricePerHour: 0.2}
"""


def instances(catalog):
    return [offer.instance for offer in catalog.offers]


def test_a_whole_file_is_not_damaged():
    found = parse("aws", (HEAD + GOOD).encode())
    assert (instances(found), found.refused, found.damaged) == (["p5"], (), "")


def test_a_file_that_ends_within_a_row_is_damaged_and_its_whole_rows_are_read():
    cut = (HEAD + GOOD + GOOD.replace("p5", "p4")).encode()[:-12]
    found = parse("aws", cut)
    assert instances(found) == ["p5"]
    assert found.refused == ("aws row 3: has 8 of 9 fields: it is cut off",)
    assert found.damaged == "aws: the last row is cut off: the file is not whole"


def test_a_file_that_ends_within_quotes_is_damaged():
    found = parse("vast", (HEAD + GOOD + 'p4,H100,8,1,1,1,,", US').encode())
    assert instances(found) == ["p5"]
    assert found.damaged.startswith("vast: row 3 cannot be read")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", f"aws: the first line must name {NEEDS}; it names nothing"),
        (HEAD.encode(), "aws: holds no offer"),
        (HEAD.replace("Price,SpotPrice", "PriceEUR,SpotPrice").encode() + GOOD.encode(),
         f"aws: the first line must name Price; it names {NAMED.replace('Price, Spot', 'PriceEUR, Spot')}"),
        (HEAD.replace("MemoryGiB", "MemoryMB").encode() + GOOD.encode(),
         f"aws: the first line must name MemoryGiB; it names {NAMED.replace('GiB', 'MB')}"),
        (b"\xff\xfe\x00", "aws: byte 0 is not UTF-8: the file is damaged or no text"),
        (b"<html>404</html>", f"aws: the first line must name {NEEDS}; it names <html>404</html>"),
    ],
)  # fmt: skip
def test_what_is_no_catalog_is_damaged_in_one_sentence(data, why):
    found = parse("aws", data)
    assert (found.offers, found.refused, found.damaged) == ((), (), why)


def test_a_byte_order_mark_and_carriage_returns_do_no_harm():
    found = parse("aws", b"\xef\xbb\xbf" + (HEAD + GOOD).replace("\n", "\r\n").encode())
    assert (instances(found), found.damaged) == (["p5"], "")


def test_own_nodes_are_offers_with_a_limit_that_cost_nothing_unless_said():
    dgx, box = parse("onprem", OWN.encode(), ".yaml").offers
    assert (dgx.cloud, dgx.region, dgx.zone, dgx.accelerator, dgx.price, dgx.limit) == (
        "onprem", "berlin", "r1", "H100", 0.0, 4,
    )  # fmt: skip
    assert (box.region, box.price, box.limit, box.spot_price) == ("own", 0.2, 2, None)


@pytest.mark.parametrize(
    ("text", "refused", "damaged"),
    [
        ("pools: [{name: a, node: 3}]", "onprem pool 1: node is not known: use name, ", "onprem: holds no offer"),
        ("pools: [{name: a, accelerator: H100, accelerators: 8, nodes: -1}]",
         "onprem pool 1: Limit '-1' must not be negative", "onprem: holds no offer"),
        ("pools: [{name: a, accelerator: H100, accelerators: 8}]",
         "onprem pool 1: Price '0' must be more than 0 where no Limit is given", "onprem: holds no offer"),
        ("pools: 3", None, "onprem: must hold a list of pools, each with name, "),
        ("", None, "onprem: must hold a list of pools, each with name, "),
        ("pools: [", None, "onprem: is no YAML: "),
    ],
)  # fmt: skip
def test_own_nodes_that_make_no_sense_are_refused_in_one_sentence(text, refused, damaged):
    found = parse("onprem", text.encode(), ".yaml")
    assert found.damaged.startswith(damaged)
    assert len(found.refused) == (refused is not None)
    assert all(why.startswith(refused) for why in found.refused)


def bomb():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{each}: &a{each} [{', '.join([f'*a{each - 1}'] * 10)}]" for each in range(1, 9)]
    return "\n".join([*lines, "pools: [{name: *a8, accelerator: H100, accelerators: 8, nodes: 4}]"])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("pools: " + "[" * 200_000, "own: is no YAML: it is nested more than 100 deep"),
        ("pools: " + "9" * 5_000, "own: is no YAML: it has what cannot be read: Exceeds the limit"),
        ("pools: !!timestamp 2020-13-45", "own: is no YAML: it has what cannot be read: month must be in 1..12"),
        (bomb(), "own: is no YAML: it comes to more than 1000000 values once its aliases are written out"),
        ("#" * (LARGEST_YAML + 1), "own: is no YAML: it has 1048577 characters: at most 1048576 are read"),
    ],
    ids=["brackets", "a number", "a date", "aliases", "size"],
)
def test_a_catalog_in_yaml_that_cannot_be_taken_is_damaged_and_ends_nothing(text, why):
    assert parse("own", text.encode(), ".yaml").damaged.startswith(why)


def test_what_should_be_a_word_and_is_a_list_is_not_written_out():
    catalog = parse("own", b"pools: [{name: [a, b], accelerator: {x: y}, accelerators: 8, nodes: 4}]", ".yaml")
    assert catalog.refused == ("own pool 1: AcceleratorName 'dict' is no accelerator that is known",)


def test_a_catalog_of_any_size_is_read_up_to_its_bounds(monkeypatch):
    monkeypatch.setattr(catalog_parser, "MOST_ROWS", 1000)
    head = ",".join(COLUMNS)
    assert parse("aws", b"x" * (LARGEST + 1)).damaged.startswith(f"aws: is larger than {LARGEST} bytes")
    many = parse("aws", "\n".join([head, *["p,H100,8,1,1,1,r"] * 1005]).encode())
    assert (many.damaged, len(many.offers)) == (
        "aws: has 1000 rows or more: what is beyond them is not read",
        1,
    )
