"""Whether there is a Docker engine is asked once, so that a story without one skips and says so in one sentence."""

import os
from contextlib import closing
from socket import AF_UNIX, socket

import docker
from docker.errors import DockerException

HERE = "unix:///var/run/docker.sock"
PATIENCE = 5
"""Seconds an engine may take to answer."""


def absent() -> str:
    """Why no container can be started here; nothing if an engine answers."""
    url = os.environ.get("DOCKER_HOST") or HERE
    try:
        if url.startswith("unix://"):
            _knock(url.removeprefix("unix://"))
        with closing(docker.DockerClient(url, timeout=PATIENCE)) as engine:
            engine.ping()
    except (OSError, DockerException) as error:
        return f"no Docker engine answers at {url} ({error}): start one, or name it with DOCKER_HOST"
    return ""


def _knock(path: str) -> None:
    """See that somebody listens: docker's own client (7.2.0) leaves its socket open where nobody does."""
    with socket(AF_UNIX) as door:
        door.settimeout(PATIENCE)
        door.connect(path)
