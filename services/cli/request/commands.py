"""The commands `alate request` and `alate delete`: their options and their help."""
# ruff: noqa: PLC0415, D301 - imports: help must not wait for what a command needs; \b: keeps its lines as they are

from dataclasses import fields
from pathlib import Path
from typing import Annotated

import typer

from services.cli.options import ColonyArgument, FilePlaceOptions, OutcomeOptions, PlaceOptions, grouped
from services.cli.request.flags import ColonyFlags
from services.errors import BadInput


@grouped
def request(  # noqa: PLR0913 - from a file or from flags
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(metavar="COLONY", help="Name of the Colony, if there is no file.")
    ] = None,
    *,
    file: Annotated[
        Path | None, typer.Option("-f", "--file", help="A YAML file of Colonies; - is standard input.")
    ] = None,
    flags: ColonyFlags,
    outcome: OutcomeOptions,
    place: FilePlaceOptions,
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
    from services.cli.request.colony import from_file, from_flags
    from services.cli.request.submit import request as submit
    from services.cli.wait import Outcome

    _one_way(context, file, name)
    namespace = place.namespace
    asked = [from_flags(name or "", flags, namespace or "default")] if file is None else from_file(file, namespace)
    run(submit(Connection(place.folder, place.kubeconfig), asked, Outcome.of(outcome)))


def _one_way(context: typer.Context, file: Path | None, name: str | None) -> None:
    """Raises BadInput where a file and flags ask for different things, or neither does."""
    if (file is None) == (name is None):
        raise BadInput("give either a NAME (with flags) or a file with -f: `alate request --help` shows both")
    if file is not None and (beside := _given(context, [each.name for each in fields(ColonyFlags)])):
        raise BadInput(f"{', '.join(beside)} beside -f changes nothing: write it into the file, or give a NAME instead")


def _given(context: typer.Context, names: list[str]) -> list[str]:
    """Those of some options that were given, as they are written."""
    sources = ((name, context.get_parameter_source(name)) for name in names)
    return [f"--{name.replace('_', '-')}" for name, source in sources if source and source.name == "COMMANDLINE"]


@grouped
def delete(
    name: ColonyArgument,
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Release the machines now, whatever runs in the clusters.")
    ] = False,
    outcome: OutcomeOptions,
    place: PlaceOptions,
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
    from services.cli.wait import Outcome

    where = Connection(place.folder, place.kubeconfig)
    run(submit(where, name, place.namespace, Outcome.of(outcome), force=force))
