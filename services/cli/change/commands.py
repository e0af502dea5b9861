"""The commands that change a cluster: their options and their help."""
# ruff: noqa: PLC0415, D301 - imports: help must not wait for what a command needs; \b: keeps its lines as they are

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from services.cli.options import ClusterArgument, Dir, Format, Kubeconfig, Namespace, Output, Timeout, Wait

if TYPE_CHECKING:
    from services.cli.change.edit import ClusterChange


def scale(  # noqa: PLR0913 - what a person can say of it
    cluster: ClusterArgument,
    sizes: Annotated[list[str], typer.Argument(metavar="POOL=NODES...", help="The new number of nodes of each pool.")],
    *,
    output: Output = Format.TABLE,
    wait: Wait = False,
    timeout: Timeout = None,
    namespace: Namespace = "default",
    folder: Dir = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Change the number of nodes of a running cluster's pools; it stays ready meanwhile.

    \b
      alate scale train/main gpu=3 --wait --timeout 15m
      alate scale train/main gpu=1 cpu=4 -o json
    """
    from services.cli.change import edit

    change = edit.scale(namespace, cluster, sizes)
    _run(change, folder, kubeconfig, output, wait=wait, timeout=timeout)


def extend(  # noqa: PLR0913 - what a person can say of it
    cluster: ClusterArgument,
    life: Annotated[
        str, typer.Argument(metavar="DURATION", help="The new time to live, counted from when it was first ready.")
    ],
    *,
    output: Output = Format.TABLE,
    wait: Wait = False,
    timeout: Timeout = None,
    namespace: Namespace = "default",
    folder: Dir = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Let a cluster live longer; a warning that it ends is withdrawn.

    \b
      alate extend train/main 12h --wait
      alate extend train/main 36h -o json
    A cluster that lives as long already, or without limit, stays as it is.
    Exit code 1 if it is being released already, 2 for bad input.
    """
    from services.cli.change import edit

    change = edit.extend(namespace, cluster, life)
    _run(change, folder, kubeconfig, output, wait=wait, timeout=timeout)


def upgrade(  # noqa: PLR0913 - what a person can say of it
    cluster: ClusterArgument,
    version: Annotated[
        str, typer.Argument(metavar="VERSION", help="Version of Kubernetes, at most one minor version later.")
    ],
    *,
    output: Output = Format.TABLE,
    wait: Wait = False,
    timeout: Timeout = None,
    namespace: Namespace = "default",
    folder: Dir = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Upgrade a running cluster to a later version of Kubernetes, machine by machine; it stays ready meanwhile.

    \b
      alate upgrade train/main v1.35.1 --wait
      alate upgrade train/main v1.35.1 -o json
    It goes up one minor version at a time, and never down. Exit code 1 if that is refused, 2 for bad input.
    """
    from services.cli.change import edit

    change = edit.upgrade(namespace, cluster, version)
    _run(change, folder, kubeconfig, output, wait=wait, timeout=timeout)


def hibernate(  # noqa: PLR0913 - what a person can say of it
    cluster: ClusterArgument,
    *,
    output: Output = Format.TABLE,
    wait: Wait = False,
    timeout: Timeout = None,
    namespace: Namespace = "default",
    folder: Dir = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Release all machines of a cluster and keep its control plane, which alone is billed then, until it is woken.

    \b
      alate hibernate train/main --wait
    Its time to live goes on; idleness does not end it.
    """
    from services.cli.change import edit

    change = edit.hibernate(namespace, cluster)
    _run(change, folder, kubeconfig, output, wait=wait, timeout=timeout)


def wake(  # noqa: PLR0913 - what a person can say of it
    cluster: ClusterArgument,
    *,
    output: Output = Format.TABLE,
    wait: Wait = False,
    timeout: Timeout = None,
    namespace: Namespace = "default",
    folder: Dir = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Give a hibernated cluster its machines again.

    \b
      alate wake train/main --wait
    If they cannot be had within 20 minutes, the cluster is created again elsewhere.
    """
    from services.cli.change import edit

    change = edit.wake(namespace, cluster)
    _run(change, folder, kubeconfig, output, wait=wait, timeout=timeout)


def recreate(  # noqa: PLR0913 - what a person can say of it
    cluster: ClusterArgument,
    *,
    output: Output = Format.TABLE,
    wait: Wait = False,
    timeout: Timeout = None,
    namespace: Namespace = "default",
    folder: Dir = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Create a cluster again that has ended because its time was over or it was idle.

    \b
      alate recreate train/main --wait
      alate recreate train/main -o json
    No edit of a Colony does that, but a later askedAt in it, or another request with one.
    Exit code 1 if the cluster has not ended, 2 for bad input.
    """
    from services.cli.change import edit

    change = edit.recreate(namespace, cluster, datetime.now(UTC))
    _run(change, folder, kubeconfig, output, wait=wait, timeout=timeout)


def _run(  # noqa: PLR0913 - what all of these commands take
    asked: "ClusterChange",
    folder: Path | None,
    kubeconfig: Path | None,
    output: Format,
    *,
    wait: bool,
    timeout: str | None,
) -> None:
    from services.cli.change.edit import change
    from services.cli.connection import Connection
    from services.cli.loop import run
    from services.cli.wait import duration

    where, limit = Connection(folder, kubeconfig), duration(timeout)
    run(change(where, asked, wait=wait, limit=limit, form=output.value, write=sys.stdout.write))
