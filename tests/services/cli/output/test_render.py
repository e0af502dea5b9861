import json
from datetime import UTC, datetime, timedelta

import pytest
import yaml

from events.bus import Stored
from services.cli.get.kinds import COLONIES, KINDS
from services.cli.get.show import kind_of
from services.cli.output.cells import age
from services.cli.output.render import Printer
from services.errors import BadInput

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
COLONY = {
    "metadata": {"name": "train", "creationTimestamp": "2026-01-01T11:00:00Z"},
    "status": {"phase": "Ready", "ready": "1/1", "accelerators": "16/16", "offer": "aws", "pricePerHour": 28.5},
}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (59, "59s"),
        (60, "1m"),
        (3_599, "59m"),
        (3_600, "1h"),
        (11_520, "3h12m"),
        (187_200, "2d4h"),
        (-5, "0s"),
    ],
)
def test_an_age_is_told_as_kubectl_tells_it(seconds, text):
    assert age(NOW - timedelta(seconds=seconds), NOW) == text


@pytest.mark.parametrize("word", ["colonies", "colony", "clusters", "cluster", "nodes", "offer", "addons"])
def test_a_kind_is_understood_in_the_plural_and_the_singular(word):
    assert kind_of(word) in KINDS.values()


def test_an_unknown_kind_is_told_with_those_there_are():
    kinds = "colonies, clusters, nodes, gpus, storage, offers, addons"
    with pytest.raises(BadInput, match=f"there is no kind pods: get one of {kinds}"):
        kind_of("pods")


def test_a_table_has_its_titles_and_a_line_per_item():
    lines: list[str] = []
    Printer(COLONIES, "table", lines.append).all([COLONY])
    title, row = "".join(lines).splitlines()

    assert title.split() == list(COLONIES.columns)
    assert row.split()[:6] == ["train", "Ready", "1/1", "16/16", "aws", "28.50"]
    assert title.index("PHASE") == row.index("Ready")


def test_a_change_keeps_to_the_columns():
    lines: list[str] = []
    show = Printer(COLONIES, "table", lines.append)
    show.all([COLONY])
    show.one({"metadata": {"name": "x"}})
    show.one(COLONY)

    assert lines[1].rstrip() == "x"
    assert lines[2].index("Ready") == lines[0].index("PHASE")


def test_json_and_yaml_hold_the_whole_items():
    written: dict[str, str] = {}
    for form in ("json", "yaml"):
        Printer(COLONIES, form, lambda text, form=form: written.update({form: text})).all([COLONY])

    assert json.loads(written["json"]) == {"items": [COLONY]}
    assert yaml.safe_load(written["yaml"]) == COLONY


def test_a_node_that_is_gone_is_not_shown():
    gone = Stored("inventory.nodes.default.train-main.n0", b'{"uid":"u","node":"n0","ready":false,"present":false}')

    assert not list(KINDS["nodes"].items(gone))


def test_offers_are_shown_one_by_one():
    offer = {
        "cloud": "aws",
        "region": "us-east-1",
        "instance": "p5",
        "accelerator": "H100",
        "accelerators": 8,
        "price": 55,
    }
    stored = Stored("inventory.offers.aws.us-east-1", json.dumps({"offers": [offer, offer]}).encode())
    kind = KINDS["offers"]
    first, _ = kind.items(stored)

    assert kind.row(first, NOW) == ("aws", "us-east-1", "", "p5", "H100", "8", "55.00", "", "", "", "")


def test_a_cluster_shows_its_offer_and_its_price():
    lot = {"instance": "p5.48xlarge", "spot": True, "pricePerHour": 14.25, "nodes": 2, "extra": 1}
    place = {"cloud": "aws", "region": "us-east-1", "lots": [lot], "controlPlanePerHour": 0.1}
    state = {
        "attempt": {"placement": place},
        "since": "2026-01-01T11:59:00Z",
    }
    stored = Stored("cluster.ready.default.train-main", json.dumps(state).encode())
    (item,) = KINDS["clusters"].items(stored)

    assert KINDS["clusters"].row(item, NOW)[:5] == (
        "train-main", "ready", "1m", "aws us-east-1 p5.48xlarge spot", "42.85",
    )  # fmt: skip
