"""The commands that change clusters or end them, their options and their help; what they do is loaded when they run."""
# ruff: noqa: PLC0415, D301 - imports: help must not wait for what a command needs; \b: keeps its lines as they are

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from services.cli.options import HERE, Dir, Kubeconfig, Namespace, Output, Plain, Wait

if TYPE_CHECKING:
    from services.cli.change.edit import Change

Target = Annotated[str, typer.Argument(metavar="COLONY/CLUSTER", help="Which cluster of which Colony.")]


def scale(  # noqa: PLR0913 - what a person can say of it
    target: Target,
    sizes: Annotated[list[str], typer.Argument(metavar="POOL=NODES...", help="How many nodes each pool shall have.")],
    *,
    output: Output = Plain.TABLE,
    wait: Wait = False,
    namespace: Namespace = "default",
    folder: Dir = HERE,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Give pools of a running cluster another number of nodes; it stays ready meanwhile.

    \b
      alate scale train/main gpu=3 --wait
      alate scale train/main gpu=1 cpu=4 -o json
    """
    from services.cli.change import edit

    _run(edit.sizes(namespace, target, sizes), folder, kubeconfig, output, wait=wait)


def hibernate(  # noqa: PLR0913 - what a person can say of it
    target: Target,
    *,
    output: Output = Plain.TABLE,
    wait: Wait = False,
    namespace: Namespace = "default",
    folder: Dir = HERE,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Give all machines of a cluster back and keep the rest, until it is woken: its control plane alone is billed.

    \b
      alate hibernate train/main --wait
    Its time to live goes on; idleness does not end it.
    """
    from services.cli.change import edit

    _run(edit.sleep(namespace, target), folder, kubeconfig, output, wait=wait)


def wake(  # noqa: PLR0913 - what a person can say of it
    target: Target,
    *,
    output: Output = Plain.TABLE,
    wait: Wait = False,
    namespace: Namespace = "default",
    folder: Dir = HERE,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Give a cluster that hibernates its machines again.

    \b
      alate wake train/main --wait
    If they are not to be had within 20 minutes, it is founded anew elsewhere.
    """
    from services.cli.change import edit

    _run(edit.wake(namespace, target), folder, kubeconfig, output, wait=wait)


def upgrade(  # noqa: PLR0913 - what a person can say of it
    target: Target,
    version: Annotated[str, typer.Argument(metavar="VERSION", help="Of Kubernetes: one minor version up at most.")],
    *,
    output: Output = Plain.TABLE,
    wait: Wait = False,
    namespace: Namespace = "default",
    folder: Dir = HERE,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Give a running cluster a later version of Kubernetes, machine by machine; it stays ready meanwhile.

    \b
      alate upgrade train/main v1.35.1 --wait
      alate upgrade train/main v1.35.1 -o json
    It goes up one minor version at a time, and never down. Exit code 1 if that is refused while it is waited for,
    2 for bad input.
    """
    from services.cli.change import edit

    _run(edit.risen(namespace, target, version), folder, kubeconfig, output, wait=wait)


def extend(  # noqa: PLR0913 - what a person can say of it
    target: Target,
    life: Annotated[str, typer.Argument(metavar="TIME", help="Its time to live, from when it was first ready.")],
    *,
    output: Output = Plain.TABLE,
    wait: Wait = False,
    namespace: Namespace = "default",
    folder: Dir = HERE,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Let a cluster live longer; a warning that it ends is taken back.

    \b
      alate extend train/main 12h --wait
      alate extend train/main 36h -o json
    The time counts from when it was first ready. What lives as long already, or for ever, stays as it is.
    Exit code 1 if it is on its way out already, 2 for bad input.
    """
    from services.cli.change import edit

    _run(edit.longer(namespace, target, life), folder, kubeconfig, output, wait=wait)


def again(  # noqa: PLR0913 - what a person can say of it
    target: Target,
    *,
    output: Output = Plain.TABLE,
    wait: Wait = False,
    namespace: Namespace = "default",
    folder: Dir = HERE,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Found a cluster again whose own end has come: its time was up, or it was idle.

    \b
      alate again train/main --wait
      alate again train/main -o json
    Nothing else buys it again, whatever is edited, but a later askedAt in its Colony or another request for that.
    Exit code 1 if it has not ended, 2 for bad input.
    """
    from services.cli.change import edit

    _run(edit.once_more(namespace, target, datetime.now(UTC)), folder, kubeconfig, output, wait=wait)


def delete(  # noqa: PLR0913 - what a person can say of it
    name: Annotated[str, typer.Argument(help="Name of the Colony.")],
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Give its machines back now, whatever runs in its clusters.")
    ] = False,
    wait: Wait = False,
    namespace: Namespace = "default",
    folder: Dir = HERE,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Let a Colony go, with all of its clusters.

    \b
      alate delete train --wait
      alate delete train --force --wait
    Its work ends first, then its add-ons, load balancers and volumes, each within the time its Colony gives them
    (drainTimeout, cleanTimeout). --force skips both, also once they are under way: for a cluster that does not answer,
    or in a hurry. Work is not asked to end then, and the cluster's load balancers and volumes may be left at the cloud.
    """
    from services.cli.connection import Where
    from services.cli.loop import run
    from services.cli.request.submit import delete as let_go

    run(let_go(Where(folder, kubeconfig), name, namespace, wait=wait, force=force))


def _run(asked: "Change", folder: Path, kubeconfig: Path | None, output: Plain, *, wait: bool) -> None:
    from services.cli.change.edit import change
    from services.cli.connection import Where
    from services.cli.loop import run

    run(change(Where(folder, kubeconfig), asked, wait=wait, as_json=output is Plain.JSON, write=sys.stdout.write))
