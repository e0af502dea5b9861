"""The live display, as a pure function of the story and the time."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta

from rich.console import Console
from rich.live import Live
from rich.panel import Panel
from rich.table import Table

from schemas.cluster import ClusterState, Placed
from schemas.entity import State
from schemas.subjects import Key
from schemas.teardown import TeardownState, Warned
from services.cli.demo.audit import TERMINAL
from services.cli.demo.story import Story, event_of, spans
from services.cli.demo.words import bought, price, usage, words
from services.cli.get.labels import label

FRAME = 0.1
"""Seconds between two drawings."""
BoardRow = tuple[str, str]


def rows(story: Story, now: datetime) -> list[BoardRow]:
    """Title and text of each line, cluster by cluster."""
    market = sum(map(len, story.offers.values()))
    clouds = sorted({cloud for cloud, _ in story.offers})
    head: list[BoardRow] = [("market", f"{market} offers of {', '.join(clouds)}")] if market else []
    clusters = [key for key in story.states if key.domain == "cluster"]
    return head + [row for key in clusters for row in _cluster(story, key, now)]


def _cluster(story: Story, key: Key, now: datetime) -> Iterator[BoardRow]:
    states = story.states[key]
    newest = states[-1]
    name = label(newest.wish.colony, key.name) if isinstance(newest, ClusterState) else key.name
    yield "cluster", f"{name}  {_path(states, now)}"
    placed = next((state for state in reversed(states) if isinstance(state, Placed)), None)
    if placed is not None:
        yield "offer", f"{bought(placed.attempt)} for {price(placed)}"
    yield from _inside(story, key, newest, now)
    ending = story.states.get(Key("teardown", key.tenant, key.name), [])
    if ending:
        yield "end", f"{_path(ending, now)}  {_countdown(story, ending[-1], now)}".rstrip()


def _inside(story: Story, key: Key, state: State, now: datetime) -> Iterator[BoardRow]:
    nodes = [node for (cluster, _), node in story.nodes.items() if cluster == key.name and node.present]
    if nodes and isinstance(state, Placed):
        need = state.wish.need
        gpus = sum(node.accelerators for node in nodes if node.ready)
        ready = sum(node.ready for node in nodes if node.accelerators)
        yield "nodes", f"{_bar(ready, need.nodes)} nodes   {_bar(gpus, need.accelerators)} GPUs"
    addons = [(k.name.partition(".")[2], s[-1]) for k, s in story.states.items() if _on(k, key)]
    if addons:
        yield "add-ons", "   ".join(f"{name} {event_of(addon)} {words(addon)}".strip() for name, addon in addons)
    seen = story.clusters.get(key.name)
    if seen is not None and isinstance(state, Placed):
        yield "job", usage(seen, now)


def _on(addon: Key, cluster: Key) -> bool:
    return addon.domain == "addon" and addon.tenant == cluster.tenant and addon.name.startswith(f"{cluster.name}.")


def _path(states: list[State], now: datetime) -> str:
    """The way so far, with the seconds spent on each part of it."""
    past, last = spans(states, event_of), states[-1]
    here = past.pop(event_of(last), 0.0) + max(0.0, (now - last.since).total_seconds())
    way = [f"{name} {seconds:.1f}s" for name, seconds in past.items()]
    over = event_of(last) in TERMINAL.values()
    return " → ".join((*way, f"[bold]{event_of(last)}[/bold]" + ("" if over else f" {here:.1f}s")))


def _bar(there: int, wanted: int) -> str:
    width = min(wanted, 16)
    full = min(width, there * width // wanted)
    return f"[green]{'■' * full}[/green]{'□' * (width - full)} {there}/{wanted}"


def _countdown(story: Story, ending: State, now: datetime) -> str:
    """How long until it goes, if nothing changes."""
    if isinstance(ending, Warned):
        return f"goes in {max(0.0, (ending.until - now).total_seconds()):.1f} s: {ending.reason}"
    if not isinstance(ending, TeardownState) or event_of(ending) != "armed":
        return words(ending)
    seen, limit = story.clusters.get(ending.wish.name), ending.wish.limits.idle_after_seconds
    if seen is None or seen.idle_since is None or limit is None or ending.ready_since is None:
        return ""
    end = max(seen.idle_since, ending.ready_since) + timedelta(seconds=limit)
    return f"idle: goes in {max(0.0, (end - now).total_seconds()):.1f} s"


def drawn(lines: Iterable[BoardRow], title: str) -> Panel:
    """The lines as a panel."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="cyan", no_wrap=True)
    grid.add_column()
    for name, text in lines:
        grid.add_row(name, text)
    return Panel(grid, title=title, title_align="left", border_style="dim")


@asynccontextmanager
async def live(console: Console, picture: Callable[[], Panel]) -> AsyncIterator[None]:
    """Redraw the picture from this thread alone: the story changes between two drawings, not in one."""
    with Live(picture(), console=console, auto_refresh=False, transient=False) as display:
        task = asyncio.create_task(_redraw(display, picture))
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            display.update(picture(), refresh=True)


async def _redraw(display: Live, picture: Callable[[], Panel]) -> None:
    while True:
        display.update(picture(), refresh=True)
        await asyncio.sleep(FRAME)
