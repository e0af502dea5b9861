"""The table of programs of the local stack, in their order."""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from socket import gethostname

from events.jetstream.credentials import NkeyCredentials
from events.jetstream.server import binary, config
from services.clients.catalog_sources import SAMPLE
from services.local.folder import Folder, LocalPorts
from services.local.keys import file as key_file
from services.local.keys import known
from services.local.probe import HOST, Busy, Probe, api, free_ports, greets, http, is_free, nats, unstoring
from services.local.program import Program
from services.process.secret_file import write_private

SERVICES = ("gateway", "inventory", "provisioning", "addons", "teardown", "edge", "outbound")
"""Every service of the house, as `python -m services` names it; one line of the Procfile each."""
EDGE, OUTBOUND, INVENTORY, PROVISIONING = "edge", "outbound", "inventory", "provisioning"
CATALOG = "ALATE_CATALOG"
SETUP = "setup"
"""Who makes the streams."""
SHOWN = tuple(f"ALATE_NATS_{name}" for name in ("NKEY", "CREDS", "CA", "INBOX", "API"))
"""What is shown to a NATS that is another's is not shown to ours."""
NATS = "nats"
SANDBOX = "sandbox"


@dataclass(frozen=True)
class Wiring:
    """The configuration of the programs of one stack."""

    folder: Folder
    ports: LocalPorts
    nats_url: str = ""
    """A NATS that is there already; empty: our own nats-server."""
    kubeconfig: Path | None = None
    """A management cluster that is there already; None: the sandbox."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Further ``ALATE_*`` settings, for every program."""

    monitored: bool = False
    """Whether nats-server has its monitoring page, which asks nobody for a key: whoever counts what is unanswered."""

    @property
    def bus(self) -> str:
        """Where everybody connects."""
        return self.nats_url or f"nats://{HOST}:{self.ports.nats}"

    @property
    def hooks(self) -> str:
        """Below this URL, webhooks are taken."""
        return f"{self.page}hooks"

    @property
    def page(self) -> str:
        """Where one looks on."""
        return f"http://{HOST}:{self.ports.edge}/"

    @property
    def sign_in(self) -> Path:
        """The file of the token to sign in with there."""
        return self.folder.hooks / "operator.me"

    def key(self, role: str) -> Path | None:
        """Where a role's key is; None: the NATS is another's, and so are its keys."""
        return None if self.nats_url else key_file(self.folder.keys, role)

    @property
    def management(self) -> Path:
        """The kubeconfig everybody uses."""
        return (self.kubeconfig or self.folder.kubeconfig).absolute()


def choose_ports(kept: LocalPorts | None, api_port: int | None) -> LocalPorts:
    """Last time's ports where they are free, else new ones; the API's must be free. Raises Busy."""
    fresh = free_ports(4 + len(SERVICES))
    old = _remembered(kept, fresh) if kept else fresh
    wanted = api_port or old[0]
    if not is_free(wanted):
        raise Busy(f"port {wanted} on {HOST} is taken by another program: {_way_out(api_port)}")
    others = [port if is_free(port) and port != wanted else new for port, new in zip(old[1:], fresh[1:], strict=True)]
    return LocalPorts(wanted, others[0], others[1], tuple(others[3:]), others[2])


def _remembered(kept: LocalPorts, fresh: tuple[int, ...]) -> tuple[int, ...]:
    """A folder of an earlier release knows fewer services."""
    old = (kept.api, kept.nats, kept.monitor, kept.edge or fresh[3], *kept.health)
    return (*old, *fresh[len(old) :])


def _way_out(api_port: int | None) -> str:
    if api_port:
        return "name a free one with --port, or leave it out"
    return "end that program (the kubeconfigs of this folder point here), or name a free port with --port"


def stages(wiring: Wiring) -> tuple[tuple[Program, ...], ...]:
    """The programs, in the order they are started: each stage when the one before it is ready."""
    own = ((_nats(wiring),) if not wiring.nats_url else (), (_sandbox(wiring),) if not wiring.kubeconfig else ())
    services = tuple(_service(wiring, name, port) for name, port in zip(SERVICES, wiring.ports.health, strict=True))
    return (*filter(None, own), services)


