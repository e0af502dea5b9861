"""The `alate` command line: its commands in the order of use; what each does is loaded when it runs."""

import os
import sys
from enum import StrEnum
from typing import Annotated

import typer

from services.cli.access.commands import kubeconfig
from services.cli.addons.commands import app as addons
from services.cli.change.commands import extend, hibernate, recreate, scale, upgrade, wake
from services.cli.demo.commands import demo
from services.cli.diff.commands import diff
from services.cli.events.commands import app as events
from services.cli.get.commands import get
from services.cli.help import Commands
from services.cli.migrate.commands import adopt
from services.cli.migrate.commands import app as migrate
from services.cli.options import Report, ReportFormat
from services.cli.outbound.commands import app as outbound
from services.cli.placement.commands import explain, plan
from services.cli.preflight.commands import preflight
from services.cli.request.commands import delete, request
from services.cli.trace_replay.commands import replay
from services.cli.trigger.commands import app as trigger
from services.cli.up.commands import up

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    # Plain text: nothing to load, and the same on a terminal, in a pipe and in a log.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


class Shell(StrEnum):
    """Shells that complete commands."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def _release() -> str:
    from importlib.metadata import version as installed  # noqa: PLC0415 - no other command needs it

    return installed("alate")


def _show_version(asked: bool) -> None:  # noqa: FBT001 - what a callback of an option takes
    if asked:
        sys.stdout.write(f"alate {_release()}\n")
        raise typer.Exit


@app.callback()
def alate(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the release and exit.")
    ] = False,
) -> None:
    """Create Kubernetes clusters where GPUs are cheap, set them up for AI work, and delete them with nothing left."""
    del version  # its callback has answered it


@app.command()
def version(output: Report = ReportFormat.TABLE) -> None:
    """Show the release of alate and of Python.

    \b
      alate version
      alate version -o json
    """  # noqa: D301 - \b keeps the lines below it as they are
    if output.value == "table":
        sys.stdout.write(f"alate {_release()}\n")
        return
    from services.cli.output.render import document  # noqa: PLC0415 - the table does without

    python = ".".join(map(str, sys.version_info[:3]))
    sys.stdout.write(document({"alate": _release(), "python": python}, output.value))


@app.command()
def completion(shell: Annotated[Shell, typer.Argument(help="bash, zsh or fish.")]) -> None:
    """Print the script by which a shell completes commands, options and names of clusters.

    \b
      . <(alate completion bash)              now, in this shell
      alate completion bash >> ~/.bashrc      in every new one
      alate completion zsh > ~/.zfunc/_alate
      alate completion fish > ~/.config/fish/completions/alate.fish
    """  # noqa: D301 - \b keeps the lines below it as they are
    os.environ["_ALATE_COMPLETE"] = f"source_{shell.value}"  # what typer answers with the script
    app(args=[], prog_name="alate")


for command in (
    demo,
    up,
    preflight,
    request,
    get,
    explain,
    plan,
    diff,
    kubeconfig,
    scale,
    extend,
    upgrade,
    hibernate,
    wake,
    recreate,
    delete,
    adopt,
    replay,
):
    app.command()(command)
for group in (addons, events, trigger, outbound, migrate):
    app.add_typer(group)
