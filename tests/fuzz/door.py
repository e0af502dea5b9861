"""``python -m tests.fuzz.door FOLDER NATS`` is the edge and nothing else, so that its memory can be told from others'.

It says one line of JSON when it is open: its port, and method and path of every endpoint. Once its standard input ends,
it says another one: by how many KiB the process has grown at most since then.
"""

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

import uvloop

from events.backoff import Rate
from events.bus import Bus
from events.jetstream.bus import connect
from events.telemetry import Meters
from services.edge.http.principals import Callers
from services.edge.http.server import HttpRoute, opened
from services.edge.inventory_api import InventoryApi
from services.edge.page.site import Site
from services.edge.page.visitors import Visitors
from services.edge.webhooks.providers import PROVIDERS
from services.edge.webhooks.receive import WebhookReceiver
from services.edge.webhooks.secrets import WebhookSecrets
from services.process import logs
from services.roles import SERVICES
from services.runtime.context import Context
from tests.services.edge.here import Here
from tests.services.edge.house import NOW, SECRET, WHSEC
from tests.services.edge.page.colonies import Colonies
from tests.services.edge.page.page_server import TOKEN


def routes_of(bus: Bus, folder: Path) -> tuple[Site, tuple[HttpRoute, ...]]:
    """The page, and every endpoint that answers and is done."""
    for name in (*(f"{provider}.acme.ci" for provider in PROVIDERS), "operator.jo"):
        (folder / name).write_text(f"{TOKEN}\n" if name.startswith("operator") else f"{SECRET}\n{WHSEC}\n")
    secrets = WebhookSecrets(folder)
    context = Context(bus, lambda: NOW, lambda: 0.0, Meters())
    hooks = WebhookReceiver(context, secrets, Rate(1e6, 10**6), Here())
    visitors = Visitors(Callers(secrets), clock=lambda: NOW, is_open=True)
    site = Site(context, Colonies(), visitors, SERVICES)
    routes = (*hooks.routes(), *InventoryApi(bus, Callers(secrets)).routes(), *site.routes())
    return site, tuple(route for route in routes if not route.lasts)


async def serve(folder: Path, nats: str) -> None:
    """Be open until nobody writes to us any more."""
    async with AsyncExitStack() as stack:
        bus = await connect(nats, name="edge")
        stack.push_async_callback(bus.close)
        site, routes = routes_of(bus, folder)
        url = await stack.enter_async_context(opened("127.0.0.1:0", routes))
        following = asyncio.ensure_future(site.run())
        stack.callback(following.cancel)
        await asyncio.sleep(0.1)  # the fleet is read
        before = peak()
        _say({"port": int(url.rpartition(":")[2]), "routes": [(route.method, route.path) for route in routes]})
        await asyncio.to_thread(sys.stdin.read)
        _say({"grown": peak() - before})


def peak() -> int:
    """The most KiB this program had: on Linux ru_maxrss counts what the process was before it became this program."""
    status = Path("/proc/self/status")
    if not status.exists():
        return getrusage(RUSAGE_SELF).ru_maxrss
    return int(status.read_text().partition("VmHWM:")[2].split()[0])


def _say(what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    logs.set_up("edge", form="json", level="error")
    uvloop.run(serve(Path(sys.argv[1]), sys.argv[2]))
