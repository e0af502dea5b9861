"""Options that more than one command takes are worded once."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Plain(StrEnum):
    """How things are shown where there are two ways."""

    TABLE = "table"
    JSON = "json"


Dir = Annotated[Path, typer.Option("--dir", envvar="ALATE_DIR", help="Folder of the local stack.")]
Kubeconfig = Annotated[
    Path | None, typer.Option(help="Kubeconfig of a management cluster. [default: the local stack's]")
]
Nats = Annotated[str | None, typer.Option(help="URL of a NATS with JetStream. [default: the local stack's]")]
Namespace = Annotated[str, typer.Option("--namespace", "-n", help="Namespace: the tenant.")]
Wait = Annotated[bool, typer.Option("--wait", help="Stay until it is so.")]
Output = Annotated[Plain, typer.Option("-o", "--output", help="For people, or for programs.")]
HERE = Path(".alate")
