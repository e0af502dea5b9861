"""The command `alate up`: its options and its help."""
# ruff: noqa: PLC0415, D301 - imports: help must not wait for what a command needs; \b: keeps its lines as they are

from typing import Annotated

import typer

from services.cli.options import Dir, Kubeconfig, Nats


def up(
    folder: Dir = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=1024, max=65535, help="Port of the Kubernetes API. [default: that of the last run, or a free one]"
        ),
    ] = None,
    kubeconfig: Kubeconfig = None,
    nats: Nats = None,
) -> None:
    """Run the local stack until Ctrl-C; started again in the same folder it continues where it was.

    \b
      alate up                                  NATS, the sandbox and all services on this machine
      alate up --kubeconfig FILE                with a real management cluster instead of the sandbox
      alate up --nats nats://HOST:4222          with a NATS server of yours
    """
    from services.cli.connection import found
    from services.cli.loop import run
    from services.cli.up.stack import up as run_stack

    run(run_stack(found(folder), port, kubeconfig, nats))
