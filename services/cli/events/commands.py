"""The commands of `alate events`: their options and their help."""
# ruff: noqa: PLC0415, D301 - imports: help must not wait for what a command needs; \b: keeps its lines as they are

import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from services.cli.completion import cluster_names
from services.cli.events.dlq_commands import app as dlq
from services.cli.events.on_bus import on_bus
from services.cli.help import Commands
from services.cli.options import BusReportOptions, ClusterArgument, Dir, Namespace, Nats, Report, ReportFormat, grouped

if TYPE_CHECKING:
    from events.bus import Bus
    from services.cli.output.render import Form

app = typer.Typer(
    cls=Commands,
    name="events",
    help="Read the events on the bus: watch them, find causes, handle dead letters.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(dlq)
Since = Annotated[str | None, typer.Option(help="From when on: how long ago (2h), or a time (RFC 3339).")]
Ago = Annotated[str, typer.Option("--since", help="From when on: how long ago (2h), or a time (RFC 3339).")]
EventArgument = Annotated[
    str, typer.Argument(metavar="EVENT", help="Id of the event, or its stream and sequence, such as EVENTS/42.")
]
ClusterFilter = Annotated[
    str | None,
    typer.Option(
        metavar="COLONY/CLUSTER",
        help="Only of this cluster, its add-ons and its teardown.",
        autocompletion=cluster_names,
    ),
]


@dataclass(frozen=True)
class EventFilter:
    """Which events are meant."""

    subject: Annotated[str | None, typer.Option(help="Only on subjects that match, e.g. cluster.ready.>")] = None
    tenant: Annotated[str | None, typer.Option("--namespace", "-n", help="Only of this namespace (tenant).")] = None
    cluster: ClusterFilter = None


@dataclass(frozen=True)
class SendOptions:
    """Whether events are redelivered."""

    send: Annotated[bool, typer.Option("--send", help="Redeliver the events; without it they are only shown.")] = False
    run: Annotated[
        str | None,
        typer.Option(help="Name of the replay: nothing is redelivered twice under it. [default: the time]"),
    ] = None


@app.command()
@grouped
def tail(
    *,
    only: EventFilter,
    kind: Annotated[str | None, typer.Option("--type", help="Only of this CloudEvents type.")] = None,
    stream: Annotated[
        list[str] | None,
        typer.Option(help="EVENTS, LEVELS, INTAKE, HOOKS or DLQ; may be repeated. [default: all but LEVELS and HOOKS]"),
    ] = None,
    since: Since = None,
    report: BusReportOptions,
) -> None:
    """Show events as they are published, until Ctrl-C.

    \b
      alate events tail
      alate events tail -n acme --cluster train/gpu --since 1h
      alate events tail --subject 'cluster.ready.>' -o json | jq .event.id
    """
    from services.cli.events.tail import stdout
    from services.cli.events.tail import tail as follow
    from services.cli.get.labels import entity
    from services.eventlog.filters import USUAL, Which
    from services.eventlog.scan import moment

    name = entity(only.cluster) if only.cluster else None
    which = Which(tuple(stream or USUAL), only.subject, only.tenant, name, kind).check()
    start = moment(since, datetime.now(UTC)) if since else None
    on_bus(report.folder, report.nats, lambda bus: follow(bus, which, start, form=report.output.value, out=stdout()))


@app.command()
def get(name: EventArgument, output: Report = ReportFormat.TABLE, folder: Dir = None, nats: Nats = None) -> None:
    """Show one event in full.

    \b
      alate events get EVENTS/42
      alate events get run-4711 -o json
    """
    from services.cli.events.get import get as show

    on_bus(folder, nats, lambda bus: show(bus, name, form=output.value, write=sys.stdout.write))


@app.command()
def history(
    cluster: ClusterArgument,
    namespace: Namespace = "default",
    output: Report = ReportFormat.TABLE,
    folder: Dir = None,
    nats: Nats = None,
) -> None:
    """Show every state of a cluster, its add-ons and its teardown, with the time in each.

    \b
      alate events history train/gpu
      alate events history train/gpu -n acme -o json
    """
    from services.cli.events.history import show
    from services.cli.get.labels import entity

    name = entity(cluster)
    on_bus(folder, nats, lambda bus: show(bus, namespace, name, output.value, sys.stdout.write))


@app.command()
def lineage(name: EventArgument, output: Report = ReportFormat.TABLE, folder: Dir = None, nats: Nats = None) -> None:
    """Show the causes and the effects of an event, as a tree.

    \b
      alate events lineage run-4711
      alate events lineage EVENTS/42 -o json
    Also takes the id of a whole flow (correlationid: the Colony's uid). It is read from the streams alone; a level that
    has been replaced since is shown as that.
    """
    from services.cli.events.tree import show

    on_bus(folder, nats, lambda bus: show(bus, name, form=output.value, write=sys.stdout.write))


@app.command()
def stats(since: Ago = "1h", output: Report = ReportFormat.TABLE, folder: Dir = None, nats: Nats = None) -> None:
    """Count events by subject and type, and show the backlog of each consumer.

    \b
      alate events stats
      alate events stats --since 10m -o json
    The lag is from an event's own time to its being stored. Of levels only the newest of each is stored and counted.
    """
    from services.cli.events.stats import show
    from services.eventlog.scan import moment

    now = datetime.now(UTC)
    start = moment(since, now)
    on_bus(folder, nats, lambda bus: show(bus, start, now, form=output.value, write=sys.stdout.write))


@app.command()
@grouped
def replay(
    consumer: Annotated[str, typer.Argument(help="Name of a consumer: see `alate events stats`.")],
    *,
    since: Ago = "1h",
    only: EventFilter,
    sending: SendOptions,
    report: BusReportOptions,
) -> None:
    """Redeliver stored events to one consumer; without --send only show them.

    \b
      alate events replay teardown-events --since 2h --cluster train/gpu
      alate events replay teardown-events --since 2h --cluster train/gpu --send
    No other consumer receives them. No history changes: a service that is past these events ignores them.
    Levels that have been replaced and dead letters are left out: see `alate events dlq redrive`.
    """
    from services.cli.events.replay import replay as redeliver
    from services.cli.get.labels import entity
    from services.eventlog.filters import STREAMS, Which
    from services.eventlog.scan import moment

    now = datetime.now(UTC)
    which = Which(STREAMS, only.subject, only.tenant, entity(only.cluster) if only.cluster else None).check()
    start = moment(since, now)
    form: Form = report.output.value
    name, write = sending.run or f"{now:%Y%m%dT%H%M%S}", sys.stdout.write
    on_bus(
        report.folder,
        report.nats,
        lambda bus: redeliver(bus, consumer, which, start, run=name, send=sending.send, form=form, write=write),
    )


@app.command()
def diff(
    since: Ago = "24h",
    recording: Annotated[
        list[Path] | None,
        typer.Option("--with", help="A file from `tail -o json` with causes that are not stored; repeatable."),
    ] = None,
    output: Report = ReportFormat.TABLE,
    folder: Dir = None,
    nats: Nats = None,
) -> None:
    """Run this release's decisions on the stored history, and show where they differ from it.

    \b
      alate events tail --stream LEVELS -o json > levels.jsonl   # beforehand
      alate events diff --since 24h --with levels.jsonl
    A transition can be decided again if its cause is a state, or a level that is still stored or was recorded. The
    results of a service's own work were never messages: they are counted, not guessed. Exit code 1 if anything differs.
    """
    from services.cli.events.diff import diff as look
    from services.eventlog.scan import moment

    start, same = moment(since, datetime.now(UTC)), []

    async def looked(bus: "Bus") -> None:
        same.append(await look(bus, start, recording or (), form=output.value, write=sys.stdout.write))

    on_bus(folder, nats, looked)
    if not all(same):
        raise typer.Exit(1)


@app.command()
@grouped
def how(
    *,
    name: Annotated[str, typer.Argument(help="Name of the Colony that the snippets create.")] = "burst",
    only: Annotated[str | None, typer.Option(help="Print this snippet alone: nats, python, curl or extend.")] = None,
    namespace: Namespace = "default",
    report: BusReportOptions,
) -> None:
    """Print snippets that request a cluster from this stack with nats, Python or curl, ready to be pasted.

    \b
      alate events how
      alate events how --only python | python -
      alate events how train -n acme --only nats | sh
    """
    from services.cli.events.how import show, snippets, stack

    found = snippets(stack(report.folder, report.nats), namespace, name)
    show(found, only, form=report.output.value, write=sys.stdout.write)
