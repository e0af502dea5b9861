"""The command `alate replay`: its options and its help."""
# ruff: noqa: PLC0415, D301 - imports: help must not wait for what a command needs; \b: keeps its lines as they are

from pathlib import Path
from typing import Annotated, Literal

import typer

from services.cli.options import Report, ReportFormat


def replay(
    trace: Annotated[Literal["openb"], typer.Argument(help="Format of the files: openb.")],
    *,
    nodes: Annotated[Path, typer.Option(help="CSV of nodes: sn,cpu_milli,memory_mib,gpu,model.")],
    pods: Annotated[Path, typer.Option(help="CSV of pods, with creation_time and deletion_time.")],
    output: Report = ReportFormat.TABLE,
) -> None:
    """Play a recorded GPU cluster through the inventory, and check its figures against a count from the files.

    \b
      alate replay openb --nodes nodes.csv --pods pods.csv
    Exit code 0 only if both counts agree for every model.
    """
    from services.cli.loop import run
    from services.cli.trace_replay.replay import replay as play

    del trace  # there is one format so far, and it is checked
    run(play(nodes, pods, form=output.value))
