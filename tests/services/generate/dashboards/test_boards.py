"""What is shipped can be told apart, and says of every panel what it is for."""

import re
from collections import Counter
from pathlib import Path

import pytest

from services.generate.dashboards.boards import BOARDS

ROOT = Path(__file__).parents[4]
PANELS = [(board.title, panel) for board in BOARDS for panel in board.panels]


def test_every_dashboard_has_a_place_of_its_own():
    assert len({board.uid for board in BOARDS}) == len({board.title for board in BOARDS}) == len(BOARDS)


def test_no_dashboard_has_two_panels_of_one_name():
    assert [name for name, times in Counter((title, each.title) for title, each in PANELS).items() if times > 1] == []


@pytest.mark.parametrize("panel", [each for _, each in PANELS], ids=lambda each: each.title)
def test_a_panel_says_what_it_is_for_and_rates_are_taken_over_grafanas_own_interval(panel):
    assert panel.why.endswith(".")
    assert not [query for query in panel.queries if "rate(" in query.expr and "[$__rate_interval]" not in query.expr]


def test_every_metric_that_a_panel_asks_for_is_in_the_reference():
    known = set(re.findall(r"`(alate_\w+)`", (ROOT / "docs" / "reference" / "metrics.md").read_text()))
    asked = {name for _, panel in PANELS for query in panel.queries for name in re.findall(r"alate_\w+", query.expr)}
    assert asked
    assert {
        name for name in asked if name not in known and re.sub("_(bucket|count|sum)$", "", name) not in known
    } == set()
