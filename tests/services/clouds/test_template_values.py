"""A template is told what was bought in its own words, nothing that it does not know, and never less than that."""

import msgspec
import pytest

from events.errors import Denied
from schemas.placement import Attempt, Placement
from schemas.wish import ClusterNetwork, Need, Wish
from services.clouds.template_values import CHARTS, can_buy_spot, config
from services.sandbox.seeds.templates import K0RDENT
from tests.samples import LOT, POOL

VALUES = {
    name.partition("-")[0]: {"controlPlaneNumber": 3, "workersNumber": 2, "clusterNetwork": {}} | values
    for name, values in K0RDENT.items()
    if "worker" in values
}


NETWORK = ClusterNetwork(pods=("10.8.0.0/14",), services=("fd00::/112",))


def told(cloud, values, disk=0, *, spot=True, network=None, zones=()):
    pool, lot = msgspec.structs.replace(POOL, disk_gib=disk, zones=zones), msgspec.structs.replace(LOT, spot=spot)
    wish = Wish(
        tenant="acme", colony="train", cluster="a", uid="u", generation=1, need=Need(pools=(pool,), network=network)
    )
    return config(wish, Attempt(number=1, placement=Placement(cloud=cloud, region="r", lots=(lot,))), values)


def paths(values, at=()):
    for key, value in values.items():
        yield from paths(value, (*at, key)) if isinstance(value, dict) and value else [(*at, key)]


@pytest.mark.parametrize("cloud", CHARTS)
def test_what_was_bought_is_told_and_nothing_that_the_template_does_not_know(cloud):
    said = told(cloud, VALUES[cloud], disk=200)
    assert set(paths(said)) <= set(paths(VALUES[cloud]))
    assert (said["workersNumber"], said[CHARTS[cloud].region]) == (2, "r")
    names = CHARTS[cloud]
    worker = {names.instance: LOT.instance, names.disk: 200, names.zone: LOT.zone} | names.spot
    assert said["worker"] == worker


def test_a_template_that_does_not_say_what_it_knows_is_told_everything():
    assert told("aws", {}, disk=200)["worker"] == {
        "instanceType": LOT.instance, "rootVolumeSize": 200, "spotMarketOptions": {},
    }  # fmt: skip


def test_a_zone_that_is_asked_for_is_told_or_refused_and_never_lost():
    values = VALUES["aws"] | {"worker": {"instanceType": ""}}
    assert told("aws", values, spot=False)["worker"] == {"instanceType": LOT.instance}
    with pytest.raises(Denied, match=r"has no value worker.availabilityZone: use one that can be told") as denied:
        told("aws", values, spot=False, zones=(LOT.zone,))
    assert denied.value.reason == "BadTemplate"
    for knows in (VALUES["aws"], {}):
        assert told("aws", knows, zones=(LOT.zone,))["worker"]["availabilityZone"] == LOT.zone


def test_what_the_template_has_no_place_for_is_left_out():
    values = VALUES["aws"] | {"worker": {"instanceType": ""}}
    assert told("aws", values, disk=200, spot=False)["worker"] == {"instanceType": LOT.instance}
    assert not can_buy_spot("aws", values)
    assert can_buy_spot("aws", VALUES["aws"])
    assert not can_buy_spot("aws", {})


def test_an_empty_mapping_among_the_values_takes_anything():
    values = VALUES["aws"] | {"worker": {}}
    assert told("aws", values)["worker"] == {"instanceType": LOT.instance, "spotMarketOptions": {}}


def test_the_addresses_a_colony_asks_for_are_told_and_otherwise_the_templates_stay():
    said = told("aws", VALUES["aws"], network=NETWORK)
    assert said["clusterNetwork"] == {
        "pods": {"cidrBlocks": ["10.8.0.0/14"]},
        "services": {"cidrBlocks": ["fd00::/112"]},
    }
    assert "clusterNetwork" not in told("aws", VALUES["aws"])
    with pytest.raises(Denied, match="the ClusterTemplate has no value clusterNetwork: use one that can be told"):
        told("aws", {key: value for key, value in VALUES["aws"].items() if key != "clusterNetwork"}, network=NETWORK)


@pytest.mark.parametrize("lost", ["region", "workersNumber", "worker"])
def test_a_template_that_cannot_be_told_what_makes_the_cluster_is_refused(lost):
    values = {key: value for key, value in VALUES["aws"].items() if key != lost}
    with pytest.raises(Denied, match=f"has no value {lost}") as denied:
        told("aws", values)
    assert denied.value.reason == "BadTemplate"
