"""Dashboards in Grafana's own JSON, by its SDK, which is needed where they are made and nowhere else."""

import json

from grafana_foundation_sdk.builders.dashboard import Dashboard, DatasourceVariable
from grafana_foundation_sdk.builders.prometheus import Dataquery
from grafana_foundation_sdk.builders.timeseries import Panel as Timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import VisibilityMode
from grafana_foundation_sdk.models.dashboard import DashboardCursorSync, DataSourceRef

from services.generate.dashboards.board import Board, Panel

SOURCE = "datasource"
"""The variable by which one chooses the Prometheus."""
WIDE, HIGH = 12, 8
"""Of a panel, in Grafana's grid of 24 columns: two beside each other."""


def dashboard(board: Board) -> str:
    """The file of one."""
    made = (
        Dashboard(board.title)
        .uid(board.uid)
        .tags(["alate"])
        .readonly()
        .refresh("30s")
        .time("now-1h", "now")
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .with_variable(DatasourceVariable(SOURCE).label("Prometheus").type("prometheus"))
    )
    for number, panel in enumerate(board.panels, start=1):
        made = made.with_panel(_panel(panel).id(number))
    return json.dumps(made.build(), cls=JSONEncoder, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _panel(panel: Panel) -> Timeseries:
    made = (
        Timeseries()
        .title(panel.title)
        .description(panel.why)
        .unit(panel.unit)
        .datasource(DataSourceRef("prometheus", f"${{{SOURCE}}}"))
        .height(HIGH)
        .span(WIDE)
        .min(0)
        .fill_opacity(10)
        .show_points(VisibilityMode.NEVER)
    )
    for ref, query in zip("ABCD", panel.queries, strict=False):
        target = Dataquery().ref_id(ref).expr(query.expr).legend_format(query.legend).range()
        made = made.with_target(target.exemplar(query.examples))
    return made
