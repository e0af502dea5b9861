"""`alate import`: its options and its help; what it does is loaded when it runs."""
# ruff: noqa: PLC0415, D301 - imports: help must not wait for what a command needs; \b: keeps its lines as they are

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    name="import",
    help="Turn what another operator was asked for into Colonies.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


class Form(StrEnum):
    """How Colonies are written."""

    YAML = "yaml"
    JSON = "json"


@app.callback()
def moving() -> None:
    """Turn what another operator was asked for into Colonies."""


@app.command()
def exalsius(
    *,
    file: Annotated[Path, typer.Option("-f", "--file", help="A YAML file of exalsius Colonies.")],
    catalog: Annotated[
        list[str] | None,
        typer.Option(
            help="Where machine types are looked up (file, folder or URL; may be repeated). [default: shipped]"
        ),
    ] = None,
    output: Annotated[
        Form, typer.Option("-o", "--output", help="Colonies as YAML, or all that became of them as JSON.")
    ] = Form.YAML,
) -> None:
    """Turn exalsius Colonies into ours, on standard output; what could not be carried over is told beside it.

    \b
      alate import exalsius -f theirs.yaml > colony.yaml
      alate import exalsius -f theirs.yaml --catalog prices/ -o json | jq '.colonies[].left'
    Each cluster stays on its cloud, region and template: take those lines out, and it goes where it is cheapest.
    Exit code 0 if every cluster was carried over, 1 if one was not, 2 for bad input.
    """
    from services.cli.loop import run
    from services.cli.moving.show import show

    as_json = output is Form.JSON
    if not run(show(file, catalog or (), as_json=as_json, write=sys.stdout.write, tell=sys.stderr.write)):
        raise typer.Exit(1)
