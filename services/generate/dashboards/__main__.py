"""`python -m services.generate.dashboards` writes the Grafana dashboards from their declarations."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from schemas.generate import folder
from services.generate.dashboards.boards import BOARDS
from services.generate.dashboards.grafana import dashboard

FOLDER = Path(__file__).parents[3] / "deploy" / "grafana" / "dashboards"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files; with ``--check`` name each one that differs, and give 1 if any does."""
    parser = argparse.ArgumentParser(
        prog="python -m services.generate.dashboards", description="Write Grafana's dashboards."
    )
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 if a file would change")
    parser.add_argument("--out", type=Path, default=FOLDER, metavar="DIR", help="where to (default: %(default)s)")
    asked = parser.parse_args(arguments)
    files = {f"{board.uid}.json": dashboard(board) for board in BOARDS}
    return folder.command(asked.out, files, "services/generate/dashboards", check=asked.check)


if __name__ == "__main__":
    sys.exit(main())
