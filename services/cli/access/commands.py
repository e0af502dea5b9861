"""The command `alate kubeconfig`: its options and its help."""
# ruff: noqa: PLC0415, D301 - imports: help must not wait for what a command needs; \b: keeps its lines as they are

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from services.cli.completion import cluster_names
from services.cli.options import PlaceOptions, grouped


class KubeconfigFormat(StrEnum):
    """How a kubeconfig is written."""

    YAML = "yaml"
    JSON = "json"


@grouped
def kubeconfig(
    target: Annotated[
        str,
        typer.Argument(
            metavar="COLONY[/CLUSTER]", help="A Colony, or one of its clusters.", autocompletion=cluster_names
        ),
    ],
    *,
    file: Annotated[
        Path | None,
        typer.Option("-f", "--file", help="File to write, readable by you alone. [default: standard output]"),
    ] = None,
    output: Annotated[
        KubeconfigFormat, typer.Option("-o", "--output", help="Output format: yaml or json.")
    ] = KubeconfigFormat.YAML,
    place: PlaceOptions,
) -> None:
    """Write a kubeconfig with a context for every cluster of a Colony, from their Secrets.

    \b
      alate kubeconfig train -f train.kubeconfig
      kubectl --kubeconfig train.kubeconfig --context train/gpu get nodes
      alate kubeconfig train/gpu > gpu.kubeconfig
    """
    from services.cli.access.kubeconfig import KubeconfigRequest, make
    from services.cli.connection import Connection
    from services.cli.loop import run

    colony, _, cluster = target.partition("/")
    wanted = KubeconfigRequest(place.namespace, colony, cluster, file, as_json=output is KubeconfigFormat.JSON)
    run(make(Connection(place.folder, place.kubeconfig), wanted, write=sys.stdout.write, tell=sys.stderr.write))
