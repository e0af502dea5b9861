"""Every question of every panel has an answer on a real Prometheus that scraped the real services at the main job."""

import asyncio
import json
import re
from pathlib import Path

import pytest

from events.bus import Message
from events.jetstream.bus import connect
from events.jetstream.credentials import NkeyCredentials
from tests.services.edge.house import RUN, SECRET
from tests.services.outbound.world import Folder
from tests.story.collector import collecting
from tests.story.prometheus import NEEDED, PROGRAM, Prometheus, scraping
from tests.story.test_edge import sent, until
from tests.story.test_trace import follow, released

pytestmark = [
    pytest.mark.stack,
    pytest.mark.slow,  # daily, the metrics of every panel are held against the reference
    pytest.mark.timeout(300),
    pytest.mark.skipif(PROGRAM is None, reason=NEEDED),
]

BOARDS = Path(__file__).parents[2] / "deploy" / "grafana" / "dashboards"
LATER = RUN | {"workflow_run": RUN["workflow_run"] | {"run_attempt": 2}}


@pytest.fixture
def receiver():
    with collecting() as receiver:
        yield receiver


async def play(stack, seen: Prometheus) -> None:
    """A cluster from a webhook to its end, told to others; and a request that nobody can follow."""
    (stack.folder / "hooks" / "github.default.ci").write_text(SECRET)
    await follow(stack)
    await publish(stack, b'{"tenant": "default"}')
    assert await sent(stack, LATER, "d-1") == 202
    await until(lambda: shown(seen, "alate_fleet_accelerators_ready"))
    await until(lambda: shown(seen, "alate_dead_letters_kept > 0"))
    assert await sent(stack, LATER | {"action": "completed"}, "d-2") == 202
    await until(lambda: released(stack))
    await until(lambda: shown(seen, 'alate_transitions_total{state="gone"}'))
    await until(lambda: shown(seen, 'alate_fleet_usd{state="released"}'))


async def publish(stack, data: bytes) -> None:
    """As a person does who forgets half of it."""
    bus = await connect(
        stack.nats, name="operator", streams=(), credentials=NkeyCredentials(nkey=stack.key("operator"))
    )
    headers = {"ce-specversion": "1.0", "ce-id": "half", "ce-source": "/me", "ce-type": "dev.alate.cluster.request"}
    await bus.publish(Message("cluster.requested", data, headers))
    await bus.close()


async def shown(seen: Prometheus, expr: str) -> bool:
    return bool(await asyncio.to_thread(seen.over_all, expr))


def asked() -> list[tuple[str, str, str]]:
    """Panel, question and legend of all dashboards, as Grafana reads them."""
    boards = [json.loads(file.read_text()) for file in sorted(BOARDS.glob("*.json"))]
    panels = [(board["title"], panel) for board in boards for panel in board["panels"]]
    return [
        (f"{title} / {panel['title']}", target["expr"].replace("$__rate_interval", "10s"), target["legendFormat"])
        for title, panel in panels
        for target in panel["targets"]
    ]


def wrong(seen: Prometheus) -> list[str]:
    """Panels without an answer, and legends that name what no series of theirs has."""
    found = []
    for panel, expr, legend in asked():
        series = seen.over_all(expr)
        named = set(re.findall(r"{{(\w+)}}", legend))
        if not series:
            found.append(f"{panel}: no data for {expr}")
        elif missing := named - set().union(*series):
            found.append(f"{panel}: no series has {', '.join(sorted(missing))}")
    return found


async def test_every_panel_shows_something_and_figures_name_the_traces_that_show_them(up, receiver, tmp_path):
    traced = {"ALATE_OTLP_ENDPOINT": receiver.url, "ALATE_TRACE_SAMPLE_RATIO": "1"}
    with up(**traced) as stack:
        folder = Folder(stack.folder / "outbound")
        folder.write({"name": "tracker", "format": "cdevents", "url": receiver.url})
        folder.secret("tracker", "of-the-test")
        health = json.loads((stack.folder / "ports.json").read_text())["health"]
        with scraping(tmp_path / "prometheus", [f"127.0.0.1:{port}" for port in health]) as seen:
            await play(stack, seen)
            assert await asyncio.to_thread(wrong, seen) == []
            groups = seen.get("rules")["groups"]
            examples = await asyncio.to_thread(seen.examples, "alate_delivery_duration_seconds_bucket")
    assert {rule["health"] for group in groups for rule in group["rules"]} == {"ok"}
    assert len(asked()) >= 30
    (root,) = [span for span in receiver.spans.values() if span.message == "d-1"]
    assert root.trace in {example["trace_id"] for example in examples}
