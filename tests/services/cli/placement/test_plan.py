import json
from pathlib import Path

import pytest

from events.errors import Denied, NotFound
from services.cli.connection import Connection
from services.cli.placement.market import Stand, of_catalogs
from services.cli.placement.plan import ASKED, EGRESS, NOT_ASKED, asked, plans, show
from services.cli.request.colony import from_file
from services.clouds.existing_cluster import ExistingCluster, ExistingPool

POOL = {"name": "gpu", "accelerator": "H100", "acceleratorsPerNode": 8, "nodes": 2}
FITS = {"name": "a", "pools": [POOL], "backend": "capi"}
TOO_DEAR = {"name": "b", "pools": [POOL], "maxPricePerHour": 1.0}
ADOPTS = FITS | {"adopt": {"name": "theirs"}, "kubernetesVersion": "v1.33.1"}
THERE = ExistingCluster("aws", "us-east-1", (ExistingPool("gpu", 2, "x8"),), version="v1.33.1")
HERE = Connection(Path("absent"))


class Backend:
    """Founds on these clouds, or says why it cannot; and has one cluster of others, or none."""

    def __init__(self, reach: dict[str, bool] | Denied, there: ExistingCluster | None = None) -> None:
        self.found_on = reach
        self._there = there

    async def read_existing(self, tenant, name) -> ExistingCluster:
        if self._there is None:
            raise NotFound(f"there is no Cluster {name} in namespace {tenant}")
        return self._there

    async def reach(self, _wish) -> dict[str, bool]:
        if isinstance(self.found_on, Denied):
            raise self.found_on
        return self.found_on


def wanted(file):
    return asked(from_file(Path(file), None))


async def planned_with(catalog, reach, file):
    made = await of_catalogs([catalog])
    return await plans(Stand(made.market, made.known, {"capi": Backend(reach)}, made.source), wanted(file))


async def taken_in(there, catalog, *files):
    made = await of_catalogs([catalog])
    stand = Stand(made.market, made.known, {"capi": Backend({}, there)}, made.source)
    return await plans(stand, [wish for file in files for wish in wanted(file)])


async def shown(file, catalog, *, form="json"):
    out: list[str] = []
    good = await show(HERE, wanted(file), [catalog], form=form, write=out.append)
    return good, "".join(out)


async def test_each_cluster_has_its_choices_best_first(colony, catalog):
    good, text = await shown(colony(FITS), catalog)
    (cluster,) = json.loads(text)["clusters"]
    assert good
    assert (cluster["tenant"], cluster["name"]) == ("default", "train/a")
    assert [each["pricePerHour"] for each in cluster["choices"]] == [16.0, 20.0, 40.0]


async def test_one_cluster_without_a_placement_is_no_good_end(colony, catalog):
    good, text = await shown(colony(FITS, TOO_DEAR), catalog)
    told = json.loads(text)["clusters"]
    assert not good
    assert [len(each["choices"]) for each in told] == [3, 0]
    assert told[1]["message"] == "the cheapest offer costs $16.00 an hour, the cap is $1.00"


async def test_what_was_left_out_of_the_reckoning_is_said(colony, catalog):
    _, text = await shown(colony(FITS), catalog)
    assert json.loads(text)["notes"] == [EGRESS, NOT_ASKED, "aws row 4: Price '-1' must not be negative"]
    assert ASKED not in text


async def test_what_the_back_end_cannot_reach_is_left_out(colony, catalog):
    (with_spot,) = await planned_with(catalog, {"aws": True}, colony(FITS))
    (without,) = await planned_with(catalog, {"aws": False}, colony(FITS))
    (elsewhere,) = await planned_with(catalog, {"gcp": True}, colony(FITS))
    assert [len(each.choices) for each in (with_spot, without, elsewhere)] == [3, 2, 0]
    assert [each.reason for each in elsewhere.excluded] == ["Cloud"]


