"""`alate kubeconfig`: its options and its help; what it does is loaded when it runs."""
# ruff: noqa: PLC0415, D301 - imports: help must not wait for what a command needs; \b: keeps its lines as they are

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from services.cli.options import HERE, Dir, Kubeconfig, Namespace


class Form(StrEnum):
    """How a kubeconfig is written."""

    YAML = "yaml"
    JSON = "json"


def kubeconfig(  # noqa: PLR0913 - what a person can say of it
    target: Annotated[str, typer.Argument(metavar="COLONY[/CLUSTER]", help="Whose clusters.")],
    *,
    file: Annotated[
        Path | None, typer.Option("-f", "--file", help="Write it here, for its owner alone. [default: standard output]")
    ] = None,
    output: Annotated[Form, typer.Option("-o", "--output", help="How it is written.")] = Form.YAML,
    namespace: Namespace = "default",
    folder: Dir = HERE,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Make one kubeconfig with a context for every cluster of a Colony, as their Secrets are now.

    \b
      alate kubeconfig train -f train.kubeconfig
      kubectl --kubeconfig train.kubeconfig --context train/gpu get nodes
      alate kubeconfig train/gpu > gpu.kubeconfig
    """
    from services.cli.access.kubeconfig import Wanted, make
    from services.cli.connection import Where
    from services.cli.loop import run

    colony, _, cluster = target.partition("/")
    wanted = Wanted(namespace, colony, cluster, file, as_json=output is Form.JSON)
    run(make(Where(folder, kubeconfig), wanted, write=sys.stdout.write, tell=sys.stderr.write))
