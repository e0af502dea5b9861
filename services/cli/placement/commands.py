"""The commands `alate plan` and `alate explain`: their options and their help."""
# ruff: noqa: PLC0415, D301 - imports: help must not wait for what a command needs; \b: keeps its lines as they are

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from services.cli.completion import cluster_names
from services.cli.options import (
    BusReportOptions,
    FileNamespace,
    Namespace,
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


@grouped
def explain(
    target: Annotated[
        str,
        typer.Argument(
            metavar="COLONY/CLUSTER",
            help="The cluster, as `alate get clusters` names it; or CLUSTER.ADDON.",
            autocompletion=cluster_names,
        ),
    ],
    addon: Annotated[
        str | None, typer.Argument(help="An add-on of the cluster, with its profile: such as base.driver.")
    ] = None,
    *,
    namespace: Namespace = "default",
    report: BusReportOptions,
) -> None:
    """Show why a cluster is where it is, what it costs and waits for; or why an add-on of it is not applied.

    \b
      alate explain train/gpu
      alate explain train/gpu -n acme -o json
      alate explain train/gpu base.driver       the add-on driver of the profile base
      alate explain train-gpu.base.driver
    Of a cluster: every attempt with its price and saving, from its history, which is kept for a while after its end;
    and the labels that classifiers give it.
    Of an add-on: the reason in one sentence, and the chain of add-ons up to the first that blocks.
    """
    from schemas.addon import addon_name
    from schemas.subjects import Key
    from services.cli.connection import Connection
    from services.cli.get.labels import entity
    from services.cli.loop import run
    from services.cli.placement import explain as explain_cluster
    from services.cli.placement import explain_addon

    cluster, _, within = target.partition(".")
    name, of_it = entity(cluster), (addon or within).replace("/", ".")

    async def shown() -> None:
        write = sys.stdout.write
        connection = Connection(report.folder, nats=report.nats)
        async with connection.bus() as bus:
            if of_it:
                key = Key("addon", namespace, addon_name(name, of_it))
                find = partial(explain_addon.profile_of_cluster, connection)
                await explain_addon.show(bus, key, find=find, form=report.output.value, write=write)
            else:
                await explain_cluster.show(bus, namespace, name, form=report.output.value, write=write)

    run(shown())
