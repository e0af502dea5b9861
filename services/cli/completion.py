"""Names that a shell offers when a person presses Tab: Colonies and clusters of the stack that runs."""
# ruff: noqa: PLC0415 - imports: a command that completes nothing must not wait for them

import typer

WITHIN = 2.0
"""Seconds after which nothing is offered: a person waits at the prompt."""


def colony_names(context: typer.Context, incomplete: str) -> list[str]:
    """Names of Colonies that begin so."""
    return [
        name for name in sorted({each.partition("/")[0] for each in _names(context)}) if name.startswith(incomplete)
    ]


def cluster_names(context: typer.Context, incomplete: str) -> list[str]:
    """Names of clusters that begin so, as COLONY/CLUSTER."""
    return [name for name in sorted(_names(context)) if name.startswith(incomplete)]


def kind_names(incomplete: str) -> list[str]:
    """Words after `alate get` that begin so."""
    kinds = ("colonies", "clusters", "nodes", "gpus", "storage", "offers", "addons")
    return [name for name in kinds if name.startswith(incomplete)]


def names_of_kind(context: typer.Context, incomplete: str) -> list[str]:
    """Names for the second word after `alate get`: of Colonies, or of clusters."""
    kind = context.params.get("kind")
    return colony_names(context, incomplete) if kind in ("colony", "colonies") else cluster_names(context, incomplete)


def _names(context: typer.Context) -> list[str]:
    """Every cluster of the namespace as COLONY/CLUSTER; none where no stack answers in time."""
    import asyncio

    async def read() -> list[str]:
        from events.kube.resources import COLONIES
        from services.cli.connection import Connection

        given = context.params
        connection = Connection(given.get("folder"), given.get("kubeconfig"))
        async with asyncio.timeout(WITHIN), connection.kube() as kube:
            listed = await kube.list(COLONIES, given.get("namespace") or "default")
        return [
            f"{colony['metadata']['name']}/{cluster['name']}"
            for colony in listed.items
            for cluster in colony.get("spec", {}).get("clusters", ())
        ]

    try:
        return asyncio.run(read())
    except Exception:  # noqa: BLE001 - a prompt must not show an error because Tab was pressed
        return []
