"""Whatever the shipped dashboards hold, the picture of them can show."""

import json

import pytest

from tests.pictures.dashboard import BOARDS, DRAWN, undrawable

EVERY = {file.stem: json.loads(file.read_text()) for file in sorted(BOARDS.glob("*.json"))}


@pytest.mark.parametrize("board", EVERY.values(), ids=EVERY)
def test_every_panel_of_a_shipped_dashboard_can_be_drawn(board):
    assert board["panels"]
    assert undrawable(board) == []


def test_what_cannot_be_drawn_is_named():
    (panel, *_), wrong = EVERY["alate-fleet"]["panels"], {"unit": "bytes", "custom": {"lineWidth": 3}, "thresholds": {}}
    told = undrawable({"panels": [panel | {"type": "gauge", "fieldConfig": {"defaults": wrong}}]})
    assert told == [f"{panel['title']}: {each}" for each in ("bytes", "gauge", "lineWidth", "thresholds")]


def test_each_picture_shows_a_dashboard_that_is_shipped():
    assert {file.stem for file in DRAWN.values()} <= EVERY.keys()
