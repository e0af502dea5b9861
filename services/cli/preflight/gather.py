"""Gathers all facts that `alate preflight` judges, from DNS, the management cluster and NATS."""

import asyncio
import socket
from collections.abc import Iterable
from urllib.parse import urlsplit

from events.bus import Clock
from events.errors import Fault
from services.cli.connection import ANSWER, Connection
from services.cli.preflight import management_cluster, nats
from services.cli.preflight.facts import KubernetesFacts, PreflightFacts


async def gathered(connection: Connection, namespace: str, clock: Clock) -> PreflightFacts:
    """The facts; `namespace` is that of the services. Raises Absent, BadInput if no stack is named."""
    url, credentials = connection.nats_address()
    unresolved, kubernetes, bus = await asyncio.gather(
        unresolvable(urlsplit(one if "//" in one else f"//{one}").hostname or "" for one in url.split(",")),
        _kubernetes(connection, namespace, clock),
        nats.gathered(url, credentials, ANSWER, clock),
    )
    return PreflightFacts(kubernetes, bus, unresolved, clock())


async def _kubernetes(connection: Connection, namespace: str, clock: Clock) -> KubernetesFacts:
    try:
        async with connection.kube() as kube:
            return await management_cluster.gathered(kube, namespace, clock)
    except Fault as why:
        return KubernetesFacts(unreachable=" ".join(str(why).split()))


async def unresolvable(names: Iterable[str]) -> dict[str, str]:
    """Why a name does not resolve, by name."""
    loop, found = asyncio.get_running_loop(), {}
    for name in filter(None, names):
        try:
            async with asyncio.timeout(ANSWER):
                await loop.getaddrinfo(name, None, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as why:
            found[name] = getattr(why, "strerror", None) or str(why) or f"no answer in {ANSWER:g} s"
    return found
