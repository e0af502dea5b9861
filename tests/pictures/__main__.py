"""``python -m tests.pictures`` takes the pictures for README and docs in Chromium: the page, and a dashboard."""

import asyncio
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from playwright.async_api import Page, async_playwright

from events.bus import Stored
from events.memory.bus import MemoryBus
from schemas.entity import EPOCH
from schemas.registry import Stream, declared
from services.queries.answer import answer
from tests.pictures import dashboard
from tests.pictures.afternoon import Afternoon, afternoon
from tests.services.edge.page.colonies import Colonies
from tests.services.edge.page.page_server import TOKEN, open_page
from tests.story.prometheus import NEEDED, PROGRAM

CHROMIUM = "/usr/bin/chromium"
FOLDER = Path(__file__).parents[2] / "docs" / "images"
WIDTH = 1280
VIEWS = {"fleet": ("#/fleet", 790), "cluster": ("#/cluster/default/llama-finetune-gpu", 1180), "flow": ("#/flow", 720)}
"""Each picture: where on the page it is, and how high."""
SETTLES = 2.0
"""Seconds until everything is drawn."""


class Answering(MemoryBus):
    """A bus on which the inventory answers."""

    async def ask(self, subject: str, data: bytes = b"") -> bytes:
        stored = await self.read(Stream.LEVELS, ">")

        def kept(level: type[msgspec.Struct], *names: str) -> list[Stored]:
            prefix = declared(level).under(*names).rstrip("*.")
            return [each for each in stored if each.subject.startswith(prefix)]

        return answer(subject.rpartition(".")[2], data, kept, EPOCH)


async def take(of: Afternoon, folder: Path) -> None:
    """Serve the page on what the afternoon left, and take each picture."""
    times = [of.now]
    bus = Answering(clock=lambda: times[-1])
    await of.fill(bus, times)
    with TemporaryDirectory() as secrets:
        async with open_page(bus, Path(secrets), kube=Colonies(*of.colonies)) as page:
            page.now = of.now
            async with async_playwright() as play:
                browser = await play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
                window = await browser.new_page(viewport={"width": WIDTH, "height": 800})
                await sign_in(window, page.url)
                for name, (where, height) in VIEWS.items():
                    await window.set_viewport_size({"width": WIDTH, "height": height})
                    await window.goto(f"{page.url}/{where}")
                    await window.evaluate("document.activeElement.blur()")
                    await asyncio.sleep(SETTLES)
                    await window.screenshot(path=folder / f"page-{name}.png")
                await browser.close()


async def draw(folder: Path) -> None:
    """Draw the dashboards; none where there is no Prometheus."""
    if PROGRAM is None:
        sys.stderr.write(f"no picture of a dashboard: {NEEDED}\n")
        return
    with TemporaryDirectory() as scratch:
        async with async_playwright() as play:
            browser = await play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            await dashboard.take(browser, folder, Path(scratch))
            await browser.close()


async def sign_in(window: Page, url: str) -> None:
    await window.goto(url)
    await window.locator("#who").click()
    await window.locator("#token").fill(TOKEN)
    await window.locator("#token").press("Enter")
    await window.locator("#sign-in").wait_for(state="hidden")


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    target.mkdir(parents=True, exist_ok=True)
    found = afternoon()
    asyncio.run(take(found, target))
    asyncio.run(draw(target))
    names = (*(f"page-{name}" for name in VIEWS), *dashboard.DRAWN)
    sys.stdout.write("".join(f"{target / f'{name}.png'}\n" for name in names))
