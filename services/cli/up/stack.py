"""Runs the local stack in a folder until it is stopped; started again, it continues."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from shlex import quote

import schemas
from events.errors import NotFound
from events.kube.client import Kube
from events.kube.discovery import find
from events.kube.resources import COLONIES
from services.cli.connection import joined, management, of_environment
from services.cli.wait import Progress
from services.clients.catalog_sources import absent
from services.errors import BadInput
from services.local.child import Child, Phase
from services.local.folder import Folder
from services.local.programs import CATALOG, Wiring, choose_ports, stages
from services.local.supervisor import Supervisor

OPERATOR, PUBLISHER = "operator", "publisher"
"""The names of two keys for people: who runs the stack, and who requests clusters from it."""
CRDS = Path(schemas.__file__).with_name("generated") / "crds"
"""The manifests that must be applied to a management cluster."""


async def up(folder: Folder, port: int | None, kubeconfig: Path | None, nats: str | None) -> None:
    """Run until cancelled. Raises Taken, Busy, BadInput, Denied("BadKubeconfig"), NotStarted."""
    say = Progress().say
    say("alate is starting")
    if lost := folder.ports_lost():
        say(lost)
    async with running(folder, port=port, kubeconfig=kubeconfig, nats=nats, changed=_teller(say)) as (
        wiring,
        _,
    ):
        say(_welcome(wiring))
        try:
            await asyncio.Event().wait()
        finally:
            say("alate is stopping")


@asynccontextmanager
async def running(  # noqa: PLR0913 - what the command line offers
    folder: Folder,
    *,
    port: int | None = None,
    kubeconfig: Path | None = None,
    nats: str | None = None,
    settings: Mapping[str, str] | None = None,
    changed: Callable[[Child], None] = lambda _: None,
    monitored: bool = False,
) -> AsyncIterator[tuple[Wiring, Supervisor]]:
    """A stack in a folder, all parts ready. Raises what `up` raises."""
    _check_catalog((settings or {}).get(CATALOG) or os.environ.get(CATALOG, ""))
    folder.take()
    try:
        ports = choose_ports(folder.ports(), port)
        wiring = Wiring(folder, ports, nats or "", kubeconfig, settings or {}, monitored)
        await _check_others(wiring)
        folder.keep_ports(ports)
        async with Supervisor(stages(wiring), changed) as stack:
            folder.announce(wiring.bus, wiring.management, wiring.key(OPERATOR))
            yield wiring, stack
    finally:
        folder.leave()


def _check_catalog(setting: str) -> None:
    """Raises BadInput if prices are to be read from where nothing is."""
    if missing := absent(setting):
        raise BadInput(
            f"{CATALOG} names {', '.join(str(each.absolute()) for each in missing)}: there is no such file or folder; "
            "name one with price catalogs (CSV or YAML), or a URL"
        )


async def _check_others(wiring: Wiring) -> None:
    """Raises BadInput if a NATS server or a management cluster of others does not answer."""
    if wiring.nats_url:
        async with joined(wiring.nats_url, of_environment()):
            pass
    if wiring.kubeconfig:
        async with management(str(wiring.kubeconfig)) as kube:
            await _check_installed(kube, wiring.kubeconfig)


async def _check_installed(kube: Kube, kubeconfig: Path) -> None:
    try:
        await find(kube, COLONIES.api_version, COLONIES.kind)
    except NotFound as missing:
        raise BadInput(
            f"the management cluster of {kubeconfig} knows no Colony: "
            f"kubectl --kubeconfig {kubeconfig} apply -f {CRDS}, then try again"
        ) from missing


def _teller(say: Callable[[str], object]) -> Callable[[Child], None]:
    """Reports a part of the stack that has died."""

    def changed(child: Child) -> None:
        if child.phase is Phase.WAITING:
            name, log = child.program.name, child.program.log
            say(f"{name} {child.why or 'ended'} and is started again (deaths so far: {child.deaths}); see {log}")

    return changed


def _keys(wiring: Wiring) -> str:
    """The key and the inbox prefix that the NATS server accepts."""
    key = wiring.key(PUBLISHER)
    return f"  (nats --nkey {quote(str(key))} --inbox-prefix _INBOX_{PUBLISHER}; more in {key.parent})" if key else ""


def _welcome(wiring: Wiring) -> str:
    return (
        f"alate is up in {wiring.folder.root}; Ctrl-C stops it, starting it again continues\n"
        f"  kubeconfig  export KUBECONFIG={quote(str(wiring.management))}\n"
        f"  NATS        {wiring.bus}{_keys(wiring)}\n"
        f"  page        {wiring.page}, to sign in there: {wiring.sign_in}\n"
        f"  webhooks    {wiring.hooks}, their secrets in {wiring.folder.hooks}\n"
        f"  logs        {wiring.folder.logs}\n"
        "now try: alate request train --gpus 16 --accelerator H100, then alate get colonies -w"
    )
