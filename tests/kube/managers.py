"""The four managers of the real Cluster API run as plain processes beside a real API server."""

import os
from pathlib import Path

import yaml

from events.kube.client import Kube, Object
from events.kube.resources import CRDS
from tests.kube.flags import found
from tests.kube.places import home
from tests.kube.plane import ControlPlane, _ok
from tests.kube.process import Process, Together, free_ports, until_free

NAMES = ("capi-core", "capi-bootstrap", "capi-control-plane", "capi-infrastructure")
GATES = dict.fromkeys(("capi-core", "capi-control-plane"), ("--feature-gates=ClusterTopology=true",))
"""Off unless they are asked for: Clusters of a ClusterClass."""
FIXED = 19_000
"""The port that the in-memory provider (v1.12.3) opens beside all others; no flag changes it."""
CONTRACTS = {"cluster.x-k8s.io/v1beta1": "v1beta1", "cluster.x-k8s.io/v1beta2": "v1beta2"}
"""What upstream's kustomization puts on each CRD, so that the managers find the version of a contract."""


class Managers(Together):
    """Core, kubeadm bootstrap, kubeadm control plane and the in-memory infrastructure: use it as a context."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._folder = plane.folder / "capi"
        certificates = self._folder / "certificates"
        certificates.mkdir(parents=True)
        for name in ("tls.crt", "tls.key"):
            (certificates / name).write_bytes((plane.folder / name).read_bytes())
        self._ports = {name: free_ports(3) for name in NAMES}
        self.processes = {name: self._process(name, certificates) for name in NAMES}

    def _process(self, name: str, certificates: Path) -> Process:
        webhooks, health, diagnostics = self._ports[name]
        flags = [
            f"--kubeconfig={self._plane.kubeconfig}",
            f"--webhook-cert-dir={certificates}",
            f"--webhook-port={webhooks}",
            f"--health-addr=127.0.0.1:{health}",
            f"--diagnostics-address=127.0.0.1:{diagnostics}",
            "--insecure-diagnostics",
            "--kube-api-qps=100",
            "--kube-api-burst=200",
            *GATES.get(name, ()),
        ]
        told = {"POD_NAMESPACE": "default", "POD_NAME": name, "POD_IP": "127.0.0.1"}
        return Process([found(name), *flags], self._folder / f"{name}.log", {**os.environ, **told})

    def start(self) -> None:
        until_free(FIXED)
        for process in self.processes.values():
            process.start()
        for name, process in self.processes.items():
            process.wait(lambda port=self._ports[name][1]: _ok(f"http://127.0.0.1:{port}/healthz"))


def definitions(folder: Path | None = None) -> list[Object]:
    """Cluster API's own CRDs, as they were copied beside the programs."""
    files = sorted((folder or home() / "crds").glob("*.yaml"))
    return [_contracted(document) for file in files for document in yaml.safe_load_all(file.read_text()) if document]


async def install(kube: Kube, crds: list[Object]) -> None:
    """Apply definitions."""
    for crd in crds:
        await kube.apply(CRDS, crd, manager="tests")


def _contracted(crd: Object) -> Object:
    crd["metadata"]["labels"] = crd["metadata"].get("labels", {}) | CONTRACTS
    crd["spec"].pop("conversion", None)
    crd.pop("status", None)
    return crd
