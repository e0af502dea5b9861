"""The commands `alate plan` and `alate explain`, their options and their help; what they do is loaded when they run."""
# ruff: noqa: PLC0415, D301 - imports: help must not wait for what a command needs; \b: keeps its lines as they are

import sys
from pathlib import Path
from typing import Annotated

import typer

from services.cli.options import HERE, Dir, Kubeconfig, Namespace, Nats, Output, Plain


def plan(  # noqa: PLR0913 - what, and held against which market
    *,
    file: Annotated[Path, typer.Option("-f", "--file", help="A YAML file of Colonies; - is standard input.")],
    catalog: Annotated[
        list[str] | None,
        typer.Option(help="Plan with these prices (file, folder or URL; may be repeated) instead of a running stack."),
    ] = None,
    output: Output = Plain.TABLE,
    namespace: Annotated[
        str | None, typer.Option("--namespace", "-n", help="Namespace: the tenant. [default: the file's, or default]")
    ] = None,
    folder: Dir = HERE,
    kubeconfig: Kubeconfig = None,
    nats: Nats = None,
) -> None:
    """Show where each cluster of a Colony would go, and what was left out and why; nothing is asked for.

    \b
      alate plan -f colony.yaml                        with the running stack's offers, holds and refusals
      alate plan -f colony.yaml --catalog prices/      with these prices alone, no stack
      alate plan -f colony.yaml -o json | jq '.clusters[].choices[0]'
    The ten best placements of each cluster, by price; it counts as dearer where there was no room, or where spot
    machines were taken away, lately. Moving data (egress) is left out. Of a cluster that adopts another it is told
    what that one has and costs, whether both agree, and whether somebody else has it.
    Exit code 0 if there is a placement for every cluster, 1 if for one there is none, 2 for bad input.
    """
    from services.cli.connection import Where
    from services.cli.loop import run
    from services.cli.placement.plan import asked, show
    from services.cli.request.colony import from_file

    where, wanted = Where(folder, kubeconfig, nats), asked(from_file(file, namespace))
    if not run(show(where, wanted, catalog or (), as_json=output is Plain.JSON, write=sys.stdout.write)):
        raise typer.Exit(1)


def explain(
    cluster: Annotated[str, typer.Argument(metavar="CLUSTER", help="COLONY/CLUSTER, or a name of `get clusters`.")],
    namespace: Namespace = "default",
    output: Output = Plain.TABLE,
    folder: Dir = HERE,
    nats: Nats = None,
) -> None:
    """Show why a cluster is where it is: each attempt with its price, what it saved, what it costs and waits for.

    \b
      alate explain train/gpu
      alate explain train-gpu -n acme -o json
    Read from its history, which is kept for a while after its release.
    """
    from services.cli.connection import Where
    from services.cli.loop import run
    from services.cli.placement.explain import name_of, show

    name = name_of(cluster)

    async def shown() -> None:
        async with Where(folder, nats=nats).bus() as bus:
            await show(bus, namespace, name, as_json=output is Plain.JSON, write=sys.stdout.write)

    run(shown())
