"""The command `alate preflight`: its options and its help."""
# ruff: noqa: PLC0415, D301 - imports: help must not wait for what a command needs; \b: keeps its lines as they are

import sys
from typing import Annotated

import typer

from services.cli.options import Report, ReportFormat, StackOptions, grouped


@grouped
def preflight(
    *,
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Namespace of the services.")] = "alate",
    output: Report = ReportFormat.TABLE,
    stack: StackOptions,
) -> None:
    """Check before an installation or an upgrade whether alate will run; nothing is changed.

    \b
      alate preflight --kubeconfig FILE --nats nats://HOST:4222
      alate preflight                  the local stack
      alate preflight -o json | jq -r '.findings[].message'
    Each finding says in one sentence what is wrong, where, and what to do. It checks versions, rights, definitions
    of custom resources, limits and streams of NATS, stored messages, price catalogs, DNS and clocks.
    Exit code 0 if all is right, 1 if something is wrong.
    """
    from datetime import UTC, datetime

    from services.cli.connection import Connection
    from services.cli.loop import run
    from services.cli.preflight.checks import findings
    from services.cli.preflight.gather import gathered
    from services.cli.preflight.show import written

    connection = Connection(stack.folder, stack.kubeconfig, stack.nats)
    found = findings(run(gathered(connection, namespace, lambda: datetime.now(UTC))))
    sys.stdout.write(written(found, output.value))
    if found:
        raise typer.Exit(1)
