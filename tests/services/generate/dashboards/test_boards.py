"""What is shipped can be told apart, and says of every panel what it is for."""

from collections import Counter

import pytest

from services.generate.dashboards.boards import BOARDS

PANELS = [(board.title, panel) for board in BOARDS for panel in board.panels]


def test_every_dashboard_has_a_place_of_its_own():
    assert len({board.uid for board in BOARDS}) == len({board.title for board in BOARDS}) == len(BOARDS)


def test_no_dashboard_has_two_panels_of_one_name():
    assert [name for name, times in Counter((title, each.title) for title, each in PANELS).items() if times > 1] == []


@pytest.mark.parametrize("panel", [each for _, each in PANELS], ids=lambda each: each.title)
def test_a_panel_says_what_it_is_for_and_rates_are_taken_over_grafanas_own_interval(panel):
    assert panel.why.endswith(".")
    assert not [query for query in panel.queries if "rate(" in query.expr and "[$__rate_interval]" not in query.expr]
