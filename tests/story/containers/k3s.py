"""A Kubernetes of k3s in a container, which a story can use wherever it uses a control plane of its own."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from testcontainers.community.k3s import K3SContainer

from events.kube.auth import transport_of
from events.kube.http import Access, ApiCredentials, HttpTransport
from tests.kube.flags import found
from tests.kube.places import version
from tests.kube.plane import stages
from tests.kube.process import Process
from tests.story.kube.world import RealWorld, paced

IMAGE = f"rancher/k3s:{version()}-k3s1"
EXTRAS = "coredns,local-storage,metrics-server,servicelb,traefik"
"""What k3s brings along and nobody here needs."""
TAINT = "CriticalAddonsOnly=true:NoExecute"
"""k3s is a node itself; nothing of ours is to run on it."""
OTHERS = "node.kubernetes.io/instance-type!=k3s"
"""Every node but that one: kwok is their kubelet."""


class K3s:
    """One cluster, like `tests.kube.plane.ControlPlane`: use it as a context. kwok runs beside it, on this machine."""

    def __init__(self, folder: Path, *, nodes: bool) -> None:
        """`nodes`: whether nodes are to be simulated in it."""
        folder.mkdir(parents=True)
        self.kubeconfig = folder / "kubeconfig"
        self.processes = {"kwok": Process(_kwok(self.kubeconfig, folder), folder / "kwok.log")} if nodes else {}
        self._container = K3SContainer(IMAGE)
        host = self._container.get_container_host_ip()
        self._container.with_command(f"server --disable={EXTRAS} --node-taint={TAINT} --tls-san={host}")

    def __enter__(self) -> Self:
        try:
            self._container.start()
            self.kubeconfig.write_text(self._container.config_yaml())
            for process in self.processes.values():
                process.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes.values():
            process.stop()
        self._container.stop()

    def transport(self) -> HttpTransport:
        """A way in of the caller's own."""

        async def load() -> Access:
            return await (await transport_of(self.kubeconfig.read_text())).credentials.current()

        return HttpTransport(ApiCredentials(load, lambda: datetime.now(UTC)))


class K3sWorld(RealWorld):
    """Every founded cluster is a k3s."""

    def _start(self, place: str) -> Any:
        return K3s(self.folder / f"{place}-{len(self.ever)}", nodes=True).__enter__()


def _kwok(kubeconfig: Path, folder: Path) -> list[str]:
    return [
        found("kwok"),
        f"--kubeconfig={kubeconfig}",
        f"--manage-nodes-with-label-selector={OTHERS}",
        f"--config={paced(stages(folder))}",
    ]
