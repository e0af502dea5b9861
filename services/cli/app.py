"""The commands, their options and their help stand here; what they do is loaded when they run."""
# ruff: noqa: PLC0415, D301 - imports: help must not wait for what a command needs; \b: keeps its lines as they are

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from services.cli.access.commands import kubeconfig
from services.cli.change.commands import again, delete, extend, hibernate, scale, upgrade, wake
from services.cli.events.commands import app as events
from services.cli.migrate.commands import adopt
from services.cli.migrate.commands import app as moving
from services.cli.options import HERE, Dir, Kubeconfig, Namespace, Nats, Output, Plain, Wait
from services.cli.outbound.commands import app as outbound
from services.cli.placement.commands import explain, plan
from services.cli.trigger.commands import app as trigger
from services.errors import BadInput

app = typer.Typer(
    help="Found Kubernetes clusters where GPUs are cheap, fit them out, and leave nothing behind.",
    no_args_is_help=True,
    add_completion=False,
    # Plain text: nothing to load, and the same on a terminal, in a pipe and in a log.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


FLAGS = ("gpus", "accelerator", "per_node", "spot", "max_price", "ttl", "idle_after", "cloud", "region")
"""What of `alate request` a file says itself."""


class Form(StrEnum):
    """How things are shown."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


class DemoForm(StrEnum):
    """How the demo is shown."""

    LIVE = "live"
    JSON = "json"


class Backend(StrEnum):
    """What founds clusters."""

    CAPI = "capi"
    K0RDENT = "k0rdent"


class Spot(StrEnum):
    """Whether machines will do that the cloud may take back."""

    NEVER = "never"
    PREFERRED = "preferred"
    ONLY = "only"


app.add_typer(events)
app.add_typer(trigger)
app.add_typer(outbound)
app.add_typer(moving)


@app.command()
def demo(
    *,
    chaos: Annotated[bool, typer.Option("--chaos", help="Kill every process once, and end a cluster at work.")] = False,
    output: Annotated[
        DemoForm, typer.Option("-o", "--output", help="A live display, or one JSON object.")
    ] = DemoForm.LIVE,
    keep: Annotated[Path | None, typer.Option(help="Run in this folder and leave it there, to look at.")] = None,
    backend: Annotated[Backend, typer.Option(help="What founds the cluster.")] = Backend.CAPI,
) -> None:
    """Show the main job: a GPU cluster founded, used, gone, with proof that nothing is left.

    \b
    Everything runs on this machine, in a temporary folder; nothing is installed, no cloud is asked.
      alate demo              watch it
      alate demo --chaos      kills every process once, and ends a cluster whose job still runs
      alate demo -o json      one JSON object, for programs
    Exit code 0 only if every check was made and came out right.
    """
    from services.cli.demo.run import demo as play
    from services.cli.loop import run

    if not run(play(chaos=chaos, as_json=output is DemoForm.JSON, keep=keep, backend=backend.value)):
        raise typer.Exit(1)


@app.command()
def up(
    folder: Dir = HERE,
    port: Annotated[
        int | None,
        typer.Option(min=1024, max=65535, help="Port of the Kubernetes API. [default: last time's, or a free one]"),
    ] = None,
    kubeconfig: Kubeconfig = None,
    nats: Nats = None,
) -> None:
    """Run the local stack until Ctrl-C; started again it continues where it was.

    \b
      alate up                                  all on this machine
      alate up --kubeconfig FILE                with a real management cluster
      alate up --nats nats://HOST:4222          with a real NATS
    """
    from services.cli.loop import run
    from services.cli.request.submit import say
    from services.cli.up import up as stay

    run(stay(folder, port, kubeconfig, nats, say))


@app.command()
def request(  # noqa: PLR0913 - what a person can ask for
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Name of the Colony, if no file says it.")] = None,
    *,
    file: Annotated[
        Path | None, typer.Option("-f", "--file", help="A YAML file of Colonies; - is standard input.")
    ] = None,
    gpus: Annotated[int, typer.Option(help="How many accelerators, all nodes together.")] = 8,
    accelerator: Annotated[str, typer.Option(help="Which, e.g. H100.")] = "H100",
    per_node: Annotated[int, typer.Option(help="How many of them each node holds.")] = 8,
    spot: Annotated[
        Spot | None, typer.Option(help="Machines that the cloud may take back. [default: preferred]")
    ] = None,
    max_price: Annotated[
        float | None, typer.Option(help="Wait rather than pay more (USD per hour, whole cluster).")
    ] = None,
    ttl: Annotated[str | None, typer.Option(help="It goes so long after it is ready, e.g. 6h.")] = None,
    idle_after: Annotated[str | None, typer.Option(help="It goes when unused for so long, e.g. 30m.")] = None,
    cloud: Annotated[list[str] | None, typer.Option(help="Only this cloud; may be repeated.")] = None,
    region: Annotated[list[str] | None, typer.Option(help="Only this region; may be repeated.")] = None,
    wait: Wait = False,
    namespace: Annotated[
        str | None, typer.Option("--namespace", "-n", help="Namespace: the tenant. [default: default]")
    ] = None,
    folder: Dir = HERE,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Ask for clusters, in a file or in flags; asking again under the same name amends.

    \b
      alate request -f colony.yaml --wait
      alate request train --gpus 16 --accelerator H100 --per-node 8 --spot preferred \\
          --max-price 60 --ttl 6h --idle-after 30m
    """
    from services.cli.connection import Where
    from services.cli.loop import run
    from services.cli.request.colony import Ask, from_file, from_flags
    from services.cli.request.submit import request as ask

    _one_way(context, file, name)
    asked = (
        from_file(file, namespace)
        if file is not None
        else [
            from_flags(
                Ask(
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
                ),
                namespace or "default",
            )
        ]
    )
    run(ask(Where(folder, kubeconfig), asked, wait=wait))


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


@app.command()
def get(  # noqa: PLR0913 - what a person can look at
    kind: Annotated[
        str, typer.Argument(help="colonies, clusters, nodes, gpus, storage, offers or addons.")
    ] = "colonies",
    name: Annotated[str | None, typer.Argument(help="Only those of this name.")] = None,
    *,
    output: Annotated[Form, typer.Option("-o", "--output", help="How to show them.")] = Form.TABLE,
    watch: Annotated[bool, typer.Option("-w", "--watch", help="Go on with every change.")] = False,
    ended: Annotated[bool, typer.Option("--all", help="With clusters and add-ons that have ended.")] = False,
    accelerator: Annotated[str | None, typer.Option(help="Only with this one, e.g. H100.")] = None,
    cloud: Annotated[str | None, typer.Option(help="Only offers of this cloud.")] = None,
    region: Annotated[str | None, typer.Option(help="Only offers of this region.")] = None,
    max_price: Annotated[float | None, typer.Option(help="Only offers that cost no more (USD per hour).")] = None,
    spot: Annotated[bool, typer.Option("--spot", help="Only offers that can be had as spot.")] = False,
    sort: Annotated[str | None, typer.Option(help="Sort by a column, e.g. free; -free: the largest first.")] = None,
    namespace: Namespace = "default",
    folder: Dir = HERE,
    kubeconfig: Kubeconfig = None,
    nats: Nats = None,
) -> None:
    """Show what there is.

    \b
      alate get                          Colonies
      alate get clusters -w              clusters, and every change of their state
      alate get clusters --all           with those that have ended, and what they cost
      alate get offers --accelerator H100 --max-price 30 --spot
                                         what the market offers, cheapest first
      alate get nodes train-main -o json
      alate get gpus --accelerator H100 --sort node
    """
    from services.cli.connection import Where
    from services.cli.get.show import get as show
    from services.cli.loop import run
    from services.queries.filter import Sieve

    sieve = Sieve(accelerator=accelerator, cloud=cloud, region=region, max_price=max_price, spot=spot)
    where = Where(folder, kubeconfig, nats)
    run(show(where, kind, name, namespace, output.value, watch=watch, sieve=sieve, by=sort, ended=ended))


@app.command()
def replay(
    trace: Annotated[Literal["openb"], typer.Argument(help="The files' format: openb.")],
    *,
    nodes: Annotated[Path, typer.Option(help="CSV of nodes: sn,cpu_milli,memory_mib,gpu,model.")],
    pods: Annotated[Path, typer.Option(help="CSV of pods, with creation_time and deletion_time.")],
    output: Output = Plain.TABLE,
) -> None:
    """Play a recorded GPU cluster through the inventory, and count the same by hand.

    \b
      alate replay openb --nodes nodes.csv --pods pods.csv
    Exit code 0 only if both counts agree in every model.
    """
    from services.cli.loop import run
    from services.cli.trace_replay.replay import replay as play

    del trace  # there is one format so far, and it is checked
    run(play(nodes, pods, as_json=output is Plain.JSON))


@app.command()
def version() -> None:
    """Show which release this is."""
    from importlib.metadata import version as installed

    sys.stdout.write(f"alate {installed('alate')}\n")


app.command()(kubeconfig)
app.command()(adopt)
app.command()(plan)
app.command()(explain)
app.command()(delete)
app.command()(scale)
app.command()(upgrade)
app.command()(extend)
app.command()(hibernate)
app.command()(wake)
app.command()(again)
