"""A real cluster with nodes that kwok plays, Helm releases of ours on it, and charts that tests write."""

import asyncio
import hashlib
import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from events.errors import Fault, NotFound
from events.kube.client import Kube
from events.kube.discovery import find, kinds
from events.kube.resources import NAMESPACES, NODES, SECRETS
from services.addons.helm.pool import HelmWorkers
from services.addons.helm.releases import HelmRelease, HelmReleases
from services.addons.objects.drift import drift
from tests.kube.fixtures import needs
from tests.kube.places import home
from tests.kube.plane import PARTS, ControlPlane

PASSING = (
    "Event",
    "Lease",
    "PodMetrics",
    "NodeMetrics",
    "EndpointSlice",
    "Endpoints",
    "ComponentStatus",
    "Node",
    "APIService",
)
"""Kinds that come and go by themselves."""
HELD = "{{ if .Values.held }}\n  suspend: true\n{{ end }}"
"""What makes a Job not begin if a value says so."""
CM = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {size: "{{ .Values.size }}"}\n'
ROOM = {"cpu": "96", "memory": "1024Gi", "pods": "250", "ephemeral-storage": "1Ti"}


@contextmanager
def running(folder: Path, **more: str) -> Iterator[ControlPlane]:
    """A whole control plane, whose pods kwok runs and completes; `more` is handed on to it."""
    needs("etcd", "kube-apiserver", "helm", "kubectl", *PARTS)
    with ControlPlane(folder, *PARTS, **more) as plane:
        yield plane


def chart(folder: Path, *, name="small", version="0.1.0", values="size: 1\n", **templates: str) -> Path:
    """A chart whose templates are given by name, their underscores as slashes."""
    (folder / "templates").mkdir(parents=True, exist_ok=True)
    (folder / "Chart.yaml").write_text(f"apiVersion: v2\nname: {name}\nversion: {version}\n")
    (folder / "values.yaml").write_text(values)
    for each, text in templates.items():
        (folder / "templates" / f"{each}.yaml").write_text(text)
    return folder


def job(name: str, hook: str, more: str = "") -> str:
    """A Job that Helm runs at a point of an operation."""
    spec = "template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}"
    about = f"name: {name}, annotations: {{helm.sh/hook: '{hook}'}}"
    return f"apiVersion: batch/v1\nkind: Job\nmetadata: {{{about}}}\nspec:\n  {spec}\n{more}"


@dataclass
class HelmStage:
    """One namespace of a cluster, which is there or not."""

    plane: ControlPlane
    kube: Kube
    namespace: str
    helm: HelmReleases = field(default_factory=lambda: HelmReleases(HelmWorkers()))

    def wanted(self, folder: Path, release="one", digest="", **more) -> HelmRelease:
        """A release of a chart; its digest is that of its files, unless it is given."""
        given = {"timeout_seconds": 60.0, "kubeconfig": self.plane.kubeconfig_for(self.plane.token)}
        return HelmRelease(
            release=release, namespace=self.namespace, chart=folder, digest=digest or _digest(folder), **given | more
        )

    async def ensure(self, folder: Path, **more):
        return await self.helm.ensure(self.kube, self.wanted(folder, **more))

    async def uninstall(self, release="one", **more):
        return await self.helm.uninstall(self.kube, self.wanted(Path(), release, "-", **more))

    async def releases(self) -> list[tuple[str, str, str]]:
        """What the `helm` program lists here: name, revision and state."""
        told = await self.run("helm", "list", "-o", "json")
        return [(each["name"], each["revision"], each["status"]) for each in json.loads(told)]

    async def revisions(self, release="one") -> dict[int, str]:
        """The state of each revision that is kept."""
        found = await self.kube.marks(SECRETS, self.namespace, labels=f"owner=helm,name={release}")
        return {int(each["labels"]["version"]): each["labels"]["status"] for each in found}

    async def run(self, program: str, *words: str) -> str:
        """What a program says about this namespace."""
        opened = (f"--kubeconfig={self.plane.kubeconfig}", f"--namespace={self.namespace}")
        process = await asyncio.create_subprocess_exec(
            str(home() / program), *words, *opened, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        told, errors = await process.communicate()
        assert process.returncode == 0, errors.decode()
        return told.decode()

    async def get(self, kind: str, name: str, api_version="v1"):
        return await self.kube.get(await find(self.kube, api_version, kind), name, self.namespace)

    async def versions(self) -> dict[tuple[str, str, str], str]:
        """The version of every object of the cluster, but for what changes by itself."""
        known = {(each.group, each.plural): each for each in await kinds(self.kube) if each.kind not in PASSING}
        listed = await asyncio.gather(*map(self._listed, known.values()))
        found = {key: version for each in listed for key, version in each.items()}
        return {key: version for key, version in found.items() if not self._others(*key)}

    async def _listed(self, resource):
        with suppress(Fault):  # a kind that cannot be listed
            of = await self.kube.marks(resource)
            return {(resource.kind, each.get("namespace", ""), each["name"]): each["resourceVersion"] for each in of}
        return {}

    def _others(self, kind: str, namespace: str, name: str) -> bool:
        """Whether it belongs to another test, which may be about to end."""
        of = name if kind == "Namespace" else namespace
        return of.startswith("helm-") and of != self.namespace

    async def drifted(self, objects):
        """What differs between each object and what an apply of it by Helm would make of it."""
        found = {}
        for each in objects:
            resource, meta = await find(self.kube, each["apiVersion"], each["kind"]), each["metadata"]
            live = await self.kube.get(resource, meta["name"], meta.get("namespace"))
            rehearsed = await self.kube.apply(resource, each, manager="helm", dry_run=True)
            if changes := drift(live, rehearsed, "helm"):
                found[each["kind"], meta["name"]] = changes
        return found

    async def until(self, holds, seconds=60.0):
        """The first truth that an asynchronous question gives."""
        async with asyncio.timeout(seconds):
            while not (found := await holds()):  # noqa: ASYNC110 - a cluster does it
                await asyncio.sleep(0.05)
            return found

    async def forget(self) -> None:
        """Delete the namespace."""
        with suppress(NotFound):
            await self.kube.delete(NAMESPACES, self.namespace)


async def with_node(kube: Kube) -> None:
    """A node on which everything has room."""
    labels = {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "kubernetes.io/hostname": "node-1"}
    node = {"metadata": {"name": "node-1", "annotations": {"kwok.x-k8s.io/node": "fake"}, "labels": labels}}
    await kube.apply(NODES, node, manager="test")
    await kube.patch(NODES, "node-1", None, {"status": {"allocatable": ROOM, "capacity": ROOM}}, subresource="status")


async def kill_worker() -> None:
    """SIGKILL for the Helm worker of this process, once it runs."""
    async with asyncio.timeout(30):
        while not (pids := _workers()):  # noqa: ASYNC110 - another process does it
            await asyncio.sleep(0.01)
    os.kill(pids[0], signal.SIGKILL)


def _workers() -> list[int]:
    children = [int(pid) for each in Path("/proc/self/task").glob("*/children") for pid in each.read_text().split()]
    return [pid for pid in children if b"services.addons.helm.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def _digest(folder: Path) -> str:
    files = sorted(each for each in folder.rglob("*") if each.is_file()) if folder.is_dir() else []
    return hashlib.sha256(msgspec.json.encode([(str(each), each.read_bytes().hex()) for each in files])).hexdigest()
