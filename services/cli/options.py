"""Options and arguments that more than one command takes, alone and in groups."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from functools import wraps
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any

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
FileNamespace = Annotated[
    str | None,
    typer.Option("--namespace", "-n", help="Namespace of the Colony (its tenant). [default: the file's, or default]"),
]
Wait = Annotated[bool, typer.Option("--wait", help="Wait until each cluster is in the requested state.")]
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


@dataclass(frozen=True)
class OutcomeOptions:
    """How a change is shown, and how long it is waited for."""

    output: Output = Format.TABLE
    wait: Wait = False
    timeout: Timeout = None


@dataclass(frozen=True)
class PlaceOptions:
    """Where an object of the management cluster is."""

    namespace: Namespace = "default"
    folder: Dir = None
    kubeconfig: Kubeconfig = None


@dataclass(frozen=True)
class FilePlaceOptions:
    """Where the objects of a file are."""

    namespace: FileNamespace = None
    folder: Dir = None
    kubeconfig: Kubeconfig = None


@dataclass(frozen=True)
class StackOptions:
    """Which management cluster is meant, and which bus."""

    folder: Dir = None
    kubeconfig: Kubeconfig = None
    nats: Nats = None


@dataclass(frozen=True)
class BusReportOptions:
    """How a report is written, and which bus it is read from."""

    output: Report = ReportFormat.TABLE
    folder: Dir = None
    nats: Nats = None


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command as Typer takes it: each of its parameters that is a dataclass of options becomes those options."""
    before = inspect.signature(command).parameters
    groups: dict[str, Any] = {name: each.annotation for name, each in before.items() if is_dataclass(each.annotation)}
    after = [one for name, each in before.items() for one in (_options(groups[name]) if name in groups else [each])]

    @wraps(command)
    def expanded(**given: Any) -> None:  # noqa: ANN401 - the values that Typer has read
        own = {
            name: kind(**{each.name: given.pop(each.name) for each in fields(kind)}) for name, kind in groups.items()
        }
        command(**given, **own)

    signature = inspect.Signature([each.replace(kind=Parameter.KEYWORD_ONLY) for each in after])
    expanded.__dict__["__signature__"] = signature
    expanded.__annotations__ = {each.name: each.annotation for each in after}
    return expanded


def _options(group: Any) -> list[Parameter]:  # noqa: ANN401 - a dataclass
    return [
        Parameter(each.name, Parameter.KEYWORD_ONLY, default=each.default, annotation=each.type)
        for each in fields(group)
    ]
