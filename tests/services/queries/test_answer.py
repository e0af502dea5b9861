"""A question is answered from what is kept, told apart as `alate get` does it, and never without bound."""

import json
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.bus import Stored
from schemas.inventory import Amount, Device, NodeSeen, Offer, Offers, StorageSeen
from schemas.questions import LIMIT
from schemas.registry import declared
from services.queries.answer import KINDS, LARGEST, BadQuestion, answer

NOW = datetime(2026, 1, 1, tzinfo=UTC)
GPUS = tuple(Device(id=f"GPU-{number}", model="H100", source="dra") for number in range(2))


def node(name, accelerator="H100", **more):
    return NodeSeen(uid="u", node=name, ready=True, accelerator=accelerator, accelerators=2, devices=GPUS, **more)


def offer(cloud, price, **more):
    return Offer(cloud=cloud, region="r1", instance="i", accelerator="H100", accelerators=8, price=price, **more)


SAID = {
    ("acme", "train", "n1"): node("n1"),
    ("acme", "train", "n2"): node("n2", "L4"),
    ("acme", "serve", "n1"): node("n1"),
    ("acme", "train", "gone"): node("gone", present=False),
    ("umbrella", "train", "n1"): node("n1"),
    ("acme", "train", "fast"): StorageSeen(uid="u", storage_class="fast", provisioner="csi.x"),
    ("aws", "r1"): Offers(cloud="aws", region="r1", offers=(offer("aws", 30.0), offer("aws", 20.0, zone="a"))),
    ("gcp", "r1"): Offers(cloud="gcp", region="r1", offers=(offer("gcp", 25.0, spot_price=9.0),)),
}


def kept(struct, *names):
    for where, level in SAID.items():
        if isinstance(level, struct) and where[: len(names)] == names:
            yield Stored(declared(struct).at(*where), msgspec.json.encode(level))


def ask(question, **asked):
    return json.loads(answer(question, json.dumps(asked).encode(), kept, NOW))


def places(answered):
    return [(item["namespace"], item["cluster"], item["node"]) for item in answered["items"]]


def test_nodes_come_in_order_and_what_is_gone_does_not_come():
    assert places(ask("nodes")) == [
        ("acme", "serve", "n1"), ("acme", "train", "n1"), ("acme", "train", "n2"), ("umbrella", "train", "n1"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"tenant": "acme"}, 3),
        ({"tenant": "acme", "cluster": "train"}, 2),
        ({"tenant": "acme", "cluster": "train", "node": "n2"}, 1),
        ({"cluster": "train"}, 3),
        ({"node": "n1"}, 3),
        ({"accelerator": "h100-sxm"}, 3),
        ({"tenant": "nobody"}, 0),
    ],
)
def test_nodes_are_told_apart_by_place_and_by_any_name_of_their_accelerator(asked, found):
    assert ask("nodes", **asked)["total"] == found


def test_gpus_are_single_devices_with_their_place():
    found = ask("gpus", tenant="acme", cluster="serve")
    assert [(item["node"], item["id"], item["freshness"]) for item in found["items"]] == [
        ("n1", "GPU-0", "known"), ("n1", "GPU-1", "known"),
    ]  # fmt: skip


def test_storage_is_told_by_class():
    assert [item["storageClass"] for item in ask("storage")["items"]] == ["fast"]


def test_offers_come_cheapest_first():
    assert [item["price"] for item in ask("offers")["items"]] == [20.0, 25.0, 30.0]


@pytest.mark.parametrize(
    ("asked", "clouds"),
    [
        ({"cloud": "aws"}, ["aws", "aws"]),
        ({"maxPrice": 25}, ["aws", "gcp"]),
        ({"maxPrice": "25"}, ["aws", "gcp"]),
        ({"spot": True, "maxPrice": 10}, ["gcp"]),
        ({"spot": "true"}, ["gcp"]),
        ({"region": "r2"}, []),
    ],
)
def test_offers_are_told_apart_as_on_the_command_line_even_if_numbers_are_written_as_text(asked, clouds):
    assert [item["cloud"] for item in ask("offers", **asked)["items"]] == clouds


def test_an_answer_is_a_page_and_says_how_many_are_left():
    first = ask("nodes", limit=3)
    assert (len(first["items"]), first["total"], first["remaining"]) == (3, 4, 1)
    rest = ask("nodes", limit=3, offset=3)
    assert (places(rest), rest["remaining"]) == ([("umbrella", "train", "n1")], 0)


def test_an_answer_of_large_items_is_shorter_than_asked_for():
    large = node("n", source="x" * (LARGEST // 4))
    said = [Stored(f"inventory.nodes.acme.train.n{number}", msgspec.json.encode(large)) for number in range(20)]
    answered = answer("nodes", b'{"limit": 20}', lambda *_: said, NOW)
    assert len(answered) < 2 * LARGEST
    found = json.loads(answered)
    assert 0 < len(found["items"]) < 20
    assert len(found["items"]) + found["remaining"] == 20


@pytest.mark.parametrize(
    ("question", "asked", "sentence"),
    [
        ("nodes", b"{", "the question is not understood: .*expected JSON with any of tenant, cluster"),
        ("nodes", b'{"tennant": "a"}', "not understood: .*tennant.*expected JSON with any of tenant"),
        ("nodes", b'{"limit": 0}', f"^limit is 0: expected 1 to {LIMIT}$"),
        ("nodes", b'{"limit": 1001}', f"^limit is 1001: expected 1 to {LIMIT}$"),
        ("nodes", b'{"offset": -1}', "^offset is -1: expected 0 or more$"),
        ("nodes", b'{"cloud": "aws"}', "^nodes cannot be told apart by cloud: expected tenant, cluster, node, acc"),
        ("offers", b'{"tenant": "a"}', "^offers cannot be told apart by tenant: expected accelerator, cloud"),
        ("offers", b'{"accelerator": "H1000"}', "^accelerator H1000 is not known: perhaps it is one of H100"),
        ("offers", b'{"maxPrice": "cheap"}', "not understood: .*maxPrice"),
    ],
)
def test_a_wrong_question_gets_one_sentence(question, asked, sentence):
    with pytest.raises(BadQuestion, match=sentence):
        answer(question, asked, kept, NOW)


@given(st.sampled_from(sorted(KINDS)), st.binary(max_size=60) | st.text(max_size=30).map(str.encode))
def test_whatever_is_asked_is_answered_or_refused(question, asked):
    try:
        total = json.loads(answer(question, asked, kept, NOW))["total"]
    except BadQuestion as bad:
        total = len(str(bad))
    assert total >= 0  # neither another error nor no answer


def test_mig_slices_of_a_node_are_told_apart_from_its_whole_accelerators(monkeypatch):
    models = {
        "H100": Amount(allocatable=6000, allocated=2000, available=4000),
        "H100 1g.10gb": Amount(allocatable=14000, allocated=0, available=14000),
    }
    monkeypatch.setitem(SAID, ("acme", "train", "n1"), node("n1", models=models))
    (found,) = (one for one in ask("nodes", tenant="acme", cluster="train")["items"] if one["node"] == "n1")
    assert (found["free"], found["slices"]) == (4, "14 x 1g.10gb")
