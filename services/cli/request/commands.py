"""The commands `alate request` and `alate delete`: their options and their help."""
# ruff: noqa: PLC0415, D301 - imports: help must not wait for what a command needs; \b: keeps its lines as they are

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from services.cli.options import (
    ColonyArgument,
    Dir,
    Format,
    Kubeconfig,
    Namespace,
    Output,
    Timeout,
    Wait,
    WaitAll,
)
from services.errors import BadInput

FLAGS = ("gpus", "accelerator", "per_node", "spot", "max_price", "ttl", "idle_after", "cloud", "region")
"""What a file says itself."""


class SpotFlag(StrEnum):
    """Whether interruptible machines are used."""

    NEVER = "never"
    PREFERRED = "preferred"
    ONLY = "only"


def request(  # noqa: PLR0913 - what a person can ask for
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(metavar="COLONY", help="Name of the Colony, if there is no file.")
    ] = None,
    *,
    file: Annotated[
        Path | None, typer.Option("-f", "--file", help="A YAML file of Colonies; - is standard input.")
    ] = None,
    gpus: Annotated[int, typer.Option(help="How many accelerators, all nodes together.")] = 8,
    accelerator: Annotated[str, typer.Option(help="Which accelerator, e.g. H100.")] = "H100",
    per_node: Annotated[int, typer.Option(help="How many accelerators each node has.")] = 8,
    spot: Annotated[
        SpotFlag | None, typer.Option(help="Whether to use interruptible machines. [default: preferred]")
    ] = None,
    max_price: Annotated[
        float | None,
        typer.Option(help="Highest price of the whole cluster (USD per hour); it waits for less."),
    ] = None,
    ttl: Annotated[
        str | None, typer.Option(help="Delete the cluster so long after it is first ready, e.g. 6h.")
    ] = None,
    idle_after: Annotated[
        str | None, typer.Option(help="Delete the cluster when no accelerator was used for so long, e.g. 30m.")
    ] = None,
    cloud: Annotated[list[str] | None, typer.Option(help="Only this cloud; may be repeated.")] = None,
    region: Annotated[list[str] | None, typer.Option(help="Only this region; may be repeated.")] = None,
    output: Output = Format.TABLE,
    wait: WaitAll = False,
    timeout: Timeout = None,
    namespace: Annotated[
        str | None,
        typer.Option(
            "--namespace", "-n", help="Namespace of the Colony (its tenant). [default: the file's, or default]"
        ),
    ] = None,
    folder: Dir = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Create a Colony and its clusters, from a file or from flags; with the same name again, change it.

    \b
      alate request -f colony.yaml --wait --timeout 20m
      alate request train --gpus 16 --accelerator H100 --per-node 8 --spot preferred \\
          --max-price 60 --ttl 6h --idle-after 30m
    From flags the Colony has one cluster, called main: train/main.
    With --wait: exit code 1 if it cannot become ready, 3 if --timeout is over.
    """
    from services.cli.connection import Connection
    from services.cli.loop import run
    from services.cli.request.colony import ColonyFlags, from_file, from_flags
    from services.cli.request.submit import request as submit
    from services.cli.wait import duration

    _one_way(context, file, name)
    flags = ColonyFlags(
        name=name or "",
        gpus=gpus,
        accelerator=accelerator,
        per_node=per_node,
        spot=spot.value if spot else None,
        max_price=max_price,
        ttl=ttl,
        idle_after=idle_after,
        clouds=tuple(cloud or ()),
        regions=tuple(region or ()),
    )
    asked = [from_flags(flags, namespace or "default")] if file is None else from_file(file, namespace)
    run(submit(Connection(folder, kubeconfig), asked, wait=wait, limit=duration(timeout), form=output.value))


def _one_way(context: typer.Context, file: Path | None, name: str | None) -> None:
    """Raises BadInput where a file and flags ask for different things, or neither does."""
    if (file is None) == (name is None):
        raise BadInput("give either a NAME (with flags) or a file with -f: `alate request --help` shows both")
    if file is not None and (beside := _given(context, FLAGS)):
        raise BadInput(f"{', '.join(beside)} beside -f changes nothing: write it into the file, or give a NAME instead")


def _given(context: typer.Context, names: tuple[str, ...]) -> list[str]:
    """Those of some options that were given, as they are written."""
    sources = ((name, context.get_parameter_source(name)) for name in names)
    return [f"--{name.replace('_', '-')}" for name, source in sources if source and source.name == "COMMANDLINE"]


def delete(  # noqa: PLR0913 - what a person can say of it
    name: ColonyArgument,
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Release the machines now, whatever runs in the clusters.")
    ] = False,
    output: Output = Format.TABLE,
    wait: Wait = False,
    timeout: Timeout = None,
    namespace: Namespace = "default",
    folder: Dir = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Delete a Colony with all of its clusters.

    \b
      alate delete train --wait --timeout 30m
      alate delete train --force --wait
    What runs in a cluster ends first, then its add-ons, load balancers and volumes, each within the time that the
    Colony gives them (drainTimeout, cleanTimeout). --force skips both, also once they are under way: for a cluster
    that does not answer, or in a hurry. Load balancers and volumes may then be left at the cloud.
    """
    from services.cli.connection import Connection
    from services.cli.loop import run
    from services.cli.request.submit import delete as submit
    from services.cli.wait import duration

    where, limit = Connection(folder, kubeconfig), duration(timeout)
    run(submit(where, name, namespace, wait=wait, force=force, limit=limit, form=output.value))
