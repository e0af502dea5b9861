"""A command loads what it uses and nothing else, so that it starts in a fraction of a second."""

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"aiohttp", "kubernetes_asyncio", "pydantic", "rich", "structlog", "opentelemetry", "urllib3"}
"""Each of these costs a short command 0.05 to 0.2 s."""
RUN = """
import sys
import events.jetstream.bus
from events.bus import Unavailable
from services.cli import main

async def nobody(url, **_):
    raise Unavailable("it would wait for seconds")

events.jetstream.bus.connect = nobody
try:
    main()
except SystemExit:
    pass
print(*sys.modules)
"""
NOWHERE = ("--nats", "nats://127.0.0.1:9")
KUBECONFIG = """
current-context: c
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: {server: "http://127.0.0.1:9"}}]
users: [{name: u, user: {token: t}}]
"""


def heavy(cwd: Path, *words: str) -> set[str]:
    """What a command has loaded when it finds that no server answers."""
    done = subprocess.run((sys.executable, "-c", RUN, *words), capture_output=True, text=True, cwd=cwd, check=True)
    assert "127.0.0.1:9" in done.stderr
    return HEAVY & set(done.stdout.split())


@pytest.mark.parametrize(
    "command",
    [
        "get clusters",
        "get offers --accelerator H100 --max-price 3",
        "explain train/main",
        "events history train/main",
        "events stats",
        "events get EVENTS/4",
        "events replay teardown-events",
        "events dlq ls",
        "events dlq redrive DLQ/1",
    ],
)
def test_a_command_that_reads_the_bus_loads_no_client_of_kubernetes_and_no_model(tmp_path, command):
    assert heavy(tmp_path, *command.split(), *NOWHERE) == set()


@pytest.mark.parametrize(
    "command", ["get", "extend train/main 9h", "scale train/main gpu=2", "delete train --wait", "kubeconfig train"]
)
def test_a_command_that_reads_the_management_cluster_loads_a_client_of_http_alone(tmp_path, command):
    (tmp_path / "kubeconfig").write_text(KUBECONFIG)
    assert heavy(tmp_path, *command.split(), "--kubeconfig", "kubeconfig") == {"aiohttp"}


def test_only_a_request_loads_the_models_of_a_colony(tmp_path):
    (tmp_path / "kubeconfig").write_text(KUBECONFIG)
    assert heavy(tmp_path, "request", "train", "--kubeconfig", "kubeconfig") == {"aiohttp", "pydantic"}