def _nats(wiring: Wiring) -> Program:
    folder, ports = wiring.folder, wiring.ports
    folder.nats.mkdir(parents=True, exist_ok=True)
    file = folder.nats / "nats-server.conf"
    monitor = f'http: "{HOST}:{ports.monitor}"\n' if wiring.monitored else ""
    write_private(file, (config(ports.nats, folder.nats / "jetstream") + monitor + known(folder.keys)).encode())
    ready = nats(ports.nats, NkeyCredentials(nkey=wiring.key(SETUP)))
    return Program(
        NATS,
        (str(binary()), "-c", str(file)),
        folder.logs / "nats.log",
        ready,
        alive=greets(ports.nats),
        sick=unstoring(ports.health, folder.nats),
    )


def _sandbox(wiring: Wiring) -> Program:
    folder, port = wiring.folder, wiring.ports.api
    told = {
        "ALATE_SANDBOX_PORT": str(port),
        "ALATE_SANDBOX_STATE_DIR": str(folder.sandbox),
        "ALATE_SANDBOX_KUBECONFIG": str(folder.kubeconfig),
    }
    ready = api(folder.kubeconfig)
    return _python(wiring, SANDBOX, told, ready, ready)


def _service(wiring: Wiring, name: str, port: int) -> Program:
    told = {"ALATE_KUBECONFIG": str(wiring.management), "ALATE_HEALTH_ADDRESS": f"{HOST}:{port}"}
    told["ALATE_MEMBER"] = f"{gethostname()}-{port}"  # the same after a crash: it has its share at once
    more = OF_ITS_OWN[name](wiring) if name in OF_ITS_OWN else {}
    return _python(wiring, name, told | more, http(port, "/readyz"), http(port, "/healthz"))


def _edge(wiring: Wiring) -> dict[str, str]:
    hooks = wiring.folder.hooks
    hooks.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not wiring.sign_in.exists():
        write_private(wiring.sign_in, token_hex(32).encode() + b"\n")
    address = f"{HOST}:{wiring.ports.edge}"
    return {"ALATE_EDGE_ADDRESS": address, "ALATE_EDGE_SECRETS": str(hooks), "ALATE_EDGE_OPEN": "true"}


def _outbound(wiring: Wiring) -> dict[str, str]:
    wiring.folder.targets.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = wiring.folder.targets / "targets.yaml"
    if not file.exists():
        write_private(file, b"targets: []\n")
    return {"ALATE_OUTBOUND_TARGETS": str(file), "ALATE_OUTBOUND_SECRETS": str(wiring.folder.targets)}


def _priced(wiring: Wiring) -> dict[str, str]:
    """The prices that are shipped are a sample: they are for simulated clouds alone, and for who names them."""
    named = os.environ.get(CATALOG) or wiring.settings.get(CATALOG)
    return {} if wiring.kubeconfig or named else {CATALOG: str(SAMPLE)}


OF_ITS_OWN: Mapping[str, Callable[[Wiring], dict[str, str]]] = {
    EDGE: _edge,
    OUTBOUND: _outbound,
    INVENTORY: _priced,
    PROVISIONING: _priced,
}
"""Settings of single services."""


ALLOW = ("ALATE_CLUSTERS_ALLOW", "ALATE_CATALOG_ALLOW", "ALATE_OUTBOUND_ALLOW")
HERE = "private,loopback"
"""Where connections may lead on a laptop by default: the sandbox's clusters are on the loopback."""


def _python(wiring: Wiring, name: str, told: Mapping[str, str], ready: Probe, alive: Probe) -> Program:
    own = wiring.key(name)
    shown = {**dict.fromkeys(SHOWN, ""), "ALATE_NATS_NKEY": str(own)} if own else {}
    allowed = {name: os.environ.get(name) or HERE for name in ALLOW}
    env = {"ALATE_NATS_URL": wiring.bus, "ALATE_LOG_FORMAT": "json", **allowed, **shown, **wiring.settings, **told}
    # -P: a folder called services where the user happens to stand is not ours.
    argv = (sys.executable, "-P", "-m", "services", name)
    return Program(name, argv, wiring.folder.logs / f"{name}.log", ready, env, alive=alive)
