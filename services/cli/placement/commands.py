"""The commands `alate plan` and `alate explain`: their options and their help."""
# ruff: noqa: PLC0415, D301 - imports: help must not wait for what a command needs; \b: keeps its lines as they are

import sys
from pathlib import Path
from typing import Annotated

import typer

from services.cli.options import (
    ClusterArgument,
    Dir,
    FileNamespace,
    Namespace,
    Nats,
    Report,
    ReportFormat,
    StackOptions,
    grouped,
)


@grouped
def plan(
    *,
    file: Annotated[Path, typer.Option("-f", "--file", help="A YAML file of Colonies; - is standard input.")],
    catalog: Annotated[
        list[str] | None,
        typer.Option(help="Prices (file, folder or URL; may be repeated) instead of the stack's."),
    ] = None,
    output: Report = ReportFormat.TABLE,
    namespace: FileNamespace = None,
    stack: StackOptions,
) -> None:
    """Show where each cluster of a Colony would be created, and what was left out and why; nothing is created.

    \b
      alate plan -f colony.yaml                        with the offers, reservations and refusals of the running stack
      alate plan -f colony.yaml --catalog prices/      with these prices alone, no stack
      alate plan -f colony.yaml -o json | jq '.clusters[].choices[0]'
    The ten best placements of each cluster, by price. A price is weighted where there was no capacity lately, or where
    spot machines were interrupted. The cost of moving data (egress) is left out. Of a cluster that is to be adopted it
    shows what that one has and costs, whether both agree, and whether another Colony has it.
    Exit code 0 if every cluster has a placement, 1 if one has none, 2 for bad input.
    """
    from services.cli.connection import Connection
    from services.cli.loop import run
    from services.cli.placement.plan import asked, show
    from services.cli.request.colony import from_file

    where, wanted = Connection(stack.folder, stack.kubeconfig, stack.nats), asked(from_file(file, namespace))
    if not run(show(where, wanted, catalog or (), form=output.value, write=sys.stdout.write)):
        raise typer.Exit(1)


def explain(
    cluster: ClusterArgument,
    namespace: Namespace = "default",
    output: Report = ReportFormat.TABLE,
    folder: Dir = None,
    nats: Nats = None,
) -> None:
    """Show why a cluster is where it is: every attempt with its price and saving, what it costs and waits for.

    \b
      alate explain train/gpu
      alate explain train/gpu -n acme -o json
    Read from its history, which is kept for a while after its release.
    """
    from services.cli.connection import Connection
    from services.cli.get.labels import entity
    from services.cli.loop import run
    from services.cli.placement.explain import show

    name = entity(cluster)

    async def shown() -> None:
        async with Connection(folder, nats=nats).bus() as bus:
            await show(bus, namespace, name, form=output.value, write=sys.stdout.write)

    run(shown())
