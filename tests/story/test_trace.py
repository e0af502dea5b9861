"""A cluster that a signed webhook asks for is one trace, from the delivery to the last transition, and one lineage.

Every day `tests/events/test_telemetry.py` shows it of each step, and `tests/story/test_events.py` shows a lineage.
"""

from collections.abc import Iterator
from random import random

import pytest
import yaml

from events.kube.auth import transport
from events.kube.client import Kube
from events.kube.resources import TRIGGERS
from events.streams import HOOK
from tests.services.edge.house import RUN, SECRET
from tests.story.collector import Collector, collecting
from tests.story.test_edge import TRIGGER, accepted, sent, until

pytestmark = [pytest.mark.stack, pytest.mark.slow, pytest.mark.timeout(300)]

NOTE = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: note\ndata:\n  a: b\n"
LIVES = "${data.workflow_run.run_attempt == 1 ? '2s' : '6h'}"
OWN_END, TOLD_END = "ci-4711-1-gpu", "ci-4711-2-gpu"
WISH = "observed.wish.{tenant}.{cluster}"


async def follow(stack) -> None:
    """The shipped Trigger, for a run of a few seconds, with an add-on."""
    (written,) = yaml.safe_load_all(TRIGGER.read_text())
    written["metadata"]["namespace"] = "default"
    (cluster,) = written["spec"]["rules"][0]["colony"]["clusters"]
    cluster |= {"timeToLive": LIVES, "warnBefore": "1s", "addons": [{"name": "note", "manifests": NOTE}]}
    kube = Kube(await transport(str(stack.kubeconfig)), random=random)
    try:
        await kube.apply(TRIGGERS, written, manager="kubectl")
        await until(lambda: accepted(kube))
    finally:
        await kube.close()


def told(item: dict, cause: str = "") -> Iterator[tuple[str, str]]:
    """Every message of a lineage with the one that led to it, by their ids."""
    yield item["id"], cause
    for effect in item["effects"]:
        yield from told(effect, item["id"])


def seen(collector: Collector, trace: str, kept: set[str]) -> Iterator[tuple[str, str]]:
    """Every message of a trace with the one that led to it, without those that nobody keeps."""
    for span in collector.of(trace):
        if span.message in kept and not span.failed:
            yield span.message, next((each.message for each in collector.above(span) if each.message in kept), "")


async def lineage(stack, delivery: str) -> dict:
    """The tree, as `alate events lineage` tells it."""
    (tree,) = (await stack.alate("events", "lineage", delivery, "-o", "json")).json["trees"]
    return tree


async def over(stack) -> bool:
    return f"teardown.gone.default.{OWN_END}" in (await stack.alate("events", "lineage", "d-1")).out


async def ready(stack) -> bool:
    return f"teardown.armed.default.{TOLD_END}" in (await stack.alate("events", "lineage", "d-2")).out


async def play(stack) -> None:
    """One run whose cluster ends by itself, and one whose end is told by a third delivery."""
    (stack.folder / "hooks" / "github.default.ci").write_text(SECRET)
    await follow(stack)
    again = RUN | {"workflow_run": RUN["workflow_run"] | {"run_attempt": 2}}
    assert await sent(stack, RUN, "d-1") == 202
    assert await sent(stack, again, "d-2") == 202
    await until(lambda: ready(stack))
    assert await sent(stack, again | {"action": "completed"}, "d-3") == 202
    await until(lambda: over(stack))
    await until(lambda: released(stack))


async def released(stack) -> bool:
    return (await stack.alate("get", "colony", "ci-4711-2")).code == 1


def assert_linked(collector: Collector, begun: list[tuple[str, str]], end: dict) -> None:
    """What lets a cluster go is in a trace and a tree of its own; both are linked to where that cluster's go on."""
    (release,) = end["effects"]
    assert set(release["ends"]) <= {name for name, _ in begun}
    first, last = ([span for span in collector.spans.values() if span.message == name] for name in ("d-2", "d-3"))
    links = {link for span in collector.of(first[0].trace) for link in span.links}
    assert links & {span.id for span in collector.of(last[0].trace)}


async def test_the_trace_of_a_signed_webhook_is_the_tree_of_its_lineage(up):
    with collecting() as collector:
        with up(ALATE_OTLP_ENDPOINT=collector.url, ALATE_TRACE_SAMPLE_RATIO="1") as stack:
            await play(stack)
            trees = {delivery: list(told(await lineage(stack, delivery))) for delivery in ("d-1", "d-2")}
            end = await lineage(stack, "d-3")
        assert_linked(collector, trees["d-2"], end)
        for delivery, pairs in trees.items():
            (root,) = [span for span in collector.spans.values() if span.message == delivery]
            kept = {name for name, _ in pairs}
            assert {name.partition(".")[0] for name in kept} >= {"cluster", "addon", "teardown"}
            assert sorted(seen(collector, root.trace, kept)) == sorted(pairs)
            names = {span.name for span in collector.of(root.trace)}
            links = {link for span in collector.of(root.trace) for link in span.links}
            assert links & set(collector.spans)  # what back ends and the inventory saw
            assert {f"process {HOOK}", f"send {HOOK}", "process cluster.requested.{tenant}", f"send {WISH}"} <= names
