"""Options and arguments that more than one command takes."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from services.cli.completion import cluster_names, colony_names


class Format(StrEnum):
    """How a list of objects, or an object that was changed, is written."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"


class ReportFormat(StrEnum):
    """How a report that is no list of objects is written."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


Dir = Annotated[
    Path | None,
    typer.Option(
        "--dir",
        envvar="ALATE_DIR",
        help="Folder of the local stack. [default: .alate, in this folder or the nearest parent that has one]",
    ),
]
Kubeconfig = Annotated[
    Path | None, typer.Option(help="Kubeconfig of a management cluster. [default: the local stack's]")
]
Nats = Annotated[str | None, typer.Option(help="URL of a NATS server with JetStream. [default: the local stack's]")]
Namespace = Annotated[str, typer.Option("--namespace", "-n", help="Namespace of the Colony (its tenant).")]
Wait = Annotated[bool, typer.Option("--wait", help="Wait until the cluster is in the requested state.")]
WaitAll = Annotated[bool, typer.Option("--wait", help="Wait until all clusters are in the requested state.")]
Timeout = Annotated[
    str | None,
    typer.Option(
        metavar="DURATION",
        help="With --wait: give up after so long, e.g. 10m, with exit code 3. [default: wait without limit]",
    ),
]
Output = Annotated[Format, typer.Option("-o", "--output", help="Output format: table, wide, json, yaml or name.")]
Report = Annotated[ReportFormat, typer.Option("-o", "--output", help="Output format: table, json or yaml.")]
ClusterArgument = Annotated[
    str,
    typer.Argument(
        metavar="COLONY/CLUSTER", help="The cluster, as `alate get clusters` names it.", autocompletion=cluster_names
    ),
]
ColonyArgument = Annotated[
    str, typer.Argument(metavar="COLONY", help="Name of the Colony.", autocompletion=colony_names)
]
