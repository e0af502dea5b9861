"""``python -m tests.bench [NAME…] [-o json]`` measures, writes ``.bench/latest.json`` and shows one table."""

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

import uvloop
from rich.console import Console
from rich.table import Table

from services.process import logs
from tests.bench.figure import Figure

RESULT = Path(".bench") / "latest.json"
NAMES = (
    "transitions",
    "latency",
    "boot",
    "memory",
    "help",
    "market",
    "inventory",
    "tail",
    "hooks",
    "wish",
    "scale",
    "stack",
    "addons",
)
"""Every file of figures beside this one, in the order they are measured."""

Measured = Callable[[Path], Awaitable[list[Figure]]]


def main() -> int:
    """Exit code 0 if everything could be measured, whether or not a goal is reached."""
    asked = _asked()
    with Path(os.devnull).open("w") as nowhere:
        logs.set_up("bench", form="json", level="info", stream=nowhere)
        figures = [figure for name in asked.names or NAMES for figure in _measured(name)]
    found = _document(figures)
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(found + "\n")
    if asked.output == "json":
        sys.stdout.write(found + "\n")
    else:
        Console().print(_table(figures))
    return 0


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    asked = parser.parse_args()
    if unknown := [name for name in asked.names if name not in NAMES]:
        parser.error(f"no figures called {', '.join(unknown)}: must be of {', '.join(NAMES)}")
    return asked


def _measured(name: str) -> list[Figure]:
    sys.stderr.write(f"measuring {name}\n")
    measure: Measured = import_module(f"tests.bench.{name}").measure
    with tempfile.TemporaryDirectory(prefix="alate-bench-") as folder:
        return uvloop.run(measure(Path(folder)))


def _document(figures: list[Figure]) -> str:
    machine = {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.platform()}
    found = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "machine": machine}
    return json.dumps(found | {"figures": [figure.plain() for figure in figures]}, indent=2, ensure_ascii=False)


def _table(figures: list[Figure]) -> Table:
    table = Table(title="ours against a bare reference, in the same run")
    for title in ("figure", "unit", "ours", "bare", "ratio", "goal", "reached"):
        table.add_column(title, justify="left" if title in {"figure", "unit"} else "right")
    for figure in figures:
        shown = (f"{value:,.{0 if value >= 1000 else 2}f}" for value in (figure.ours, figure.bare))
        reached = {True: "yes", False: "NO", None: ""}[figure.reached]
        table.add_row(figure.name, figure.unit, *shown, f"{figure.ratio:.2f}", str(figure.goal or ""), reached)
    return table


if __name__ == "__main__":
    sys.exit(main())
