"""Plays the Pods of rendered Deployments: processes with exactly the arguments, settings and files written there.

What a Pod has to itself is a folder and a port of this machine here: its network, its file system, its account.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp

from tests.kube.process import free_ports

Files = Mapping[str, Mapping[str, bytes]]
"""What Secrets and ConfigMaps hold, by their names."""
STARTED = 90.0
"""Seconds in which a Pod must be ready."""


class PlayedPod(NamedTuple):
    """One running Pod."""

    name: str
    service: str
    process: asyncio.subprocess.Process
    ready_url: str

    def stop(self) -> None:
        """Stop it, as a machine that stands still."""
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it go on."""
        self.process.send_signal(signal.SIGCONT)

    async def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        await self.process.wait()


@asynccontextmanager
async def playing(
    objects: Mapping[tuple[str, str], Any], folder: Path, files: Files, account: Path
) -> AsyncIterator[dict[str, PlayedPod]]:
    """Every Pod of every Deployment, by name, until the block ends; `account` opens the API server for all."""
    running: dict[str, PlayedPod] = {}
    try:
        for name, pod in _pods(objects):
            running[name] = await _start(name, pod, folder / name, files, account)
        async with aiohttp.ClientSession() as session:
            for each in running.values():
                await _until_ready(session, each)
        yield running
    finally:
        for each in running.values():
            with suppress(ProcessLookupError):
                each.go_on()
                each.process.terminate()
        for each in running.values():
            with suppress(TimeoutError):
                await asyncio.wait_for(each.process.wait(), 15)
            with suppress(ProcessLookupError):
                each.process.kill()


def _pods(objects: Mapping[tuple[str, str], Any]) -> Iterator[tuple[str, Any]]:
    for (kind, name), each in objects.items():
        if kind == "Deployment":
            for number in range(each["spec"]["replicas"]):
                yield f"{name}-{number}", each["spec"]["template"]["spec"]


async def _start(name: str, pod: Any, folder: Path, files: Files, account: Path) -> PlayedPod:
    (container,) = pod["containers"]
    places = _mounted(pod, container, folder, files)
    env = {each["name"]: _value(each, name) for each in container["env"]}
    env = {key: _here(value, places) for key, value in env.items()}
    ports = {str(each["containerPort"]): port for each, port in zip(container["ports"], free_ports(2), strict=False)}
    for key in ("ALATE_HEALTH_ADDRESS", "ALATE_EDGE_ADDRESS"):
        if key in env:
            env[key] = f"127.0.0.1:{ports[env[key].rpartition(':')[2]]}"
    env |= {"ALATE_KUBECONFIG": str(account), "PATH": os.environ["PATH"], "TMPDIR": str(folder / "tmp")}
    env["ALATE_CLUSTERS_ALLOW"] = "private,loopback"  # the founded clusters are on this machine
    with (folder / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "services", *container["args"], env=env, cwd=folder, stdout=log, stderr=log
        )
    probe = container["readinessProbe"]["httpGet"]
    port = next(ports[str(each["containerPort"])] for each in container["ports"] if each["name"] == probe["port"])
    return PlayedPod(name, container["args"][0], process, f"http://127.0.0.1:{port}{probe['path']}")


def _value(variable: Any, pod: str) -> str:
    if "value" in variable:
        return str(variable["value"])
    assert variable["valueFrom"] == {"fieldRef": {"fieldPath": "metadata.name"}}
    return pod


def _mounted(pod: Any, container: Any, folder: Path, files: Files) -> dict[str, Path]:
    """Where each mount is on this machine, with what its volume holds."""
    volumes, places = {each["name"]: each for each in pod["volumes"]}, {}
    for mount in container["volumeMounts"]:
        here = places[mount["mountPath"]] = folder / mount["name"]
        here.mkdir(parents=True)
        volume = volumes[mount["name"]]
        source = volume.get("secret") or volume.get("configMap")
        if source is not None:
            held = files[source.get("secretName") or source["name"]]
            items = source.get("items") or [{"key": key, "path": key} for key in held]
            for each in items:
                (here / each["path"]).write_bytes(held[each["key"]])
                (here / each["path"]).chmod(0o600)
    return places


def _here(value: str, places: Mapping[str, Path]) -> str:
    for path, here in places.items():
        if value == path or value.startswith(f"{path}/"):
            return f"{here}{value[len(path) :]}"
    return value


async def _until_ready(session: aiohttp.ClientSession, pod: PlayedPod) -> None:
    async with asyncio.timeout(STARTED):
        while True:
            if pod.process.returncode is not None:
                raise AssertionError(json.dumps([pod.name, pod.process.returncode]))
            with suppress(aiohttp.ClientError):
                async with session.get(pod.ready_url) as answer:
                    if answer.status == 200:
                        return
            await asyncio.sleep(0.2)
