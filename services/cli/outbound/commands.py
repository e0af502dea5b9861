"""The commands of `alate outbound`: their options and their help."""
# ruff: noqa: PLC0415, D301 - imports: help must not wait for what a command needs; \b: keeps its lines as they are

import sys
from pathlib import Path
from typing import Annotated

import typer

from services.cli.help import Commands
from services.cli.options import Dir, Format, Output

app = typer.Typer(
    cls=Commands,
    name="outbound",
    help="List and check the targets of outbound notifications.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
File = Annotated[Path | None, typer.Option("-f", "--file", help="File of targets. [default: the local stack's]")]
SecretsFolder = Annotated[Path | None, typer.Option(help="Folder of their secrets. [default: the file's]")]


@app.callback()
def outbound() -> None:
    """List and check the targets of outbound notifications."""


@app.command()
def ls(file: File = None, secrets: SecretsFolder = None, output: Output = Format.TABLE, folder: Dir = None) -> None:
    """List the targets, and whether each has its secret.

    \b
      alate outbound ls
      alate outbound ls -o json
    A file that is refused changes nothing: notifications go on to the targets of before. The exit code is 2 then.
    """
    from services.cli.outbound.listing import listed, written

    sys.stdout.write(written(listed(folder, file, secrets, followed=True), output.value))


@app.command()
def check(file: File = None, secrets: SecretsFolder = None, output: Output = Format.TABLE, folder: Dir = None) -> None:
    """Check a file of targets before it is put in place.

    \b
      alate outbound check -f targets.yaml --secrets .alate/outbound
    Exit code 0 if all targets would be notified, 1 if one has no secret, 2 if the file is refused.
    """
    from services.cli.outbound.listing import listed, written

    found = listed(folder, file, secrets)
    sys.stdout.write(written(found, output.value))
    if not all(each.has_secret for each in found):
        raise typer.Exit(1)
