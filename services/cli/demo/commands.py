"""The command `alate demo`: its options and its help."""
# ruff: noqa: PLC0415, D301 - imports: help must not wait for what a command needs; \b: keeps its lines as they are

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class DemoFormat(StrEnum):
    """How the demo is shown."""

    LIVE = "live"
    JSON = "json"


class Backend(StrEnum):
    """What creates clusters."""

    CAPI = "capi"
    K0RDENT = "k0rdent"


def demo(
    *,
    chaos: Annotated[
        bool, typer.Option("--chaos", help="Kill every process once, and delete a cluster while its job runs.")
    ] = False,
    output: Annotated[
        DemoFormat, typer.Option("-o", "--output", help="Output format: live (a display), or json.")
    ] = DemoFormat.LIVE,
    keep: Annotated[
        Path | None, typer.Option(help="Run in this folder and leave it in place. [default: a temporary one]")
    ] = None,
    backend: Annotated[Backend, typer.Option(help="What creates the cluster.")] = Backend.CAPI,
) -> None:
    """Show the whole life of a GPU cluster: created, used, deleted, with proof that nothing is left.

    \b
      alate demo              watch it
      alate demo --chaos      kill every process once, and delete a cluster while its job runs
      alate demo -o json      one JSON object, for programs
    Everything runs on this machine, in a temporary folder; nothing is installed and no cloud is called.
    Exit code 0 only if every check was made and passed.
    """
    from services.cli.demo.run import demo as play
    from services.cli.loop import run

    if not run(play(chaos=chaos, as_json=output is DemoFormat.JSON, keep=keep, backend=backend.value)):
        raise typer.Exit(1)
