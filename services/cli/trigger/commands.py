"""The commands of `alate trigger`, their options and their help; what they do is loaded when they run."""
# ruff: noqa: PLC0415, D301 - imports: help must not wait for what a command needs; \b: keeps its lines as they are

import sys
from pathlib import Path
from typing import Annotated

import typer

from services.cli.options import Output, Plain

app = typer.Typer(
    name="trigger",
    help="Rules that make a webhook ask for a Colony, or let it go.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def trigger() -> None:
    """Rules that make a webhook ask for a Colony, or let it go."""


@app.command(name="test")
def try_out(
    *,
    file: Annotated[Path, typer.Option("-f", "--file", help="A YAML file of Triggers; - is standard input.")],
    event: Annotated[
        Path, typer.Option("-e", "--event-file", help="A CloudEvent as JSON, or a body as its sender posts it.")
    ],
    name: Annotated[
        str, typer.Option("--event", help="The event's name, where its sender says it in a header: workflow_run.")
    ] = "",
    output: Output = Plain.TABLE,
) -> None:
    """Show what an event would do, and why; nothing is asked for.

    \b
      alate trigger test -f deploy/triggers/github-workflow.yaml -e event.json
      alate trigger test -f deploy/triggers/github-workflow.yaml \\
        -e deploy/triggers/events/github-workflow.json --event workflow_run
    The event is taken as if it had come in at the endpoint that the Trigger names.
    Exit code 0 if something would be asked for, 1 if nothing would.
    """
    from services.cli.trigger.dry_run import tried, written

    trials = tried(file, event, name)
    sys.stdout.write(written(trials, as_json=output is Plain.JSON))
    if not any(each.message for each in trials):
        raise typer.Exit(1)
