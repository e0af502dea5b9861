"""Every end comes on the running stack, whatever its work and its API do."""

import asyncio
import base64
import re
from pathlib import Path

import pytest
import yaml

from events.kube.auth import transport
from events.kube.client import Kube
from events.kube.resources import PODS, SECRETS

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]
EXAMPLE = Path(__file__).parents[2] / "deploy" / "colony.yaml"
SOON = 60.0
"""Seconds in which any of them is gone: far more than the controllers take, far less than the limits of a step."""
LONG = 'run-seconds: "86400"'
DEAF = f'{LONG}\n                    sandbox.alate.dev/stop-seconds: "86400"'


SPEC = {"containers": [{"name": "main", "image": "demo", "resources": {"limits": {"nvidia.com/gpu": 8}}}]}


def serve(replicas):
    """A Deployment, whose pods come again whenever one goes."""
    labels = {"app": "serve"}
    template = {"metadata": {"labels": labels}, "spec": SPEC}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    meta = {"name": "serve", "namespace": "default"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}


def colony(name, *, notes=LONG, work=None, **more):
    """The shipped example, whose job goes on for a day, or which does other work."""
    found = yaml.safe_load(EXAMPLE.read_text().replace('run-seconds: "4"', notes))
    found["metadata"]["name"] = name
    cluster = found["spec"]["clusters"][0]
    cluster |= {"idleAfter": "1h"} | more
    if work:
        cluster["addons"] = [{"name": "work", "manifests": yaml.safe_dump(work)}]
    return found


def written(stack, wanted):
    """A file of the Colony."""
    file = stack.cwd / f"{wanted['metadata']['name']}.yaml"
    file.write_text(yaml.safe_dump(wanted))
    return file


async def asked(stack, wanted, pods=2):
    """The Colony, once its work runs; gives the way into its cluster."""
    name = wanted["metadata"]["name"]
    done = await stack.alate("request", "-f", written(stack, wanted), "--wait")
    assert done.code == 0, done
    opened = await stack.alate("kubeconfig", name, "-f", stack.cwd / f"{name}.kubeconfig")
    assert opened.code == 0, opened
    inside = Kube(await transport(str(stack.cwd / f"{name}.kubeconfig"), f"{name}/gpu"), random=lambda: 0.5)
    try:
        await running(inside, pods)
    except BaseException:
        await inside.close()
        raise
    return inside


async def running(inside, pods):
    async with asyncio.timeout(SOON):
        while await held(inside) < pods:  # noqa: ASYNC110 - in another process
            await asyncio.sleep(0.2)


async def phases(inside):
    return [pod["status"]["phase"] for pod in (await inside.list(PODS, "default")).items]


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
    assert f"colony/{name} deleted" in done.out


async def steps(stack, name):
    """The ways of the cluster's teardown, in their order."""
    lines = (await stack.alate("events", "history", f"{name}-gpu")).out.splitlines()
    told = (line.partition(f"{name}/gpu teardown ")[2].split() for line in lines)
    return list(dict.fromkeys(words[0] for words in told if len(words) > 1))


async def the_example_deleted_while_its_job_runs_is_gone_in_a_minute(stack):
    inside = await asked(stack, colony("train"))
    await gone(stack, "train")
    await inside.close()
    assert await steps(stack, "train") == ["armed", "draining", "cleaning", "releasing", "verifying", "gone"]


async def work_that_ignores_its_end_keeps_its_machines_as_long_as_the_colony_says(stack):
    wanted = colony("deaf", notes=DEAF, drainTimeout="3s")
    inside = await asked(stack, wanted)
    await gone(stack, "deaf")
    await inside.close()


async def a_dead_api_keeps_no_machines(stack):
    inside = await asked(stack, colony("dead", drainTimeout="3s", cleanTimeout="3s"))
    await spoil(stack, "dead", lambda text: text.replace("https://127.0.0.1:", "https://127.0.0.1:9/"))
    await gone(stack, "dead")
    await inside.close()
    (row,) = [line for line in (await stack.alate("get", "clusters")).out.splitlines() if line.startswith("dead/gpu ")]
    assert " released " in row
    assert "may be left" in row


async def force_ends_at_once_what_drains_already(stack):
    inside = await asked(stack, colony("shut"))
    await spoil(stack, "shut", lambda _: "this: is: no: kubeconfig")
    assert (await stack.alate("delete", "shut")).code == 0
    async with asyncio.timeout(SOON):
        while "draining" not in await steps(stack, "shut"):  # noqa: ASYNC110 - in another process
            await asyncio.sleep(0.2)
    await gone(stack, "shut", "--force")
    await inside.close()
    assert await steps(stack, "shut") == ["armed", "draining", "releasing", "verifying", "gone"]


async def a_deployment_keeps_no_cluster_whose_time_is_over(stack):
    file = written(stack, colony("timed", work=serve(2), timeToLive="20s", warnBefore="1s"))
    assert (await stack.alate("request", "-f", file)).code == 0
    async with asyncio.timeout(SOON):
        while "gone" not in await steps(stack, "timed"):  # noqa: ASYNC110 - in another process
            await asyncio.sleep(0.2)
    history = (await stack.alate("events", "history", "timed-gpu")).out
    assert re.search(r"work +applied", history), history  # which it is when its pods run
    assert await steps(stack, "timed") == ["armed", "warned", "draining", "cleaning", "releasing", "verifying", "gone"]
    await gone(stack, "timed")


async def pods_that_find_no_node_keep_no_hibernated_cluster(stack):
    inside = await asked(stack, colony("asleep", work=serve(2)))
    asleep = await stack.alate("hibernate", "asleep/gpu", "--wait")
    assert asleep.code == 0, asleep
    async with asyncio.timeout(SOON):
        while await phases(inside) != ["Pending", "Pending"]:  # noqa: ASYNC110 - in another process
            await asyncio.sleep(0.2)
    await gone(stack, "asleep")
    await inside.close()


async def a_pod_with_a_finalizer_keeps_no_machine_once_its_work_has_ended(stack):
    inside = await asked(stack, colony("kept", work=serve(1)), pods=1)
    meta = {"name": "held", "namespace": "default", "finalizers": ["example.com/hold"]}
    await inside.create(PODS, {"metadata": meta, "spec": SPEC})
    await running(inside, 2)
    await gone(stack, "kept")
    await inside.close()
    assert await steps(stack, "kept") == ["armed", "draining", "cleaning", "releasing", "verifying", "gone"]


STORIES = (
    the_example_deleted_while_its_job_runs_is_gone_in_a_minute,
    work_that_ignores_its_end_keeps_its_machines_as_long_as_the_colony_says,
    a_dead_api_keeps_no_machines,
    force_ends_at_once_what_drains_already,
    a_deployment_keeps_no_cluster_whose_time_is_over,
    pods_that_find_no_node_keep_no_hibernated_cluster,
    a_pod_with_a_finalizer_keeps_no_machine_once_its_work_has_ended,
)


async def told(story, stack):
    """What a story fails with, under its name; None if it is true."""
    try:
        await story(stack)
    except Exception as wrong:  # noqa: BLE001 - the test fails with all of them
        wrong.add_note(f"in the story {story.__name__}")
        return wrong
    return None


async def test_every_end_comes_whatever_its_work_and_its_api_do(stack):
    """The stories wait most of their time: each has a cluster of its own, so that all are told at once."""
    wrong = [each for each in await asyncio.gather(*(told(story, stack) for story in STORIES)) if each]
    if wrong:
        raise ExceptionGroup("not every end is as it should be", wrong)
