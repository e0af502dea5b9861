"""The commands of `alate trigger`: their options and their help."""
# ruff: noqa: PLC0415, D301 - imports: help must not wait for what a command needs; \b: keeps its lines as they are

import sys
from pathlib import Path
from typing import Annotated

import typer

from services.cli.help import Commands
from services.cli.options import Report, ReportFormat

app = typer.Typer(
    cls=Commands,
    name="trigger",
    help="Try out Triggers: rules that act when a webhook comes in or an event happens.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def trigger() -> None:
    """Try out Triggers: rules that act when a webhook comes in or an event happens."""


@app.command(name="test")
def try_out(
    *,
    file: Annotated[Path, typer.Option("-f", "--file", help="A YAML file of Triggers; - is standard input.")],
    event: Annotated[
        Path,
        typer.Option(
            "-e",
            "--event-file",
            help="A CloudEvent as JSON, an event as alate events get shows it in JSON, or the body of a webhook.",
        ),
    ],
    name: Annotated[
        str, typer.Option("--event", help="Name of the event, if its sender puts it in a header, e.g. workflow_run.")
    ] = "",
    output: Report = ReportFormat.TABLE,
) -> None:
    """Show what a webhook or a recorded event would do, and why; nothing is created.

    \b
      alate trigger test -f deploy/triggers/github-workflow.yaml -e event.json
      alate trigger test -f deploy/triggers/github-workflow.yaml \\
        -e deploy/triggers/events/github-workflow.json --event workflow_run
    The event is handled as if it had come in at the endpoint that the Trigger names.
    Exit code 0 if a rule matches, 1 if none does.
    """
    from services.cli.trigger.dry_run import tried, written

    trials = tried(file, event, name)
    sys.stdout.write(written(trials, form=output.value))
    if not any(each.message for each in trials):
        raise typer.Exit(1)
