"""`alate get nodes|gpus|storage` shows what the inventory saw, in any order."""

import msgspec
import pytest

from events.bus import Stored
from schemas.inventory import Amount, Device, NodeSeen, StorageSeen, Trouble
from schemas.registry import declared
from services.cli.bad import BadInput
from services.cli.kinds import KINDS
from services.cli.show import Show
from services.cli.sort import sort

HALF = {"H100": Amount(allocatable=8000, allocated=4500, available=3500)}
NODE = NodeSeen(
    uid="u", node="n1", ready=True, accelerator="H100", accelerators=8, models=HALF,
    devices=(Device(id="GPU-1", model="H100", source="dra", health="healthy", allocated_to=("default/train",)),),
    degraded=(Trouble(reason="SourcesDisagree", message="m"),),
)  # fmt: skip
DISK = StorageSeen(uid="u", storage_class="fast", provisioner="csi.x", volumes=2, allocated=2**31)


def stored(level, name):
    return Stored(declared(type(level)).at("acme", "train", name), msgspec.json.encode(level))


def shown(word, *levels):
    kind = KINDS[word]
    items = [item for level, name in levels for item in kind.items(stored(level, name))]
    lines = []
    Show(kind, "table", lines.append).all(kind.arranged(items, items))
    return [line.split("   ") for line in "".join(lines).splitlines()]


def test_a_node_shows_what_is_free_and_what_is_wrong():
    row = [cell.strip() for cell in shown("nodes", (NODE, "n1"))[1] if cell.strip()]
    assert row == ["train", "n1", "True", "H100", "8", "3.5", "known", "SourcesDisagree"]


def test_a_device_shows_who_holds_it():
    row = [cell.strip() for cell in shown("gpus", (NODE, "n1"))[1] if cell.strip()]
    assert row == ["train", "n1", "GPU-1", "H100", "healthy", "default/train", "dra", "known"]


def test_a_storage_class_shows_its_volumes():
    row = [cell.strip() for cell in shown("storage", (DISK, "fast"))[1] if cell.strip()]
    assert row == ["train", "fast", "csi.x", "2", "2.0 GiB", "known"]


def test_what_is_gone_is_not_shown():
    assert len(shown("nodes", (msgspec.structs.replace(NODE, present=False), "n1"))) == 1


def test_numbers_are_sorted_as_numbers_and_either_way():
    items = [{"node": name, "free": free, "cluster": "c"} for name, free in (("a", 9), ("b", 10), ("c", 2))]
    assert [item["node"] for item in sort(KINDS["nodes"], items, "free")] == ["c", "a", "b"]
    assert [item["node"] for item in sort(KINDS["nodes"], items, "-free")] == ["b", "a", "c"]


def test_a_column_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(BadInput, match="no such column, expected one of CLUSTER, NODE"):
        sort(KINDS["nodes"], [], "price")