async def test_what_another_back_end_reaches_is_told_with_its_name(colony, catalog):
    made = await of_catalogs([catalog])
    clouds = {"capi": Backend({"gcp": True}), "k0rdent": Backend({"aws": False})}
    (planned,) = await plans(Stand(made.market, made.known, clouds, made.source), wanted(colony(FITS)))
    assert planned.excluded[0].nearest.endswith(": aws is reached with backend: k0rdent")
    assert planned.message.endswith(planned.excluded[0].nearest)


@pytest.mark.parametrize(
    ("backend", "reason"), [("capi", "NotInstalled"), ("k0rdent", "UnknownBackend")], ids=["not installed", "unknown"]
)
async def test_a_back_end_that_can_found_nothing_is_told_with_its_reason(colony, catalog, backend, reason):
    denied = Denied("there is no template", "NotInstalled")
    (made,) = await planned_with(catalog, denied, colony(FITS | {"backend": backend}))
    assert (made.choices, made.reason) == ((), reason)


async def test_clusters_of_one_colony_do_not_get_the_same_machines(colony, tmp_path):
    own = tmp_path / "own.yaml"
    own.write_text("pools: [{name: rack, accelerator: H100, accelerators: 8, nodes: 3}]")
    good, text = await shown(colony(FITS, FITS | {"name": "b"}), str(own))
    first, second = json.loads(text)["clusters"]
    assert not good
    assert (len(first["choices"]), second["reason"]) == (1, "Taken")
    assert [(each["instance"], each["held"], each["limit"]) for each in second["held"]] == [("rack", 2, 3)]


async def test_of_a_cluster_that_adopts_another_it_is_told_what_that_has_and_costs(colony, catalog):
    (made,) = await taken_in(THERE, catalog, colony(ADOPTS))
    (choice,) = made.choices
    assert (choice.price_per_hour, choice.because) == (40.0, "it stands already")
    assert [(lot.instance, lot.nodes) for lot in choice.placement.lots] == [("x8", 2)]
    assert (made.existing.name, made.existing.kubernetes_version, made.existing.adopted_as) == ("theirs", "v1.33.1", "")


@pytest.mark.parametrize(
    ("there", "reason", "message"),
    [
        (None, "NothingToAdopt", "there is no Cluster theirs in namespace default: adopt one that is there"),
        (THERE._replace(pools=(ExistingPool("gpu", 3, "x8"),)), "DoesNotFit", "its pool gpu has 3 nodes, not 2"),
        (THERE._replace(version="v1.35.1"), "DoesNotFit", "it has Kubernetes v1.35.1, not v1.33.1: write that version"),
        (
            THERE._replace(pools=(ExistingPool("gpu", 2, "w8"),)),
            "NoPrice",
            "no catalog has a price for w8 in aws us-east-1",
        ),
        (THERE._replace(adopted_as="other-gpu"), "AlreadyExists", "theirs is adopted already, as other-gpu"),
    ],
    ids=["not there", "another size", "another version", "no price", "another's"],
)
async def test_what_cannot_be_taken_in_is_told_with_its_reason(colony, catalog, there, reason, message):
    (made,) = await taken_in(there, catalog, colony(ADOPTS))
    assert (made.choices, made.reason) == ((), reason)
    assert made.message.startswith(message)


async def test_what_it_has_itself_is_no_hindrance(colony, catalog):
    (made,) = await taken_in(THERE._replace(adopted_as="train-a"), catalog, colony(ADOPTS))
    assert made.choices


async def test_of_two_that_adopt_the_same_the_first_gets_it(colony, catalog):
    first, second = await taken_in(THERE, catalog, colony(ADOPTS, ADOPTS | {"name": "b"}))
    assert (len(first.choices), second.message) == (1, "theirs is adopted already, as train-a")


async def test_where_no_management_cluster_is_asked_nobody_says_that_it_stands(colony, catalog):
    good, text = await shown(colony(ADOPTS), catalog)
    (told,) = json.loads(text)["clusters"]
    assert not good
    assert (told["reason"], told["existing"]) == ("NotAsked", None)
    assert told["message"] == "whether theirs stands was not asked: give --kubeconfig"
