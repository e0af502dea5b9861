"""The command `alate diff`: its options and its help."""
# ruff: noqa: PLC0415, D301 - imports: help must not wait for what a command needs; \b: keeps its lines as they are

import sys
from pathlib import Path
from typing import Annotated

import typer

from services.cli.options import FilePlaceOptions, Report, ReportFormat, grouped


@grouped
def diff(
    *,
    file: Annotated[
        list[str],
        typer.Option("-f", "--file", help="A file or a folder of manifests (may be repeated); - is standard input."),
    ],
    offline: Annotated[bool, typer.Option("--offline", help="Only check the manifests; ask no cluster.")] = False,
    output: Report = ReportFormat.TABLE,
    place: FilePlaceOptions,
) -> None:
    """Show what manifests would change in the management cluster, field by field; nothing is changed.

    \b
      alate diff -f clusters/                 what a folder holds of the kinds of alate
      alate diff -f clusters/ --offline       only check them: needs no cluster
      kustomize build . | alate diff -f -
      alate diff -f clusters/ -o json | jq '.objects[] | select(.state == "changed")'
    The API server says what an apply would make of each object, with its defaults. Objects of other kinds are left out.
    Exit code 0 if nothing would change, 1 if something would, 2 if a manifest is wrong or the cluster does not answer.
    """
    from services.cli.connection import Connection
    from services.cli.diff.manifests import read
    from services.cli.diff.show import checked, compared, exit_code, written
    from services.cli.loop import run

    found = read(list(map(Path, file)), place.namespace)
    results = checked(found) if offline else run(compared(Connection(place.folder, place.kubeconfig), found))
    sys.stdout.write(written(found, results, output.value))
    if code := exit_code(found, results):
        raise typer.Exit(code)
