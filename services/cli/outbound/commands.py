"""The commands of `alate outbound`, their options and their help; what they do is loaded when they run."""
# ruff: noqa: PLC0415, D301 - imports: help must not wait for what a command needs; \b: keeps its lines as they are

import sys
from pathlib import Path
from typing import Annotated

import typer

from services.cli.options import HERE, Dir, Output, Plain

app = typer.Typer(
    name="outbound",
    help="Receivers outside that are told what becomes of clusters.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
File = Annotated[
    Path | None, typer.Option("-f", "--file", help="The file of targets; not said: that of the stack in the folder.")
]
Secrets = Annotated[Path | None, typer.Option(help="The folder of their secrets; not said: the file's own.")]


@app.callback()
def outbound() -> None:
    """Receivers outside that are told what becomes of clusters."""


@app.command()
def ls(file: File = None, secrets: Secrets = None, output: Output = Plain.TABLE, folder: Dir = HERE) -> None:
    """List the targets, and whether each has its secret.

    \b
      alate outbound ls
    A file that is refused changes nothing: outbound goes on with the targets of before. Exit code 2 then.
    """
    from services.cli.outbound.listing import listed, written

    sys.stdout.write(written(listed(folder, file, secrets, followed=True), as_json=output is Plain.JSON))


@app.command()
def check(file: File = None, secrets: Secrets = None, output: Output = Plain.TABLE, folder: Dir = HERE) -> None:
    """Check a file of targets before it is saved where it is followed.

    \b
      alate outbound check -f targets.yaml --secrets .alate/outbound
    Exit code 0 if all would be told, 1 if one has no secret, 2 if the file is refused.
    """
    from services.cli.outbound.listing import listed, written

    found = listed(folder, file, secrets)
    sys.stdout.write(written(found, as_json=output is Plain.JSON))
    if not all(each.has_secret for each in found):
        raise typer.Exit(1)
