"""A real Kubernetes control plane without a machine: etcd and the API server, and what acts on them if wanted."""

import base64
import json
import secrets
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from events.kube.http import Access, ApiCredentials, HttpTransport
from services.sandbox.api.server.tls import self_signed
from tests.kube import flags
from tests.kube.places import home
from tests.kube.process import Process, Together, free_ports

PARTS = ("kube-controller-manager", "kube-scheduler", "kwok")
"""What may run beside etcd and the API server."""


class ControlPlane(Together):
    """One control plane of its own, in a folder of its own: use it as a context."""

    def __init__(
        self, folder: Path, *parts: str, controllers: str = flags.CONTROLLERS, without: str = flags.WITHOUT
    ) -> None:
        """`parts` are names out of `PARTS`; `controllers` is which of its controllers the manager runs.

        `without` are admission plug-ins that do not run, with commas between.
        """
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.book = flags.Book(folder, *free_ports(5))
        self.token, self.stranger = secrets.token_hex(16), secrets.token_hex(16)
        """Bearer tokens: of an administrator, and of a user who may do nothing."""
        self._write_secrets()
        commands = {
            "etcd": flags.etcd,
            "kube-apiserver": lambda book: flags.apiserver(book, without),
            "kube-controller-manager": lambda book: flags.manager(book, controllers),
            "kube-scheduler": flags.scheduler,
            "kwok": lambda book: flags.kwok(book, stages(folder)),
        }
        wanted = ("etcd", "kube-apiserver", *parts)
        self.processes = {name: Process(commands[name](self.book), folder / f"{name}.log") for name in wanted}

    def start(self) -> None:
        for name, process in self.processes.items():
            process.start()
            process.wait(self._ready.get(name, lambda: True))

    @property
    def kubeconfig(self) -> Path:
        """Opens everything."""
        return self.book.kubeconfig

    @property
    def url(self) -> str:
        return self.book.url

    def transport(self, token: str | None = None) -> HttpTransport:
        """A client's way in; None: as the administrator, empty: as nobody."""
        bearer = self.token if token is None else token
        trust = ssl.create_default_context(cafile=str(self.folder / "tls.crt"))
        access = Access(self.url, trust, f"Bearer {bearer}" if bearer else "")

        async def load() -> Access:
            return access

        return HttpTransport(ApiCredentials(load, lambda: datetime.now(UTC)))

    def compact(self) -> int:
        """Make etcd forget every version before the newest, which is given."""
        nothing = base64.b64encode(b"alate/compaction").decode()
        # Twice: even who has read the newest version finds the next one forgotten.
        _, newest = [int(self._etcd("kv/put", {"key": nothing})["header"]["revision"]) for _ in range(2)]
        with suppress(urllib.error.HTTPError):  # compacted already: as it should be
            self._etcd("kv/compaction", {"revision": str(newest), "physical": True})
        return newest

    def _etcd(self, what: str, body: dict[str, object]) -> dict[str, dict[str, str]]:
        asked = urllib.request.Request(f"{self.book.store}/v3/{what}", json.dumps(body).encode())  # noqa: S310 - loopback
        with urllib.request.urlopen(asked, timeout=10) as answer:  # noqa: S310 - loopback
            return json.load(answer)

    @property
    def _ready(self) -> dict[str, Callable[[], bool]]:
        return {
            "etcd": lambda: _ok(f"{self.book.store}/readyz"),
            "kube-apiserver": lambda: _ok(f"{self.url}/readyz", self.folder / "tls.crt", self.token),
            "kube-controller-manager": lambda: _ok(f"https://127.0.0.1:{self.book.manager}/healthz"),
            "kube-scheduler": lambda: _ok(f"https://127.0.0.1:{self.book.scheduler}/readyz"),
        }

    def _write_secrets(self) -> None:
        identity = self_signed(datetime.now(UTC))
        (self.folder / "tls.crt").write_bytes(identity.certificate)
        (self.folder / "tls.key").write_bytes(identity.key)
        (self.folder / "accounts.key").write_bytes(_key())
        users = (f'{self.token},admin,1,"system:masters"', f"{self.stranger},stranger,2")
        (self.folder / "tokens.csv").write_text("\n".join(users))
        self.kubeconfig.write_text(self.kubeconfig_for(self.token))

    def kubeconfig_for(self, token: str) -> str:
        """YAML that opens this API server with a token."""
        authority = base64.b64encode((self.folder / "tls.crt").read_bytes()).decode()
        cluster = {"server": self.url, "certificate-authority-data": authority}
        context = {"cluster": "plane", "user": "plane", "namespace": "default"}
        return yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "plane", "cluster": cluster}],
                "users": [{"name": "plane", "user": {"token": token}}],
                "contexts": [{"name": "plane", "context": context}],
                "current-context": "plane",
            }
        )


def stages(folder: Path) -> Path:
    """How kwok plays nodes and pods, as one file in a folder."""
    whole = folder / "stages.yaml"
    whole.write_text(_documents((home() / "stages").glob("*.yaml")))
    return whole


def _documents(files: Iterable[Path]) -> str:
    return "\n---\n".join(file.read_text() for file in sorted(files))


def _key() -> bytes:
    plain = serialization.NoEncryption()
    form = serialization.PrivateFormat.TraditionalOpenSSL
    return ec.generate_private_key(ec.SECP256R1()).private_bytes(serialization.Encoding.PEM, form, plain)


def _ok(url: str, authority: Path | None = None, token: str = "") -> bool:
    """Whether a server says it is well; the controllers' health is open, under certificates of their own making."""
    context = ssl.create_default_context(cafile=str(authority)) if authority else _unverified()
    asked = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})  # noqa: S310 - loopback
    try:
        with urllib.request.urlopen(asked, timeout=5, context=context if url.startswith("https") else None):  # noqa: S310 - loopback
            return True
    except OSError:
        return False


def _unverified() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context
