"""Shows the demo as a live picture on a terminal, as a line per change in a pipe, or not at all."""

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from rich.console import Console
from rich.panel import Panel

from schemas.cluster import ClusterState
from services.cli.demo.board import BoardRow, drawn, live, rows
from services.cli.demo.chaos import Chaos
from services.cli.demo.story import DemoEvent, Story
from services.cli.demo.words import line
from services.cli.get.labels import label
from services.local.child import Child, Phase
from services.local.supervisor import Supervisor

DemoClock = Callable[[], float]
"""Seconds since the demo began."""


class Screen:
    """Shows nothing, where one JSON object is wanted."""

    def __init__(self, clock: DemoClock) -> None:
        self.clock = clock

    def say(self, text: str) -> None:
        """A line between the acts."""

    def show(self, event: DemoEvent) -> None:
        """A message on the bus says something new."""

    def process(self, child: Child) -> None:
        """A process of the stack is in another phase."""

    @asynccontextmanager
    async def showing(self, story: Story, stack: Supervisor, chaos: Chaos | None) -> AsyncIterator[None]:  # noqa: ARG002 - others draw them
        """While the story goes on."""
        yield


class LineScreen(Screen):
    """One line per change."""

    def __init__(self, clock: DemoClock) -> None:
        super().__init__(clock)
        self._shown: dict[tuple[str, ...], str] = {}
        self._labels: dict[str, str] = {}
        """COLONY/CLUSTER by the name of a cluster."""

    def say(self, text: str) -> None:
        sys.stdout.write(f"{self.clock():8.2f} s  {text}\n")
        sys.stdout.flush()

    def show(self, event: DemoEvent) -> None:
        if isinstance(event.content, ClusterState):
            self._labels[event.names[3]] = label(event.content.wish.colony, event.names[3])
        text = line(event, self._labels)
        if text is not None and self._shown.get(event.names) != text:  # a level may differ in what is not shown
            self._shown[event.names] = text
            self.say(text)

    def process(self, child: Child) -> None:
        self.say(f"process   {child.program.name:<34} {child.phase}")


class LiveScreen(Screen):
    """A live display."""

    def __init__(self, clock: DemoClock, console: Console) -> None:
        super().__init__(clock)
        self._console = console

    def say(self, text: str) -> None:
        self._console.print(text, style="dim", highlight=False)

    @asynccontextmanager
    async def showing(self, story: Story, stack: Supervisor, chaos: Chaos | None) -> AsyncIterator[None]:
        def picture() -> Panel:
            return drawn(
                [*rows(story, datetime.now(UTC)), *_processes(stack, chaos)], f"alate demo {self.clock():.1f} s"
            )

        async with live(self._console, picture):
            yield


def screen(clock: DemoClock, *, as_json: bool) -> Screen:
    """The one that fits where we write to."""
    if as_json:
        return Screen(clock)
    console = Console()
    return LiveScreen(clock, console) if console.is_terminal else LineScreen(clock)


COLOURS = {Phase.UP: "green", Phase.STARTING: "yellow", Phase.WAITING: "red", Phase.STOPPED: "dim"}


def _processes(stack: Supervisor, chaos: Chaos | None) -> list[BoardRow]:
    shown = "  ".join(f"[{COLOURS[child.phase]}]{child.program.name}[/]" for child in stack.children)
    killed = [("killed", ", ".join(f"{each.process} ({each.when})" for each in chaos.killed))] if chaos else []
    return [("processes", shown), *killed]
