"""How each part of a control plane is started: its command line, from the one address book all parts share."""

from dataclasses import dataclass
from pathlib import Path

from tests.kube.places import program


@dataclass(frozen=True)
class Book:
    """Where the parts of one control plane meet: its folder and its ports on 127.0.0.1."""

    folder: Path
    etcd: int
    peers: int
    api: int
    manager: int
    scheduler: int

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.api}"

    @property
    def store(self) -> str:
        return f"http://127.0.0.1:{self.etcd}"


def found(name: str) -> str:
    """A program's path. Raises LookupError if it is not built."""
    path = program(name)
    if path is None:
        raise LookupError(f"{name} is not there: `make kube` builds it")
    return str(path)


def etcd(book: Book) -> list[str]:
    peers = f"http://127.0.0.1:{book.peers}"
    return [
        found("etcd"),
        f"--data-dir={book.folder / 'etcd'}",
        f"--listen-client-urls={book.store}",
        f"--advertise-client-urls={book.store}",
        f"--listen-peer-urls={peers}",
        f"--initial-advertise-peer-urls={peers}",
        f"--initial-cluster=default={peers}",
        "--unsafe-no-fsync",  # nothing here outlives the test
        "--log-level=warn",
    ]


def apiserver(book: Book, without: str) -> list[str]:
    """`without`: admission plug-ins that do not run."""
    at = book.folder
    return [
        found("kube-apiserver"),
        f"--etcd-servers={book.store}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",  # the kubernetes Service would point to loopback, which it refuses
        f"--secure-port={book.api}",
        f"--cert-dir={at / 'certificates'}",
        f"--tls-cert-file={at / 'tls.crt'}",
        f"--tls-private-key-file={at / 'tls.key'}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={at / 'accounts.key'}",
        f"--service-account-signing-key-file={at / 'accounts.key'}",
        f"--token-auth-file={at / 'tokens.csv'}",
        "--authorization-mode=RBAC",
        "--service-cluster-ip-range=10.96.0.0/16",
        f"--disable-admission-plugins={without}",
        "--allow-privileged=true",
        "--etcd-compaction-interval=0",  # only a test compacts
        "--watch-cache-sizes=limitranges#0",  # a watch of these sees etcd itself, and its compaction
    ]


WITHOUT = "ServiceAccount"
"""So that there are Pods without a controller-manager."""
CONTROLLERS = "*,-root-ca-certificate-publisher-controller"
"""All, but that namespaces begin empty."""


def manager(book: Book, controllers: str) -> list[str]:
    return [
        found("kube-controller-manager"),
        *_client(book, book.manager),
        f"--service-account-private-key-file={book.folder / 'accounts.key'}",
        f"--root-ca-file={book.folder / 'tls.crt'}",
        "--use-service-account-credentials=false",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        f"--controllers={controllers}",
    ]


def scheduler(book: Book) -> list[str]:
    return [found("kube-scheduler"), *_client(book, book.scheduler)]


def kwok(book: Book, stages: Path) -> list[str]:
    return [
        found("kwok"),
        f"--kubeconfig={book.kubeconfig}",
        "--manage-all-nodes=true",
        f"--config={stages}",
    ]


def _client(book: Book, port: int) -> list[str]:
    same = f"={book.kubeconfig}"
    return [
        f"--kubeconfig{same}",
        f"--authentication-kubeconfig{same}",
        f"--authorization-kubeconfig{same}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={book.folder / 'certificates'}",
        "--leader-elect=false",
    ]
