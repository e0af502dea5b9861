"""Every end comes on the running stack, whatever its work and its API do."""

import asyncio
import base64
from pathlib import Path

import pytest
import yaml

from events.kinds import PODS, SECRETS
from events.kube import Kube
from events.kube_config import transport

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]
EXAMPLE = Path(__file__).parents[2] / "deploy" / "colony.yaml"
SOON = 60.0
"""Seconds in which any of them is gone: far more than the controllers take, far less than the limits of a step."""
LONG = 'run-seconds: "86400"'
DEAF = f'{LONG}\n                    sandbox.alate.dev/stop-seconds: "86400"'


def colony(name, *, notes=LONG, **more):
    """The shipped example, whose job goes on for a day."""
    found = yaml.safe_load(EXAMPLE.read_text().replace('run-seconds: "4"', notes))
    found["metadata"]["name"] = name
    found["spec"]["clusters"][0] |= {"idleAfter": "1h"} | more
    return found


async def asked(stack, wanted):
    """The Colony, once its job runs; gives the way into its cluster."""
    name = wanted["metadata"]["name"]
    file = stack.cwd / f"{name}.yaml"
    file.write_text(yaml.safe_dump(wanted))
    done = await stack.alate("request", "-f", file, "--wait")
    assert done.code == 0, done
    opened = await stack.alate("kubeconfig", name, "-f", stack.cwd / f"{name}.kubeconfig")
    assert opened.code == 0, opened
    inside = Kube(await transport(str(stack.cwd / f"{name}.kubeconfig"), f"{name}/gpu"), random=lambda: 0.5)
    async with asyncio.timeout(SOON):
        while await held(inside) < 2:  # noqa: ASYNC110 - in another process
            await asyncio.sleep(0.2)
    return inside


async def held(inside):
    pods = (await inside.list(PODS, "default")).items
    return sum(bool(pod["spec"].get("nodeName")) and pod["status"].get("phase") == "Running" for pod in pods)


async def spoil(stack, name, text):
    """Nobody gets into the cluster any more."""
    management = Kube(await transport(str(stack.kubeconfig)), random=lambda: 0.5)
    try:
        held = await management.get(SECRETS, f"{name}-gpu-1-kubeconfig", "default")
        before = base64.b64decode(held["data"]["value"]).decode()
        said = base64.b64encode(text(before).encode()).decode()
        await management.patch(SECRETS, held["metadata"]["name"], "default", {"data": {"value": said}})
    finally:
        await management.close()


async def gone(stack, name, *how):
    done = await stack.alate("delete", name, *how, "--wait", within=SOON)
    assert done.code == 0, done
    assert f"colony/{name} is gone" in done.out


async def steps(stack, name):
    """The ways of the cluster's teardown, in their order."""
    lines = (await stack.alate("events", "history", f"{name}-gpu")).out.splitlines()
    told = (line.split() for line in lines if f"teardown/{name}-gpu " in line)
    return list(dict.fromkeys(words[3] for words in told if len(words) > 3))


async def test_the_example_deleted_while_its_job_runs_is_gone_in_a_minute(stack):
    inside = await asked(stack, colony("train"))
    await gone(stack, "train")
    await inside.close()
    assert await steps(stack, "train") == ["armed", "draining", "cleaning", "releasing", "verifying", "gone"]


async def test_work_that_ignores_its_end_keeps_its_machines_as_long_as_the_colony_says(stack):
    wanted = colony("deaf", notes=DEAF, drainTimeout="3s")
    inside = await asked(stack, wanted)
    await gone(stack, "deaf")
    await inside.close()


async def test_a_dead_api_keeps_no_machines(stack):
    inside = await asked(stack, colony("dead", drainTimeout="3s", cleanTimeout="3s"))
    await spoil(stack, "dead", lambda text: text.replace("https://127.0.0.1:", "https://127.0.0.1:9/"))
    await gone(stack, "dead")
    await inside.close()
    (row,) = [line for line in (await stack.alate("get", "clusters")).out.splitlines() if line.startswith("dead-gpu ")]
    assert " released " in row
    assert "may be left" in row


async def test_force_ends_at_once_what_drains_already(stack):
    inside = await asked(stack, colony("shut"))
    await spoil(stack, "shut", lambda _: "this: is: no: kubeconfig")
    assert (await stack.alate("delete", "shut")).code == 0
    async with asyncio.timeout(SOON):
        while "draining" not in await steps(stack, "shut"):  # noqa: ASYNC110 - in another process
            await asyncio.sleep(0.2)
    await gone(stack, "shut", "--force")
    await inside.close()
    assert await steps(stack, "shut") == ["armed", "draining", "releasing", "verifying", "gone"]
