"""The command `alate get`: its options and its help."""
# ruff: noqa: PLC0415, D301 - imports: help must not wait for what a command needs; \b: keeps its lines as they are

from dataclasses import dataclass
from typing import Annotated

import typer

from services.cli.completion import kind_names, names_of_kind
from services.cli.options import Format, Namespace, Output, StackOptions, grouped


@dataclass(frozen=True)
class ViewOptions:
    """How it is shown."""

    output: Output = Format.TABLE
    watch: Annotated[bool, typer.Option("-w", "--watch", help="Go on, and show every change.")] = False
    ended: Annotated[bool, typer.Option("--all", help="Also show clusters and add-ons that have ended.")] = False


@dataclass(frozen=True)
class FilterOptions:
    """What of it is shown, and in which order."""

    labels: Annotated[
        str, typer.Option("-l", "--selector", help="Only of Colonies with these labels, e.g. team=vision.")
    ] = ""
    accelerator: Annotated[str | None, typer.Option(help="Only with this accelerator, e.g. H100.")] = None
    cloud: Annotated[str | None, typer.Option(help="Only offers of this cloud.")] = None
    region: Annotated[str | None, typer.Option(help="Only offers of this region.")] = None
    max_price: Annotated[float | None, typer.Option(help="Only offers up to this price (USD per hour).")] = None
    spot: Annotated[bool, typer.Option("--spot", help="Only offers that exist as spot machines.")] = False
    sort: Annotated[str | None, typer.Option(help="Sort by a column, e.g. free; -free puts the largest first.")] = None
    namespace: Namespace = "default"
    everywhere: Annotated[bool, typer.Option("-A", "--all-namespaces", help="Of all namespaces.")] = False


@grouped
def get(
    kind: Annotated[
        str,
        typer.Argument(help="colonies, clusters, nodes, gpus, storage, offers or addons.", autocompletion=kind_names),
    ] = "colonies",
    name: Annotated[
        str | None,
        typer.Argument(
            help="Only those of this name; clusters are named COLONY/CLUSTER.", autocompletion=names_of_kind
        ),
    ] = None,
    *,
    view: ViewOptions,
    filters: FilterOptions,
    stack: StackOptions,
) -> None:
    """Show Colonies, clusters, nodes, GPUs, storage, offers or add-ons.

    \b
      alate get                          Colonies
      alate get colonies -A -l team=vision -o wide
      alate get clusters -w              clusters, and every change of their state
      alate get clusters --all           also those that have ended, and what they cost
      alate get clusters -o name | xargs -n 1 alate hibernate
      alate get nodes train/main -o json
      alate get gpus --accelerator H100 --sort node
      alate get offers --accelerator H100 --max-price 30 --spot
                                         what the clouds offer, cheapest first
    """
    from services.cli.connection import Connection
    from services.cli.get.show import Selection
    from services.cli.get.show import get as show
    from services.cli.loop import run
    from services.queries.filter import ItemFilter

    sieve = ItemFilter(filters.accelerator, filters.cloud, filters.region, filters.max_price, filters.spot)
    namespace = None if filters.everywhere else filters.namespace
    selection = Selection(namespace, name, filters.labels, sieve, filters.sort, view.ended, view.watch)
    run(show(Connection(stack.folder, stack.kubeconfig, stack.nats), kind, selection, view.output.value))
