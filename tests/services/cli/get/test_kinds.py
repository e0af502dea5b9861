"""`alate get nodes|gpus|storage|offers` shows what the inventory saw, in any order."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from events.bus import Stored
from schemas.inventory import Amount, Device, NodeSeen, Offer, Offers, StorageSeen, Trouble
from schemas.market import CapacityRefusal, CapacitySeen
from schemas.registry import declared
from services.cli.connection import Connection
from services.cli.get.kinds import KINDS
from services.cli.get.show import Selection, get
from services.cli.output.render import Printer, sort
from services.errors import BadInput
from services.queries.filter import ItemFilter

HALF = {"H100": Amount(allocatable=8000, allocated=4500, available=3500)}
NODE = NodeSeen(
    uid="u", node="n1", ready=True, accelerator="H100", accelerators=8, models=HALF, pool="gpu",
    devices=(Device(id="GPU-1", model="H100", source="dra", health="healthy", allocated_to=("default/train",)),),
    degraded=(Trouble(reason="SourcesDisagree", message="m"),),
)  # fmt: skip
DISK = StorageSeen(uid="u", storage_class="fast", provisioner="csi.x", volumes=2, allocated=2**31)


def stored(level, name):
    return Stored(declared(type(level)).at("acme", "train", name), msgspec.json.encode(level))


def shown(word, *levels):
    kind = KINDS[word]
    items = [item for level, name in levels for item in kind.items(stored(level, name))]
    lines: list[Any] = []
    Printer(kind, "table", lines.append).all(kind.arranged(items, items))
    return [line.split("   ") for line in "".join(lines).splitlines()]


def test_a_node_shows_what_is_free_and_what_is_wrong():
    row = [cell.strip() for cell in shown("nodes", (NODE, "n1"))[1] if cell.strip()]
    assert row == ["train", "n1", "gpu", "True", "H100", "8", "3.5", "known", "SourcesDisagree"]


def test_a_device_shows_who_holds_it():
    row = [cell.strip() for cell in shown("gpus", (NODE, "n1"))[1] if cell.strip()]
    assert row == ["train", "n1", "GPU-1", "H100", "healthy", "default/train", "dra", "known"]


def test_a_storage_class_shows_its_volumes():
    row = [cell.strip() for cell in shown("storage", (DISK, "fast"))[1] if cell.strip()]
    assert row == ["train", "fast", "csi.x", "2", "2.0 GiB", "known"]


OFFER = Offer(cloud="aws", region="r1", instance="i", accelerator="H100", accelerators=8, price=20.0, spot_price=8.0)


@pytest.mark.parametrize(("spot", "told"), [(False, "NoCapacity 5m ago (counts "), (True, "spot NoCapacity 5m ago (")])
def test_an_offer_shows_what_was_refused_last_and_how_much_dearer_it_counts(spot, told):
    at = datetime.now(UTC) - timedelta(minutes=5)
    refusal = CapacityRefusal(reason="NoCapacity", instance="i", accelerator="H100", spot=spot, at=at, attempt="u/1")
    levels = (
        (Offers(cloud="aws", region="r1", offers=(OFFER,)), ("aws", "r1")),
        (CapacitySeen(cloud="aws", region="r1", half_life_seconds=1800.0, refusals=(refusal,)), ("aws", "r1")),
    )
    kind = KINDS["offers"]
    stored_ = [Stored(declared(type(level)).at(*names), msgspec.json.encode(level)) for level, names in levels]
    items = [item for each in stored_ for item in kind.items(each)]
    (item,) = kind.arranged(items, items)
    assert kind.columns["REFUSED"](item, datetime.now(UTC)).startswith(told)


def test_an_offer_that_nobody_refused_shows_none():
    assert KINDS["offers"].columns["REFUSED"]({"price": 1.0}, datetime.now(UTC)) == ""


def test_what_is_gone_is_not_shown():
    assert len(shown("nodes", (msgspec.structs.replace(NODE, present=False), "n1"))) == 1


def test_numbers_are_sorted_as_numbers_and_either_way():
    items = [{"node": name, "free": free, "cluster": "c"} for name, free in (("a", 9), ("b", 10), ("c", 2))]
    assert [item["node"] for item in sort(KINDS["nodes"], items, "free")] == ["c", "a", "b"]
    assert [item["node"] for item in sort(KINDS["nodes"], items, "-free")] == ["b", "a", "c"]


@pytest.mark.parametrize(
    ("sieve", "sentence"),
    [
        (
            ItemFilter(cloud="aws", spot=True),
            "^--cloud, --spot selects offers, not nodes: `alate get offers` understands",
        ),
        (ItemFilter(accelerator="H1000"), "^accelerator H1000 is not known: perhaps it is one of H100"),
    ],
)
async def test_what_a_kind_cannot_be_told_apart_by_is_refused_before_anything_is_asked(sieve, sentence):
    nowhere = Connection(Path("none"), None, None)
    with pytest.raises(BadInput, match=sentence):
        await get(nowhere, "nodes", Selection(sieve=sieve), "table")


def test_a_column_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(BadInput, match="no such column, expected one of CLUSTER, NODE"):
        sort(KINDS["nodes"], [], "price")


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ({"message": "none left"}, "none left"),
        ({"refused": "pools stay", "unmetDemand": {"message": "others hold them"}}, "pools stay"),
        ({"refused": "", "unmetDemand": {"reason": "Taken", "message": "others hold them"}}, "others hold them"),
        ({"refused": "", "unmetDemand": None}, ""),
    ],
)
def test_a_cluster_tells_what_it_waits_for_even_while_it_is_ready(state, told):
    assert KINDS["clusters"].columns["MESSAGE"](state, datetime(2026, 1, 1, tzinfo=UTC)) == told
