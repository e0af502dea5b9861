"""The commands that change a cluster: their options and their help."""
# ruff: noqa: PLC0415, D301 - imports: help must not wait for what a command needs; \b: keeps its lines as they are

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from services.cli.options import ClusterArgument, OutcomeOptions, PlaceOptions, grouped

if TYPE_CHECKING:
    from services.cli.change.edit import ClusterChange


@grouped
def scale(
    cluster: ClusterArgument,
    sizes: Annotated[list[str], typer.Argument(metavar="POOL=NODES...", help="The new number of nodes of each pool.")],
    outcome: OutcomeOptions,
    place: PlaceOptions,
) -> None:
    """Change the number of nodes of a running cluster's pools; it stays ready meanwhile.

    \b
      alate scale train/main gpu=3 --wait --timeout 15m
      alate scale train/main gpu=1 cpu=4 -o json
    """
    from services.cli.change import edit

    _run(edit.scale(place.namespace, cluster, sizes), outcome, place)


@grouped
def extend(
    cluster: ClusterArgument,
    life: Annotated[
        str, typer.Argument(metavar="DURATION", help="The new time to live, counted from when it was first ready.")
    ],
    outcome: OutcomeOptions,
    place: PlaceOptions,
) -> None:
    """Let a cluster live longer; a warning that it ends is withdrawn.

    \b
      alate extend train/main 12h --wait
      alate extend train/main 36h -o json
    A cluster that lives as long already, or without limit, stays as it is.
    Exit code 1 if it is being released already, 2 for bad input.
    """
    from services.cli.change import edit

    _run(edit.extend(place.namespace, cluster, life), outcome, place)


@grouped
def upgrade(
    cluster: ClusterArgument,
    version: Annotated[
        str, typer.Argument(metavar="VERSION", help="Version of Kubernetes, at most one minor version later.")
    ],
    outcome: OutcomeOptions,
    place: PlaceOptions,
) -> None:
    """Upgrade a running cluster to a later version of Kubernetes, machine by machine; it stays ready meanwhile.

    \b
      alate upgrade train/main v1.35.1 --wait
      alate upgrade train/main v1.35.1 -o json
    It goes up one minor version at a time, and never down. Exit code 1 if that is refused, 2 for bad input.
    """
    from services.cli.change import edit

    _run(edit.upgrade(place.namespace, cluster, version), outcome, place)


@grouped
def hibernate(
    cluster: ClusterArgument,
    outcome: OutcomeOptions,
    place: PlaceOptions,
) -> None:
    """Release all machines of a cluster and keep its control plane, which alone is billed then, until it is woken.

    \b
      alate hibernate train/main --wait
    Its time to live goes on; idleness does not end it.
    """
    from services.cli.change import edit

    _run(edit.hibernate(place.namespace, cluster), outcome, place)


@grouped
def wake(
    cluster: ClusterArgument,
    outcome: OutcomeOptions,
    place: PlaceOptions,
) -> None:
    """Give a hibernated cluster its machines again.

    \b
      alate wake train/main --wait
    If they cannot be had within 20 minutes, the cluster is created again elsewhere.
    """
    from services.cli.change import edit

    _run(edit.wake(place.namespace, cluster), outcome, place)


@grouped
def recreate(
    cluster: ClusterArgument,
    outcome: OutcomeOptions,
    place: PlaceOptions,
) -> None:
    """Create a cluster again that has ended because its time was over or it was idle.

    \b
      alate recreate train/main --wait
      alate recreate train/main -o json
    No edit of a Colony does that, but a later askedAt in it, or another request with one.
    Exit code 1 if the cluster has not ended, 2 for bad input.
    """
    from services.cli.change import edit

    _run(edit.recreate(place.namespace, cluster, datetime.now(UTC)), outcome, place)


def _run(asked: "ClusterChange", outcome: OutcomeOptions, place: PlaceOptions) -> None:
    from services.cli.change.edit import change
    from services.cli.connection import Connection
    from services.cli.loop import run
    from services.cli.wait import Outcome

    run(change(Connection(place.folder, place.kubeconfig), asked, Outcome.of(outcome)))
