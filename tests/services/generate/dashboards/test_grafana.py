"""A dashboard in Grafana's JSON holds all that is declared, each panel where no other is."""

import json

import pytest

from services.generate.dashboards.boards import BOARDS
from services.generate.dashboards.grafana import dashboard


@pytest.mark.parametrize("board", BOARDS, ids=lambda each: each.uid)
def test_every_question_is_in_the_file_and_asks_the_chosen_prometheus(board):
    told = json.loads(dashboard(board))
    assert (told["uid"], told["title"], told["editable"]) == (board.uid, board.title, False)
    (variable,) = told["templating"]["list"]
    assert (variable["name"], variable["type"], variable["query"]) == ("datasource", "datasource", "prometheus")
    asked = [[(one["expr"], one["legendFormat"]) for one in panel["targets"]] for panel in told["panels"]]
    assert asked == [[(query.expr, query.legend) for query in panel.queries] for panel in board.panels]
    assert {panel["datasource"]["uid"] for panel in told["panels"]} == {"${datasource}"}


@pytest.mark.parametrize("board", BOARDS, ids=lambda each: each.uid)
def test_no_panel_lies_on_another_or_has_its_number(board):
    panels = json.loads(dashboard(board))["panels"]
    places = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels}
    assert len(places) == len({panel["id"] for panel in panels}) == len(panels)
