from pathlib import Path

import msgspec
import pytest

from schemas.wish import Adopt, Need, OnRelease, Pool, Wish
from services.cli.connection import Connection
from services.cli.placement.plan import asked, show
from services.cli.placement.tables import accounted, planned
from services.cli.request.colony import from_file
from services.clouds.existing_cluster import ExistingCluster, ExistingPool
from services.eventlog.explain import account
from services.provisioning.placement.preview import adoption_plan
from services.provisioning.placement.supply import OfferIndex
from tests.services.eventlog.test_explain import LIFE, at

POOL = {"name": "gpu", "accelerator": "H100", "acceleratorsPerNode": 8, "nodes": 2}


async def test_a_plan_for_one_node_speaks_of_it_in_the_singular(colony, catalog):
    out: list[str] = []
    file = colony({"name": "a", "pools": [POOL | {"nodes": 1}]})
    await show(
        Connection(Path("absent")), asked(from_file(Path(file), None)), [catalog], form="table", write=out.append
    )
    assert "".join(out).startswith("train/a: 1 node of 8 H100 (preferred spot)\n")


async def test_a_plan_reads_as_a_sentence_its_choices_what_was_left_out_and_notes(colony, catalog):
    out: list[str] = []
    file = colony({"name": "a", "pools": [POOL], "maxPricePerHour": 30.0, "clouds": ["aws"]})
    await show(
        Connection(Path("absent")), asked(from_file(Path(file), None)), [catalog], form="table", write=out.append
    )
    first, titles, best, second, _, _, left_out, *_ = lines = "".join(out).splitlines()
    assert first == "train/a: 2 nodes of 8 H100 (preferred spot), only aws, for at most $30.00 an hour"
    assert titles.split() == ["CLOUD", "REGION", "ZONE", "MACHINES", "SPOT", "USD/H", "COUNTS", "AS", "BECAUSE"]
    assert best.split() == ["1", "aws", "us-east-1", "a", "2", "x8", "yes", "16.00", "16.00", "its", "price"]
    assert second.split() == ["2", "aws", "us-east-1", "a", "2", "y8", "no", "20.00", "20.00", "its", "price"]
    assert left_out.split()[:3] == ["gpu", "PriceCap", "1"]
    assert next(line for line in lines if line.startswith("note: ")).startswith("note: offers are from ")


async def test_a_plan_without_a_placement_says_why(colony, catalog):
    out: list[str] = []
    file = colony({"name": "a", "pools": [POOL], "maxPricePerHour": 1.0})
    await show(
        Connection(Path("absent")), asked(from_file(Path(file), None)), [catalog], form="table", write=out.append
    )
    assert "\n  no placement: PriceCap: the cheapest offer costs $16.00 an hour, the cap is $1.00\n" in "".join(out)


@pytest.mark.parametrize(
    ("there", "end", "told"),
    [
        (
            ExistingCluster("aws", "r", (ExistingPool("gpu", 2, "x8", spot=True),), version="v1.33.1"),
            "keep",
            "adopts theirs (kept in the end): 2 x8 spot in pool gpu, aws r, v1.33.1\n",
        ),
        (
            ExistingCluster("dev", nodes=2),
            "delete",
            "adopts theirs (deleted in the end): 2 workers, dev\n",
        ),
        (ExistingCluster(), "keep", "adopts theirs (kept in the end): nothing is known of it\n"),
    ],
    ids=["all of it", "little", "nothing"],
)
def test_what_would_be_taken_in_reads_as_a_sentence(there, end, told):
    adopt = Adopt(name="theirs", on_release=OnRelease(end))
    need = Need(pools=(Pool(name="gpu", accelerator="H100", accelerators_per_node=8, nodes=2),), adopt=adopt)
    wish = Wish(tenant="acme", colony="train", cluster="a", uid="c1", generation=1, need=need)
    made = msgspec.to_builtins(adoption_plan(wish, there, OfferIndex()))
    assert told in planned({"clusters": [made], "offersFrom": "here", "notes": []})


def test_an_account_reads_as_what_is_asked_each_attempt_and_what_it_costs():
    lines = accounted(msgspec.to_builtins(account(LIFE[:6], at(4)))).splitlines()
    assert lines[0] == "train-a in namespace acme is ready since 2026-01-01T03:00:00 UTC"
    assert lines[1].startswith("requested at 2026-01-01T00:00:00 UTC: 2 nodes of 8 H100")
    assert lines[4].endswith("NoCapacity at 2026-01-01T01:00:00: none there")
    assert lines[5].split()[6:11] == ["24.00", "30.00", "2026-01-01T02:00:00", "48.00", "12.00"]
    assert lines[-2:] == ["cost so far: $88.00", "the newest change is refused: pools stay as they are"]


def test_where_nothing_was_tried_that_is_said():
    text = accounted(msgspec.to_builtins(account(LIFE[:1], at(1))))
    assert "\nno attempt yet\n" in text
    assert text.endswith("waits for an answer of the market\n")
