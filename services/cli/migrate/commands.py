"""The commands by which clusters of others move in, their options and their help; what they do is loaded when run."""
# ruff: noqa: PLC0415, D301 - imports: help must not wait for what a command needs; \b: keeps its lines as they are

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from services.cli.options import HERE, Dir, Kubeconfig, Namespace, Output, Plain

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


class OnRelease(StrEnum):
    """What becomes of an adopted cluster in the end."""

    KEEP = "keep"
    DELETE = "delete"


Catalogs = Annotated[
    list[str] | None,
    typer.Option(
        "--catalog", help="Where machine types are looked up (file, folder or URL; may be repeated). [default: shipped]"
    ),
]


@app.callback()
def moving() -> None:
    """Turn what another operator was asked for into Colonies."""


@app.command()
def exalsius(
    *,
    file: Annotated[Path, typer.Option("-f", "--file", help="A YAML file of exalsius Colonies; - is standard input.")],
    catalog: Catalogs = None,
    accelerator: Annotated[str, typer.Option(help="Which machines of one's own have, where nobody tells.")] = "",
    per_node: Annotated[int, typer.Option(min=0, help="How many of them each has.")] = 0,
    output: Annotated[
        Form, typer.Option("-o", "--output", help="Colonies as YAML, or all that became of them as JSON.")
    ] = Form.YAML,
) -> None:
    """Turn exalsius Colonies into ours, on standard output; what could not be carried over is told beside it.

    \b
      alate import exalsius -f theirs.yaml > colony.yaml
      kubectl get colonies.infra.exalsius.ai -A -o yaml | alate import exalsius -f - > colony.yaml
      alate import exalsius -f theirs.yaml --catalog prices/ -o json | jq '.colonies[].left'
      alate import exalsius -f theirs.yaml --accelerator H100 --per-node 8 > colony.yaml
    Each cluster stays on its cloud, region and template: take those lines out, and it goes where it is cheapest.
    Machines of one's own and adopted clusters become places: what is to be done for that once is told, too.
    Exit code 0 if every cluster was carried over, 1 if one was not, 2 for bad input.
    """
    from services.cli.loop import run
    from services.cli.migrate.import_ import show
    from services.cli.migrate.places import Said

    as_json, said = output is Form.JSON, Said(accelerator, per_node)
    if not run(show(file, catalog or (), said, as_json=as_json, write=sys.stdout.write, tell=sys.stderr.write)):
        raise typer.Exit(1)


def adopt(  # noqa: PLR0913 - what a person may have to say of a cluster that does not tell it
    target: Annotated[str, typer.Argument(metavar="KIND/NAME", help="clusterdeployment/NAME or cluster/NAME.")],
    *,
    colony: Annotated[str | None, typer.Option(help="Name of the Colony. [default: the cluster's]")] = None,
    accelerator: Annotated[str | None, typer.Option(help="Which its nodes have. [default: as a catalog tells]")] = None,
    per_node: Annotated[int | None, typer.Option(min=1, help="How many of them each node holds.")] = None,
    nodes: Annotated[int | None, typer.Option(min=1, help="How many nodes, where it does not tell.")] = None,
    node_price: Annotated[
        float | None, typer.Option(min=0, help="USD per node and hour. [default: as a catalog tells]")
    ] = None,
    on_release: Annotated[OnRelease, typer.Option(help="What becomes of it in the end.")] = OnRelease.KEEP,
    catalog: Catalogs = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the Colony, and make none.")] = False,
    output: Output = Plain.TABLE,
    namespace: Namespace = "default",
    folder: Dir = HERE,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Take in a cluster that stands already: a Colony is made whose cluster it is, nothing is made anew.

    \b
      alate adopt clusterdeployment/theirs -n research --dry-run
      alate adopt clusterdeployment/theirs -n research --colony train
      alate adopt cluster/theirs --accelerator H100 --per-node 8 --node-price 0
    When the Colony goes, the cluster is its makers' again as it is, unless --on-release is delete.
    Exit code 1 if it does not stand, or the Colony is there already; 2 for bad input.
    """
    from services.cli.connection import Where
    from services.cli.loop import run
    from services.cli.migrate.adopt import Ask
    from services.cli.migrate.adopt import adopt as take_in

    where, catalogs = Where(folder, kubeconfig), tuple(catalog or ())
    asked = Ask(target, namespace, colony, accelerator, per_node, nodes, node_price, on_release.value, catalogs)
    run(take_in(where, asked, dry=dry_run, as_json=output is Plain.JSON, write=sys.stdout.write))
