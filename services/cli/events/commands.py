"""The commands of `alate events`, their options and their help; what they do is loaded when they run."""
# ruff: noqa: PLC0415, D301 - imports: help must not wait for what a command needs; \b: keeps its lines as they are

import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from services.cli.options import HERE, Dir, Namespace, Nats, Output, Plain

if TYPE_CHECKING:
    from events.bus import Bus

app = typer.Typer(
    name="events",
    help="What was said on the bus: watch it, look things up, find causes, work off dead letters.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
dlq = typer.Typer(
    name="dlq",
    help="What could not be done, kept with its reason: look at it, tell it once more, or drop it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(dlq)
Letters = Annotated[str, typer.Argument(metavar="WHICH", help="A number or a fingerprint of `ls`, or all.")]
Dry = Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")]
Since = Annotated[str | None, typer.Option(help="From then on: how long ago (2h), or a time (RFC 3339).")]
Ago = Annotated[str, typer.Option("--since", help="From then on: how long ago (2h), or a time (RFC 3339).")]
Name = Annotated[str, typer.Argument(help="Id of the event, or its place, such as EVENTS/42.")]


@app.command()
def tail(  # noqa: PLR0913 - what events can be told apart by
    *,
    subject: Annotated[str | None, typer.Option(help="Only on subjects like this, e.g. cluster.ready.>")] = None,
    tenant: Annotated[str | None, typer.Option("--tenant", "-n", help="Only of this tenant.")] = None,
    cluster: Annotated[str | None, typer.Option(help="Only of this cluster, its add-ons and its teardown.")] = None,
    kind: Annotated[str | None, typer.Option("--type", help="Only of this CloudEvents type.")] = None,
    stream: Annotated[
        list[str] | None,
        typer.Option(help="EVENTS, LEVELS, INTAKE, HOOKS or DLQ; may be repeated. [default: all but LEVELS and HOOKS]"),
    ] = None,
    since: Since = None,
    output: Output = Plain.TABLE,
    folder: Dir = HERE,
    nats: Nats = None,
) -> None:
    """Show events as they are said, until Ctrl-C.

    \b
      alate events tail
      alate events tail --tenant acme --cluster train-gpu --since 1h
      alate events tail --subject 'cluster.ready.>' -o json | jq .event.id
    """
    from services.cli.events.tail import stdout
    from services.cli.events.tail import tail as follow
    from services.eventlog.filters import USUAL, Which
    from services.eventlog.scan import moment

    which = Which(tuple(stream or USUAL), subject, tenant, cluster, kind).check()
    start = moment(since, datetime.now(UTC)) if since else None
    _on_bus(folder, nats, lambda bus: follow(bus, which, start, as_json=output is Plain.JSON, out=stdout()))


@app.command()
def get(name: Name, output: Output = Plain.TABLE, folder: Dir = HERE, nats: Nats = None) -> None:
    """Show one event in full.

    \b
      alate events get EVENTS/42
      alate events get run-4711 -o json
    """
    from services.cli.events.get import get as show

    _on_bus(folder, nats, lambda bus: show(bus, name, as_json=output is Plain.JSON, write=sys.stdout.write))


@app.command()
def history(
    cluster: Annotated[str, typer.Argument(help="Name of the cluster: see `alate get clusters`.")],
    namespace: Namespace = "default",
    output: Output = Plain.TABLE,
    folder: Dir = HERE,
    nats: Nats = None,
) -> None:
    """Tell a cluster's life, its add-ons' and its teardown's, with the time in each state.

    \b
      alate events history train-gpu
      alate events history train-gpu -n acme -o json
    """
    from services.cli.events.history import show

    _on_bus(folder, nats, lambda bus: show(bus, namespace, cluster, output.value, sys.stdout.write))


@app.command()
def lineage(name: Name, output: Output = Plain.TABLE, folder: Dir = HERE, nats: Nats = None) -> None:
    """Show what led to an event and what came of it, as a tree.

    \b
    Also takes the id of a whole flow (correlationid: the Colony's uid). Grown from the streams alone; a level that
    has been replaced since is told as that.
      alate events lineage run-4711
      alate events lineage EVENTS/42 -o json
    """
    from services.cli.events.tree import show

    _on_bus(folder, nats, lambda bus: show(bus, name, as_json=output is Plain.JSON, write=sys.stdout.write))


@app.command()
def stats(since: Ago = "1h", output: Output = Plain.TABLE, folder: Dir = HERE, nats: Nats = None) -> None:
    """Count what was said, by subject and type, and show how far each consumer is in hearing it.

    \b
    The lag is from the event's own time to its being kept; of levels, only the newest of each is there to be counted.
      alate events stats
      alate events stats --since 10m -o json
    """
    from services.cli.events.stats import show
    from services.eventlog.scan import moment

    now = datetime.now(UTC)
    start, as_json = moment(since, now), output is Plain.JSON
    _on_bus(folder, nats, lambda bus: show(bus, start, now, as_json=as_json, write=sys.stdout.write))


@app.command()
def replay(  # noqa: PLR0913 - to whom, what, since when, really or not
    consumer: Annotated[str, typer.Argument(help="Name of a consumer: see `alate events stats`.")],
    *,
    since: Ago = "1h",
    subject: Annotated[str | None, typer.Option(help="Only on subjects like this, e.g. cluster.ready.>")] = None,
    tenant: Annotated[str | None, typer.Option("--tenant", "-n", help="Only of this tenant.")] = None,
    cluster: Annotated[str | None, typer.Option(help="Only of this cluster, its add-ons and its teardown.")] = None,
    send: Annotated[bool, typer.Option("--send", help="Tell it; without, it is only shown.")] = False,
    run: Annotated[
        str | None, typer.Option(help="Name of the replay: of one name nothing is told twice. [default: the time]")
    ] = None,
    output: Output = Plain.TABLE,
    folder: Dir = HERE,
    nats: Nats = None,
) -> None:
    """Tell one consumer once more what it was to hear; without --send only show what that is.

    \b
    Nobody else hears it. It changes no history: a service that has gone on from there finds it late and ignores it.
    Levels that have been replaced, and dead letters, are not told: see `alate events dlq redrive`.
      alate events replay teardown-events --since 2h --cluster train-gpu
      alate events replay teardown-events --since 2h --cluster train-gpu --send
    """
    from services.cli.events.replay import replay as tell
    from services.eventlog.filters import STREAMS, Which
    from services.eventlog.scan import moment

    now, as_json = datetime.now(UTC), output is Plain.JSON
    which, start = Which(STREAMS, subject, tenant, cluster).check(), moment(since, now)
    name, write = run or f"{now:%Y%m%dT%H%M%S}", sys.stdout.write
    _on_bus(
        folder, nats, lambda bus: tell(bus, consumer, which, start, run=name, send=send, as_json=as_json, write=write)
    )


@app.command()
def diff(
    since: Ago = "24h",
    recording: Annotated[
        list[Path] | None, typer.Option("--with", help="What `tail -o json` wrote, for causes not kept; repeatable.")
    ] = None,
    output: Output = Plain.TABLE,
    folder: Dir = HERE,
    nats: Nats = None,
) -> None:
    """Decide once more what is stored, with this build, and show where it would say something else.

    \b
    Can be decided again: what was led to by a state, or by a level that is still kept or was recorded. What came of
    a service's own work was never a message: it is counted, not guessed. Exit code 1 if anything differs.
      alate events tail --stream LEVELS -o json > levels.jsonl   # beforehand
      alate events diff --since 24h --with levels.jsonl
    """
    from services.cli.events.diff import diff as look
    from services.eventlog.scan import moment

    start, as_json, same = moment(since, datetime.now(UTC)), output is Plain.JSON, []

    async def looked(bus: "Bus") -> None:
        same.append(await look(bus, start, recording or (), as_json=as_json, write=sys.stdout.write))

    _on_bus(folder, nats, looked)
    if not all(same):
        raise typer.Exit(1)


@app.command()
def how(  # noqa: PLR0913 - for whom, by what, for which stack
    *,
    name: Annotated[str, typer.Argument(help="Name of the Colony that the snippets ask for.")] = "burst",
    only: Annotated[str | None, typer.Option(help="Print one of them as it is: nats, python, curl or extend.")] = None,
    namespace: Namespace = "default",
    output: Output = Plain.TABLE,
    folder: Dir = HERE,
    nats: Nats = None,
) -> None:
    """Print how to ask this stack for a cluster, with nats, Python or curl, and for more time: ready to be pasted.

    \b
      alate events how
      alate events how --only python | python -
      alate events how train -n acme --only nats | sh
    """
    from services.cli.events.how import show, snippets, stack

    found = snippets(stack(folder, nats), namespace, name)
    show(found, only, as_json=output is Plain.JSON, write=sys.stdout.write)


@dlq.command()
def ls(output: Output = Plain.TABLE, folder: Dir = HERE, nats: Nats = None) -> None:
    """List dead letters, those of one cause as one.

    \b
      alate events dlq ls
    """
    from services.cli.events.dlq import ls as listed

    _on_bus(folder, nats, lambda bus: listed(bus, output.value, sys.stdout.write))


@dlq.command()
def show(which: Letters, output: Output = Plain.TABLE, folder: Dir = HERE, nats: Nats = None) -> None:
    """Show dead letters in full.

    \b
      alate events dlq show 17
      alate events dlq show 5c0ffee1 -o json
    """
    from services.cli.events.dlq import show as shown

    _on_bus(folder, nats, lambda bus: shown(bus, which, as_json=output is Plain.JSON, write=sys.stdout.write))


@dlq.command()
def redrive(which: Letters, dry: Dry = False, folder: Dir = HERE, nats: Nats = None) -> None:  # noqa: FBT002 - a flag
    """Tell dead letters once more, each to the one consumer that failed on it and to nobody else.

    \b
    What fails again becomes a new dead letter. Interrupted, it may be asked for again: nothing is told twice.
      alate events dlq redrive 17
      alate events dlq redrive 5c0ffee1 --dry-run
    """
    from services.cli.events.dlq import redrive as again

    _on_bus(folder, nats, lambda bus: again(bus, which, dry=dry, write=sys.stdout.write))


@dlq.command()
def drop(which: Letters, dry: Dry = False, folder: Dir = HERE, nats: Nats = None) -> None:  # noqa: FBT002 - a flag
    """Forget dead letters for good.

    \b
      alate events dlq drop 5c0ffee1
    """
    from services.cli.events.dlq import drop as forget

    _on_bus(folder, nats, lambda bus: forget(bus, which, dry=dry, write=sys.stdout.write))


def _on_bus(folder: Path, nats: str | None, work: "Callable[[Bus], Awaitable[None]]") -> None:
    from services.cli.connection import Where
    from services.cli.loop import run

    async def joined() -> None:
        async with Where(folder, nats=nats).bus() as bus:
            await work(bus)

    run(joined())
