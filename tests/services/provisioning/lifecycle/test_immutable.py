"""What cannot change while a cluster runs is named as it is written, with the way to get it all the same."""

import msgspec
import pytest

from schemas.placement import Placement
from schemas.wish import Adopt, ClusterNetwork, Need, OnRelease, Spot
from services.kubernetes.version_skew import OTHER_WAY
from services.provisioning.lifecycle.immutable import possible_change
from tests.samples import LOT, POOL

NEED = Need(pools=(POOL,))
MORE = msgspec.structs.replace(POOL, name="more")
PLACEMENT = Placement(cloud="aws", region="r", lots=(LOT,))
replace = msgspec.structs.replace


def objection(need, wanted, placement):
    return possible_change(need, wanted, lambda _: placement)[1]


def followed(need, wanted):
    return possible_change(need, wanted, lambda _: PLACEMENT)[0]


@pytest.mark.parametrize(
    "wanted",
    [
        NEED,
        replace(NEED, pools=(replace(POOL, nodes=9),)),
        replace(NEED, max_price_per_hour=28.5),
        replace(NEED, pools=(POOL, MORE)),
    ],
    ids=["nothing", "nodes", "a limit that holds", "another pool"],
)
def test_pools_their_nodes_and_a_limit_that_holds_can_change(wanted):
    assert objection(NEED, wanted, PLACEMENT) == ""


def test_a_pool_can_be_taken_out():
    assert objection(replace(NEED, pools=(POOL, MORE)), NEED, PLACEMENT) == ""


def test_a_pool_cannot_take_the_place_of_another_at_once():
    assert objection(NEED, replace(NEED, pools=(MORE,)), PLACEMENT) == (
        "pool more cannot take the place of workers at once: add it first, and take workers out once it is there"
    )


def test_an_adopted_cluster_keeps_the_pools_that_others_gave_it():
    adopted = replace(NEED, adopt=Adopt(name="theirs"))
    for before, after in (((POOL,), (POOL, MORE)), ((POOL, MORE), (POOL,))):
        told = objection(replace(adopted, pools=before), replace(adopted, pools=after), PLACEMENT)
        assert (
            told == f"an adopted cluster keeps the pools that others gave it, only their nodes can change: {OTHER_WAY}"
        )


def test_what_becomes_of_an_adopted_cluster_can_change_and_which_it_is_cannot():
    adopted = replace(NEED, adopt=Adopt(name="theirs"))
    deleted = replace(NEED, adopt=Adopt(name="theirs", on_release=OnRelease.DELETE))
    assert objection(adopted, deleted, PLACEMENT) == ""
    for wanted in (NEED, replace(NEED, adopt=Adopt(name="other"))):
        assert objection(adopted, wanted, PLACEMENT).startswith("adopt cannot change while the cluster runs")


@pytest.mark.parametrize(
    ("wanted", "named"),
    [
        (replace(NEED, regions=("r",)), "regions"),
        (replace(NEED, network=ClusterNetwork(pods=("10.8.0.0/14",), services=("10.96.0.0/16",))), "network"),
        (replace(NEED, backend="capi", clouds=("gcp",)), "clouds, backend"),
        (replace(NEED, pools=(replace(POOL, accelerator="A100", nodes=9),)), "pools[workers].accelerator"),
        (
            replace(NEED, pools=(replace(POOL, memory_gib=9, spot=Spot.ONLY),)),
            "pools[workers].spot, pools[workers].memoryGiB",
        ),
    ],
)  # fmt: skip
def test_all_else_is_refused_by_name_with_the_way(wanted, named):
    free = "only its pools, their nodes and kubernetesVersion can"
    expected = f"{named} cannot change while the cluster runs, {free}: {OTHER_WAY}"
    assert objection(NEED, wanted, PLACEMENT) == expected


def test_a_size_that_costs_more_than_the_limit_is_refused_with_both_ways_out():
    wanted = replace(NEED, max_price_per_hour=28.0)
    assert objection(NEED, wanted, PLACEMENT) == (
        "2 nodes of what it runs on cost 28.5 USD per hour, more than maxPricePerHour 28: "
        "raise that, or ask for fewer nodes"
    )


def test_the_order_of_the_pools_says_nothing():
    other = replace(POOL, name="more")
    assert objection(replace(NEED, pools=(POOL, other)), replace(NEED, pools=(other, POOL)), PLACEMENT) == ""


@pytest.mark.parametrize(
    "frozen",
    [
        {"regions": ("elsewhere",)},
        {"backend": "capi"},
        {"pools": (replace(POOL, accelerator="A100", nodes=3),)},
        {"regions": ("elsewhere",), "pools": (replace(POOL, spot=Spot.ONLY, nodes=3),)},
    ],
    ids=["a field", "the back end", "a pool's field", "both"],
)
def test_a_field_that_cannot_change_holds_up_no_size(frozen):
    wanted = replace(NEED, **({"pools": (replace(POOL, nodes=3),)} | frozen))
    assert followed(NEED, wanted) == replace(NEED, pools=(replace(POOL, nodes=3),))


def test_a_pool_that_cannot_take_anothers_place_holds_up_no_limit():
    wanted = replace(NEED, pools=(MORE,), max_price_per_hour=40.0)
    assert followed(NEED, wanted) == replace(NEED, max_price_per_hour=40.0)


def test_what_is_too_dear_stays_in_its_size_and_holds_up_no_end_of_an_adopted_cluster():
    adopted = replace(NEED, adopt=Adopt(name="theirs"))
    deleted = Adopt(name="theirs", on_release=OnRelease.DELETE)
    wanted = replace(adopted, adopt=deleted, pools=(replace(POOL, nodes=9),), max_price_per_hour=1.0)
    assert followed(adopted, wanted) == replace(adopted, adopt=deleted)


def test_each_thing_that_cannot_be_is_told():
    wanted = replace(NEED, regions=("r",), pools=(MORE,), max_price_per_hour=1.0)
    told = objection(NEED, wanted, PLACEMENT)
    assert [
        word in told for word in ("regions cannot change", "pool more cannot take", "more than maxPricePerHour")
    ] == [
        True,
        True,
        True,
    ]
