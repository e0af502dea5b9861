"""The running stack that is attacked: two tenants, their objects, and what its processes are and hold."""

import asyncio
import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from events.errors import Fault, NotFound
from events.kube.client import Kube, Object
from events.kube.resources import CLUSTERTEMPLATES, COLONIES, CONFIGMAPS, NAMESPACES, SECRETS
from tests.services.edge.house import SECRET, github
from tests.story.conftest import Stack

VICTIM, HOSTILE = "default", "hostile"
POOL = {"name": "gpu", "accelerator": "H100", "acceleratorsPerNode": 8, "nodes": 1}


def colony(name: str, tenant: str, **cluster: object) -> Object:
    spec = {"clusters": [{"name": "gpu", "pools": [POOL], **cluster}]}
    return {
        "apiVersion": COLONIES.api_version,
        "kind": COLONIES.kind,
        "metadata": {"name": name, "namespace": tenant},
        "spec": spec,
    }


@dataclass
class Field:
    """What attackers and their victim work on."""

    stack: Stack
    kube: Kube
    session: aiohttp.ClientSession
    apis: Mapping[str, str]
    """The attacker's own API servers."""
    tries: dict[str, int] = field(default_factory=dict)
    """Attacks that were made, by name."""

    def tried(self, name: str) -> None:
        self.tries[name] = self.tries.get(name, 0) + 1

    @property
    def port(self) -> int:
        return int(self.stack.hooks.removesuffix("/hooks").rpartition(":")[2])

    async def prepare(self) -> None:
        """The tenants' namespace and endpoints."""
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOSTILE}}
        await self.kube.apply(NAMESPACES, space, manager="attack")
        for kind in (CONFIGMAPS, CLUSTERTEMPLATES):
            for each in (await self.kube.list(kind, VICTIM)).items:
                await self.kube.apply(kind, _moved(each), manager="attack")
        for tenant in (VICTIM, HOSTILE):
            (self.stack.folder / "hooks" / f"github.{tenant}.t").write_text(SECRET)

    async def hook(self, tenant: str, body: Object, secret: str = SECRET) -> int:
        data = json.dumps(body).encode()
        headers = github(data, secret, delivery=f"{tenant}-{body['id']}")
        async with self.session.post(f"{self.stack.hooks}/github/{tenant}/t", data=data, headers=headers) as got:
            return got.status

    async def ready(self, name: str, tenant: str) -> bool:
        return (await self.kube.get(COLONIES, name, tenant)).get("status", {}).get("phase") == "Ready"

    async def gone(self, name: str, tenant: str) -> bool:
        try:
            await self.kube.get(COLONIES, name, tenant)
        except NotFound:
            return True
        return False

    async def kubeconfig(self, name: str, tenant: str) -> str:
        """The text in a Secret; empty: there is none."""
        try:
            secret = await self.kube.get(SECRETS, name, tenant)
        except Fault:
            return ""
        return b64decode(secret.get("data", {}).get("value", "")).decode(errors="replace")

    async def write_kubeconfig(self, name: str, tenant: str, value: bytes) -> None:
        await self.kube.patch(SECRETS, name, tenant, {"data": {"value": b64encode(value).decode()}}, manager="attack")

    def processes(self) -> dict[str, int]:
        """The stack's own, by what they run; evaluators are there to be ended."""
        found = {}
        for pid in _below(self.stack.process.pid):
            words = _words(pid)
            if words and not words[-1].endswith((".evaluator", ".template_filler")):
                found[" ".join(words[-2:])] = pid
        return found

    def resident(self) -> dict[str, float]:
        """Resident memory of each, in MiB."""
        return {name: _resident(pid) for name, pid in self.processes().items()}


def _moved(item: Object) -> Object:
    """The same in the attacker's namespace."""
    kept = {name: item["metadata"][name] for name in ("name", "labels", "annotations") if name in item["metadata"]}
    return {name: value for name, value in item.items() if name != "status"} | {
        "metadata": {**kept, "namespace": HOSTILE}
    }


def _below(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:  # it has ended since
            continue
        children.setdefault(parent, []).append(int(stat.parent.name))
    found, left = [], children.get(pid, [])
    while left:
        one = left.pop()
        found.append(one)
        left += children.get(one, [])
    return found


def _words(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")[:-1]
    except OSError:
        return []


def _resident(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/status").read_text().split("VmRSS:")[1].split()[0]) / 1024
    except (OSError, IndexError):
        return 0.0


async def until(true, within: float) -> None:
    """Raises TimeoutError."""
    async with asyncio.timeout(within):
        while not await true():  # noqa: ASYNC110 - other processes have no event to wait for
            await asyncio.sleep(0.1)
