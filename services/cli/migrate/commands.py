"""The commands `alate import` and `alate adopt`: their options and their help."""
# ruff: noqa: PLC0415, D301 - imports: help must not wait for what a command needs; \b: keeps its lines as they are

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from services.cli.help import Commands
from services.cli.options import Dir, Format, Kubeconfig, Namespace, Output

app = typer.Typer(
    cls=Commands,
    name="import",
    help="Convert resources of other operators to Colonies.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


class ImportFormat(StrEnum):
    """How converted Colonies are written."""

    YAML = "yaml"
    JSON = "json"


class AdoptedEnd(StrEnum):
    """What becomes of an adopted cluster in the end."""

    KEEP = "keep"
    DELETE = "delete"


Catalogs = Annotated[
    list[str] | None,
    typer.Option(
        "--catalog",
        help="Where to look up machine types (file, folder or URL; may be repeated). [default: the shipped catalogs]",
    ),
]


@app.callback()
def moving() -> None:
    """Convert resources of other operators to Colonies."""


@app.command()
def exalsius(
    *,
    file: Annotated[Path, typer.Option("-f", "--file", help="A YAML file of exalsius Colonies; - is standard input.")],
    catalog: Catalogs = None,
    accelerator: Annotated[str, typer.Option(help="Accelerator of on-premise machines, if unknown.")] = "",
    per_node: Annotated[int, typer.Option(min=0, help="How many accelerators each of those machines has.")] = 0,
    output: Annotated[
        ImportFormat,
        typer.Option("-o", "--output", help="Output format: yaml (the Colonies) or json (also what was left out)."),
    ] = ImportFormat.YAML,
) -> None:
    """Convert exalsius Colonies, on standard output; what could not be converted is listed on standard error.

    \b
      alate import exalsius -f theirs.yaml > colony.yaml
      kubectl get colonies.infra.exalsius.ai -A -o yaml | alate import exalsius -f - > colony.yaml
      alate import exalsius -f theirs.yaml --catalog prices/ -o json | jq '.colonies[].left'
      alate import exalsius -f theirs.yaml --accelerator H100 --per-node 8 > colony.yaml
    Each cluster stays on its cloud, region and template: without these lines it goes where it is cheapest.
    On-premise machines and adopted clusters need a catalog and a Credential: the steps are listed on standard error.
    Exit code 0 if every cluster was converted, 1 if one was not, 2 for bad input.
    """
    from services.cli.loop import run
    from services.cli.migrate.convert import show
    from services.cli.migrate.places import Accelerators

    as_json, given = output is ImportFormat.JSON, Accelerators(accelerator, per_node)
    if not run(show(file, catalog or (), given, as_json=as_json, write=sys.stdout.write, tell=sys.stderr.write)):
        raise typer.Exit(1)


def adopt(  # noqa: PLR0913 - what a person may have to say of a cluster that does not tell it
    target: Annotated[str, typer.Argument(metavar="KIND/NAME", help="clusterdeployment/NAME or cluster/NAME.")],
    *,
    colony: Annotated[str | None, typer.Option(help="Name of the Colony. [default: that of the cluster]")] = None,
    accelerator: Annotated[str | None, typer.Option(help="Accelerator of its nodes. [default: from a catalog]")] = None,
    per_node: Annotated[
        int | None, typer.Option(min=1, help="Accelerators per node. [default: from a catalog]")
    ] = None,
    nodes: Annotated[int | None, typer.Option(min=1, help="Number of nodes, if the cluster does not tell it.")] = None,
    node_price: Annotated[
        float | None, typer.Option(min=0, help="USD per node and hour. [default: from a catalog]")
    ] = None,
    on_release: Annotated[
        AdoptedEnd, typer.Option(help="Keep the cluster, or delete it, when the Colony is deleted.")
    ] = AdoptedEnd.KEEP,
    catalog: Catalogs = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the Colony and create nothing.")] = False,
    output: Output = Format.TABLE,
    namespace: Namespace = "default",
    folder: Dir = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Adopt an existing cluster: create a Colony for it, and nothing else.

    \b
      alate adopt clusterdeployment/theirs -n research --dry-run
      alate adopt clusterdeployment/theirs -n research --colony train
      alate adopt cluster/theirs --accelerator H100 --per-node 8 --node-price 0
    When the Colony is deleted, the cluster stays as it is and is released, unless --on-release is delete.
    Exit code 1 if the cluster does not exist or the Colony exists already, 2 for bad input.
    """
    from services.cli.connection import Connection
    from services.cli.loop import run
    from services.cli.migrate.adopt import AdoptRequest
    from services.cli.migrate.adopt import adopt as take_in

    where, catalogs = Connection(folder, kubeconfig), tuple(catalog or ())
    asked = AdoptRequest(
        target, namespace, colony, accelerator, per_node, nodes, node_price, on_release.value, catalogs
    )
    run(take_in(where, asked, dry=dry_run, form=output.value, write=sys.stdout.write))
