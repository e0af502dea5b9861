from pathlib import Path

import pytest

from services.cli.connection import Connection
from services.cli.placement.market import heard, of_catalogs, stand
from services.errors import BadInput


async def test_a_catalog_alone_is_a_market_and_its_bad_rows_are_told(catalog):
    here = await of_catalogs([catalog])
    assert [entry.instance for entry in here.market.by_region("H100", 8)["aws", "us-east-1"]] == ["x8", "y8", "x8"]
    assert (here.clouds, here.source) == (None, catalog)
    assert here.troubles == ("aws row 4: Price '-1' must not be negative",)


async def test_of_several_catalogs_of_one_cloud_the_first_counts(catalog, tmp_path):
    here = await of_catalogs([catalog, f"aws={tmp_path / 'aws.csv'}"])
    assert len(here.market.by_region("H100", 8)["aws", "us-east-1"]) == 3
    assert "another catalog of aws" in here.troubles[0]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"\xff\xfe", "is not UTF-8"),
        (b"InstanceType\nx8\n", "the first line must name"),
    ],
)
async def test_a_catalog_that_is_none_is_bad_input(tmp_path, text, sentence):
    file = tmp_path / "bad.csv"
    if text is not None:
        file.write_bytes(text)
    with pytest.raises(BadInput, match=f"--catalog .*bad.csv: .*{sentence}"):
        await of_catalogs([str(file)])


async def test_a_catalog_and_a_bus_are_not_both_the_market(catalog):
    with pytest.raises(BadInput, match="leave out --nats"):
        async with stand(Connection(Path("absent"), nats="nats://127.0.0.1:9"), [catalog]):
            pass


async def test_with_a_catalog_alone_no_management_cluster_is_asked(catalog):
    async with stand(Connection(Path("absent")), [catalog]) as here:
        assert here.clouds is None


async def test_what_provisioning_knows_is_read_off_the_bus(bus):
    market_view = await heard(bus)
    assert market_view.has_offers
    assert market_view.market.clouds == {"aws"}
