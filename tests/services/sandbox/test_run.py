"""The sandbox as its own process: it serves, dies, comes back as the same, and leaves cleanly."""

import asyncio
import base64
import os
import signal
import sys
from contextlib import asynccontextmanager, suppress
from string import Template

import pytest
import yaml

from events.errors import Denied, TryLater
from events.jetstream.server import free_port
from events.kube.auth import TRUSTED, transport, transport_of
from events.kube.client import Kube
from events.kube.discovery import find
from events.kube.resources import CLUSTERS, CONFIGMAPS, JOBS, NODES, SECRETS
from services.sandbox.clouds.model.billing import machines_ever

pytestmark = pytest.mark.stack

# Before 3.14 pytest-asyncio's look at "the loop before" makes one that nobody closes; None says there is none.
asyncio.set_event_loop(None)

VALUES = {
    "CLUSTER_NAME": "c", "NAMESPACE": "default", "KUBERNETES_VERSION": "v1.34.0", "REGION": "us-east-1",
    "ZONE": "use1-az5", "POOL": "gpu", "REPLICAS": "2", "INSTANCE_TYPE": "p5.48xlarge", "SPOT": "true",
    "NODE_LABELS": "alate.dev/pool=gpu", "NODE_TAINTS": "[]",
}  # fmt: skip
JOB = {
    "metadata": {"name": "train", "namespace": "default"},
    "spec": {
        "parallelism": 2,
        "completions": 2,
        "template": {
            "spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "main", "image": "x", "resources": {"limits": {"nvidia.com/gpu": 8}}}],
            }
        },
    },
}


async def soon(true, seconds=60.0):
    """Ask until it is so; its answer. What was killed may take a while, and a connection to it may end late."""
    async with asyncio.timeout(seconds):
        while True:
            with suppress(TryLater):
                if found := await true():
                    return found
            await asyncio.sleep(0.02)


class Process:
    """One sandbox; started again it is the same."""

    def __init__(self, nats, folder, speed):
        self._env = os.environ | {
            "ALATE_NATS_URL": nats.url,
            "ALATE_SANDBOX_PORT": str(free_port()),
            "ALATE_SANDBOX_STATE_DIR": str(folder / "state"),
            "ALATE_SANDBOX_KUBECONFIG": str(folder / "kubeconfig"),
            "ALATE_SANDBOX_SPEED": speed,
        }
        self.kubeconfig = folder / "kubeconfig"
        self._log = folder / "log"
        self.process = None
        self.kube = None

    async def start(self):
        with self._log.open("ab") as log:
            argv = (sys.executable, "-m", "services", "sandbox")
            self.process = await asyncio.create_subprocess_exec(*argv, env=self._env, stdout=log, stderr=log)
        await soon(self._serves)

    async def move(self):
        """Start again, at another port."""
        self._env |= {"ALATE_SANDBOX_PORT": str(free_port())}
        self.kubeconfig.unlink()
        await self.kube.close()
        self.kube = None
        await self.start()

    async def _serves(self):
        assert self.process.returncode is None, self._log.read_text()
        if not self.kubeconfig.exists():
            return False
        if self.kube is None:
            self.kube = Kube(await transport(str(self.kubeconfig), None), random=lambda: 0.5)
        return await self.kube.read("/version")

    async def end(self, how):
        self.process.send_signal(how)
        return await self.process.wait()

    async def close(self):
        if self.process.returncode is None:
            await self.end(signal.SIGKILL)
        if self.kube is not None:
            await self.kube.close()

    async def available(self):
        found = await self.kube.get(CLUSTERS, "c", "default")
        told = {one["type"]: one["status"] for one in found.get("status", {}).get("conditions", ())}
        return told.get("Available") == "True"

    async def apply(self):
        text = (await self.kube.get(CONFIGMAPS, "alate-capi-aws", "default"))["data"]["cluster.yaml"]
        for document in yaml.safe_load_all(Template(text).substitute(VALUES)):
            await self.kube.create(await find(self.kube, document["apiVersion"], document["kind"]), document)

    async def opened(self):
        secret = await self.kube.get(SECRETS, "c-kubeconfig", "default")
        text = base64.b64decode(secret["data"]["value"]).decode()
        return Kube(await transport_of(text, allowed=TRUSTED), random=lambda: 0.5), text


@asynccontextmanager
async def sandbox(nats, folder, speed):
    process = Process(nats, folder, speed)
    try:
        await process.start()
        yield process
    finally:
        await process.close()


async def test_at_another_port_every_founded_cluster_is_opened_by_its_kubeconfig(nats_server, tmp_path):
    async with sandbox(nats_server, tmp_path, "0") as it:
        await it.apply()
        await soon(it.available)
        await it.end(signal.SIGKILL)
        await it.move()
        inner, _ = await it.opened()
        assert (await inner.list(NODES)).items
        await inner.close()


async def test_a_cluster_and_its_job_survive_kill_dash_nine(nats_server, tmp_path):
    async with sandbox(nats_server, tmp_path, "0.3") as it:
        assert oct(it.kubeconfig.stat().st_mode & 0o777) == "0o600"
        before = it.kubeconfig.read_text()
        await it.apply()
        await asyncio.sleep(0.3)  # somewhere in the middle of founding
        await it.end(signal.SIGKILL)
        await it.start()
        assert it.kubeconfig.read_text() == before
        await soon(it.available)
        inner, _ = await it.opened()
        await soon(lambda: founded(inner))
        await inner.create(JOBS, JOB)
        await it.end(signal.SIGKILL)
        await it.start()

        async def complete():
            found = await inner.get(JOBS, "train", "default")
            return "Complete" in [one["type"] for one in found.get("status", {}).get("conditions", ())]

        await soon(complete)
        await it.kube.delete(CLUSTERS, "c", "default")
        await soon(lambda: gone(it.kube))
        assert [one.end is not None for one in await machines_ever(it.kube)] == [True] * 3
        await inner.close()
        assert await it.end(signal.SIGTERM) == 0


async def founded(inner):
    """Available alone says nothing of workers: before their MachineDeployment comes there are none."""
    return len((await inner.list(NODES)).items) == 3


async def gone(kube):
    return not (await kube.list(CLUSTERS)).items


async def test_each_cluster_opens_with_its_own_token_only(nats_server, tmp_path):
    async with sandbox(nats_server, tmp_path, "0") as it:
        await it.apply()
        await soon(it.available)
        inner, text = await it.opened()
        await soon(lambda: founded(inner))
        config = yaml.safe_load(text)
        config["users"][0]["user"]["token"] = yaml.safe_load(it.kubeconfig.read_text())["users"][0]["user"]["token"]
        stranger = Kube(await transport_of(yaml.safe_dump(config), allowed=TRUSTED), random=lambda: 0.5)
        with pytest.raises(Denied, match="Unauthorized"):
            await stranger.list(NODES)
        await inner.close()
        await stranger.close()


async def test_a_busy_port_is_one_sentence(nats_server, tmp_path):
    async with sandbox(nats_server, tmp_path, "0") as it:
        argv = (sys.executable, "-m", "services", "sandbox")
        second = await asyncio.create_subprocess_exec(*argv, env=it._env, stderr=asyncio.subprocess.PIPE)
        _, said = await second.communicate()
        assert second.returncode == 1
        last = said.decode().strip().splitlines()[-1]
        assert "address already in use" in last
        assert "Traceback" not in said.decode()
