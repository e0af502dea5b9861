"""The commands of `alate events dlq`: their options and their help."""
# ruff: noqa: PLC0415, D301 - imports: help must not wait for what a command needs; \b: keeps its lines as they are

import sys
from typing import Annotated

import typer

from services.cli.events.on_bus import on_bus
from services.cli.help import Commands
from services.cli.options import BusReportOptions, Dir, Format, Nats, Output, Report, ReportFormat, grouped

app = typer.Typer(
    cls=Commands,
    name="dlq",
    help="Dead letters, messages that a consumer could not handle: list, show, redeliver or drop them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
LettersArgument = Annotated[str, typer.Argument(metavar="WHICH", help="A number or a fingerprint from `ls`, or all.")]
Dry = Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")]


@app.command()
def ls(output: Output = Format.TABLE, folder: Dir = None, nats: Nats = None) -> None:
    """List dead letters, grouped by cause.

    \b
      alate events dlq ls
      alate events dlq ls -o wide
    """
    from services.cli.events.dlq import ls as listed

    on_bus(folder, nats, lambda bus: listed(bus, output.value, sys.stdout.write))


@app.command()
def show(which: LettersArgument, output: Report = ReportFormat.TABLE, folder: Dir = None, nats: Nats = None) -> None:
    """Show dead letters in full.

    \b
      alate events dlq show 17
      alate events dlq show 5c0ffee1 -o json
    """
    from services.cli.events.dlq import show as shown

    on_bus(folder, nats, lambda bus: shown(bus, which, form=output.value, write=sys.stdout.write))


@app.command()
@grouped
def redrive(which: LettersArgument, *, dry: Dry = False, report: BusReportOptions) -> None:
    """Redeliver dead letters, each to the one consumer that failed on it.

    \b
      alate events dlq redrive 17
      alate events dlq redrive 5c0ffee1 --dry-run
    What fails again becomes a new dead letter. After an interruption it can be run again: nothing is redelivered twice.
    """
    from services.cli.events.dlq import LettersOutput
    from services.cli.events.dlq import redrive as again

    on_bus(report.folder, report.nats, lambda bus: again(bus, which, LettersOutput(report.output.value, dry)))


@app.command()
@grouped
def drop(which: LettersArgument, *, dry: Dry = False, report: BusReportOptions) -> None:
    """Delete dead letters for good.

    \b
      alate events dlq drop 5c0ffee1
      alate events dlq drop all --dry-run -o json
    """
    from services.cli.events.dlq import LettersOutput
    from services.cli.events.dlq import drop as forget

    on_bus(report.folder, report.nats, lambda bus: forget(bus, which, LettersOutput(report.output.value, dry)))
