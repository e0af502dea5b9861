"""Draws a shipped Grafana dashboard from its own file, with what a real Prometheus answers on the real services."""

import asyncio
import json
import math
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import random
from typing import Any

from playwright.async_api import Browser

from events.kube.auth import transport
from events.kube.client import Kube, Object
from events.kube.resources import COLONIES
from tests.pictures.afternoon import METRICS, colony, job
from tests.story.conftest import Stack, running
from tests.story.prometheus import Prometheus, scraping

ROOT = Path(__file__).parents[2]
BOARDS = ROOT / "deploy" / "grafana" / "dashboards"
DRAWN = {"dashboard-fleet": BOARDS / "alate-fleet.json"}
"""Each picture, and the dashboard it shows."""
TEMPLATE = Path(__file__).with_name("dashboard.html")
UPLOT = ROOT / "services" / "edge" / "page" / "static" / "vendor"
WIDTH = 1280
LONGEST = 40
"""Characters of a series' name that are shown."""
SETTINGS = {"ALATE_SANDBOX_SPEED": "1.5"}
TYPES = {"timeseries"}
UNITS = {"short", "s", "reqps", "currencyUSD"}
DEFAULTS = {"custom", "min", "unit"}
CUSTOM = {"fillOpacity", "showPoints"}
"""What the template can draw: types, units and settings of fields."""

PLAN: tuple[tuple[float, str, Object | None], ...] = (
    (2, "llama-finetune", colony("llama-finetune", 4, "H100", METRICS, job(4, 50 / 3600))),
    (10, "embeddings", colony("embeddings", 2, "A100-80GB", METRICS, job(1, 1.0))),
    (20, "serve-eu", colony("serve-eu", 2, "H100", METRICS, residency=["EU"])),
    (32, "rlhf", colony("rlhf", 3, "H200", METRICS, job(2, 1.0))),
    (48, "eval-nightly", colony("eval-nightly", 1, "L4", METRICS)),
    (62, "embeddings", None),
    (75, "llama-finetune", None),
    (95, "", None),
)
"""When, in seconds, somebody asks for which Colony, or deletes it; the last is the end."""


def undrawable(board: Mapping[str, Any]) -> list[str]:
    """What a dashboard's panels have that the template cannot draw."""
    found = []
    for panel in board["panels"]:
        fields = panel["fieldConfig"]["defaults"]
        more = {*fields} - DEFAULTS | {*fields["custom"]} - CUSTOM | {panel["type"]} - TYPES | {fields["unit"]} - UNITS
        found += [f"{panel['title']}: {each}" for each in sorted(more)]
        found += [f"{panel['title']}: overrides"] if panel["fieldConfig"].get("overrides") else []
    return found


def drawing(board: Mapping[str, Any], seen: Prometheus, end: float) -> dict[str, Any]:
    """What the template needs: panels, and what Prometheus answers to each."""
    return {
        "title": board["title"],
        "panels": [{"panel": _shape(each), "answer": _answer(each["targets"], seen, end)} for each in board["panels"]],
    }


def _shape(panel: Mapping[str, Any]) -> dict[str, Any]:
    fields = panel["fieldConfig"]["defaults"]
    shape = {name: panel[name] for name in ("type", "title")} | {name: fields.get(name) for name in ("unit", "min")}
    return shape | {"grid": panel["gridPos"], "fill": fields["custom"].get("fillOpacity", 0)}


def _answer(targets: Sequence[Mapping[str, Any]], seen: Prometheus, end: float) -> dict[str, Any]:
    times = [float(second) for second in range(math.ceil(seen.began), int(end))]
    names, series = [], []
    for target in targets:
        expr = target["expr"].replace("$__rate_interval", "10s")
        for one in seen.get("query_range", query=expr, start=times[0], end=times[-1], step=1)["result"]:
            values = {float(at): float(value) for at, value in one["values"]}
            known = (values.get(at, math.nan) for at in times)
            names.append(_name(target["legendFormat"], one["metric"]))
            series.append([None if math.isnan(value) else value for value in known])
    return {"times": times, "names": names, "series": series}


def _name(legend: str, labels: Mapping[str, str]) -> str:
    named = re.sub(r"{{(\w+)}}", lambda part: labels.get(part[1], ""), legend)
    return named if len(named) <= LONGEST else f"{named[: LONGEST - 1]}…"


async def take(browser: Browser, folder: Path, scratch: Path) -> None:
    """Run the services and Prometheus for a minute and a half, and draw what they show."""
    with running(scratch, **SETTINGS) as stack:
        health = json.loads((stack.folder / "ports.json").read_text())["health"]
        with scraping(scratch / "prometheus", [f"127.0.0.1:{port}" for port in health]) as seen:
            await _play(stack)
            for name, file in DRAWN.items():
                found = drawing(json.loads(file.read_text()), seen, time.time())
                await _draw(browser, found, folder / f"{name}.png")


async def _play(stack: Stack) -> None:
    kube, began = Kube(await transport(str(stack.kubeconfig)), random=random), time.monotonic()
    try:
        for at, name, asked in PLAN:
            await asyncio.sleep(began + at - time.monotonic())
            if asked:
                await kube.apply(COLONIES, asked, manager="kubectl")
            elif name:
                await kube.delete(COLONIES, name, "default")
    finally:
        await kube.close()


async def _draw(browser: Browser, found: Mapping[str, Any], file: Path) -> None:
    window = await browser.new_page(viewport={"width": WIDTH, "height": 400})
    await window.set_content(TEMPLATE.read_text())
    await window.add_style_tag(path=UPLOT / "uPlot.min.css")
    await window.add_script_tag(path=UPLOT / "uPlot.iife.min.js")
    await window.evaluate("found => draw(found)", dict(found))
    await window.screenshot(path=file, full_page=True)
    await window.close()
