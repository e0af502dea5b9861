"""The page in a real browser: it lives, comes back after a cut, tells lives and redrives, however one looks on."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, Page, async_playwright, expect

from events.bus import Consumer
from services.edge.page.brief import lanes
from tests.services.edge.page.hall import TOKEN, open_page

CHROMIUM = Path("/usr/bin/chromium")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no {CHROMIUM}: apt-get install chromium"),
]


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as play:
        one = await play.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield one
        await one.close()


@pytest.fixture
async def seen(browser, page) -> AsyncIterator[Page]:
    """The page in a window; nothing in it may go wrong."""
    wrong: list[str] = []
    window = await browser.new_page(viewport={"width": 1280, "height": 800})
    window.on("pageerror", lambda error: wrong.append(str(error)))
    window.on("console", lambda said: wrong.append(said.text) if "Content Security" in said.text else None)
    await window.goto(page.url)
    await expect(window.locator("#line")).to_have_text("live")
    yield window
    await window.close()
    assert wrong == []


def rows(window: Page, box: str):
    return window.locator(f"#{box} .row:visible")


async def test_what_is_said_is_seen_at_once(page, seen):
    await page.say("cluster.requested.acme", b'{"name":"<img src=x onerror=alert(1)>"}')
    await expect(rows(seen, "said").filter(has_text="cluster.requested.acme")).to_be_visible()
    await expect(seen.locator("#names li")).to_have_count(len(lanes()))
    assert await seen.locator("img[onerror]").count() == 0


@pytest.mark.parametrize("between", ["nothing answers", "a proxy answers"])
async def test_after_a_cut_the_page_goes_on_by_itself_and_has_missed_nothing(page, seen, tmp_path, between):
    address = urlsplit(page.url).netloc
    if between == "a proxy answers":  # a browser gives up on that, the page does not
        await seen.route("**/live*", lambda route: route.fulfill(status=502), times=1)
    async with AsyncExitStack() as stack:
        await page.say("cluster.requested.before")
        await expect(rows(seen, "said").filter(has_text="cluster.requested.before")).to_be_visible()
        told = int((await seen.locator("#said-count").text_content()).split()[0])
        await page.shut()
        await expect(seen.locator("#line")).to_contain_text("cut off")
        await page.say("cluster.requested.meanwhile")
        await stack.enter_async_context(open_page(page.bus, tmp_path, address=address))
        await expect(seen.locator("#line")).to_have_text("live", timeout=20_000)
        await expect(rows(seen, "said").filter(has_text="cluster.requested.meanwhile")).to_have_count(1)
        await expect(seen.locator("#said-count")).to_have_text(f"{told + 1} since this page was opened")


async def test_a_life_is_a_timeline_with_its_causes(page, seen):
    await seen.goto(f"{page.url}/#/life/default/train-gpu")
    await expect(seen.locator("#life-of")).to_have_text("default/train-gpu")
    bar = seen.locator(".bar-of", has_text="cluster/train-gpu")
    words = [re.sub(r"\W", "", each) for each in await bar.locator(".part").all_text_contents()]
    assert words[:4] == ["requested", "launching", "provisioned", "ready"]
    await rows(seen, "turns").filter(has_text="teardown/train-gpu").first.click()
    await expect(seen.locator("#cause")).to_contain_text("became armed because of: cluster/train-gpu became")


async def test_a_letter_is_redriven_by_who_has_signed_in_and_by_nobody_else(page, seen):
    consumer = Consumer("gateway-intake", "INTAKE", ("cluster.requested", "cluster.requested.*"))
    feed = page.bus.consume(consumer)
    waiting = asyncio.ensure_future(anext(feed))
    await asyncio.sleep(0)
    number = await page.bury("cluster.requested.acme", "spec.x was not known yet")
    await seen.get_by_role("tab", name="Dead letters").click()
    group = seen.locator("#groups li", has_text="spec.x was not known yet")
    await expect(group.get_by_role("button")).to_be_disabled()
    await seen.locator("#who").click()
    await seen.locator("#token").fill("not it")
    await seen.locator("#token").press("Enter")
    await expect(seen.locator("#sign-in-wrong")).to_have_text("the token is no operator's")
    await seen.locator("#token").fill(TOKEN)
    await seen.locator("#token").press("Enter")
    await expect(seen.locator("#who")).to_have_text("Sign out operator.jo")
    await group.get_by_role("button").click()
    await expect(seen.locator("#letters-sum")).to_contain_text("1 redriven")
    assert await page.bus.at("DLQ", number) is None
    assert TOKEN not in await seen.content() + await seen.evaluate("document.cookie + JSON.stringify(localStorage)")
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)


async def test_everything_is_reached_by_keyboard(page, seen):
    for name in "abc":
        await page.say(f"cluster.stalled.acme.{name}", b'{"uid":"u","reason":"NoOfferFits"}')
    await seen.get_by_role("tab", name="Flow").focus()
    await seen.keyboard.press("ArrowRight")
    assert await seen.evaluate("document.activeElement.id") == "tab-fleet"
    await expect(rows(seen, "clusters")).to_have_count(3)
    await seen.locator("#clusters").focus()
    await seen.keyboard.press("ArrowDown")
    await seen.keyboard.press("End")
    await expect(seen.locator("#clusters [aria-selected=true]")).to_contain_text("acme/c")
    await seen.keyboard.press("Enter")
    await expect(seen.locator("#life-of")).to_have_text("acme/c")
    await expect(rows(seen, "turns")).to_have_count(1)


async def test_the_fleet_follows_every_change(page, seen):
    await seen.get_by_role("tab", name="Fleet").click()
    await page.say("cluster.waiting.acme.a", b'{"uid":"u","reason":"NoOfferFits"}')
    await expect(rows(seen, "clusters")).to_contain_text(["▲ waiting"])
    await page.say("cluster.ready.acme.a", b'{"uid":"u"}')
    await expect(rows(seen, "clusters")).to_contain_text(["◆ ready"])
    await page.say("cluster.released.acme.a", b'{"uid":"u"}')
    await expect(rows(seen, "clusters")).to_have_count(0)


LOT = b'{"accelerator":"H100","accelerators_per_node":8,"nodes":2,"price_per_hour":20.5}'
PAID = (
    b'{"uid":"u","cost_usd":1000,"billed_since":"2026-01-01T00:00:00Z","attempt":{"placement":{"lots":[' + LOT + b"]}}}"
)


@pytest.mark.parametrize(
    ("said", "data", "state", "told"),
    [
        ("teardown.draining.acme.a", b'{"uid":"u","blocked":"Job x still has 2 pods"}', "■ draining", "2 pods"),
        ("inventory.cluster.acme.a", b'{"uid":"u","known":false}', "▲ unheard", "its API cannot be heard"),
        (
            "addon.degraded.acme.a_2Edriver",
            b'{"addon":"driver","message":"no class"}',
            "▲ degraded",
            "driver: no class",
        ),
    ],
)
async def test_what_ends_is_not_heard_or_lacks_an_addon_is_not_green(page, seen, *, said, data, state, told):
    await seen.get_by_role("tab", name="Fleet").click()
    await page.say("cluster.ready.acme.a", b'{"uid":"u"}')
    await expect(rows(seen, "clusters")).to_contain_text(["◆ ready"])
    await page.say(said, data, "e-2")
    await expect(rows(seen, "clusters")).to_contain_text([state])
    await expect(rows(seen, "clusters")).to_contain_text([told])
    await expect(rows(seen, "clusters").locator(".good")).to_have_count(0)
    await page.say("cluster.ready.acme.a", b'{"uid":"u"}', "e-3")
    await seen.reload()
    await seen.get_by_role("tab", name="Fleet").click()
    await expect(rows(seen, "clusters")).to_contain_text([state])


async def test_the_fleet_shows_what_a_cluster_has_cost_by_now(page, seen):
    await seen.get_by_role("tab", name="Fleet").click()
    await page.say("cluster.ready.acme.a", PAID)
    await expect(rows(seen, "clusters")).to_contain_text(["41.00 $/h"])
    hours = (datetime.now(UTC) - datetime(2026, 1, 1, tzinfo=UTC)).total_seconds() / 3600
    shown = re.search(r"([\d.]+) USD so far", await seen.locator("#sum").inner_text())
    assert shown is not None
    assert float(shown[1]) == pytest.approx(1000 + 41 * hours, abs=5)


@pytest.mark.parametrize("view", ["Flow", "Fleet", "Life", "Dead letters"])
async def test_in_a_narrow_window_nothing_sticks_out(page, seen, view):
    await page.say("cluster.stalled.acme.a-name-that-is-rather-long-for-a-telephone", b'{"uid":"u"}')
    await seen.set_viewport_size({"width": 360, "height": 640})
    await seen.get_by_role("tab", name=view).click()
    assert await seen.evaluate("document.documentElement.scrollWidth") <= 360


async def test_ten_thousand_clusters_and_what_is_said_of_them_take_few_elements(page, seen):
    for number in range(10_000):
        await page.say(f"cluster.ready.acme.c{number:05}", b'{"uid":"u"}', f"e-{number}")
    await seen.get_by_role("tab", name="Fleet").click()
    await expect(seen.locator("#sum")).to_contain_text("10000 of 10000 clusters", timeout=20_000)
    for number in range(2_000):
        await page.say(f"cluster.waiting.acme.c{number:05}", b'{"uid":"u"}', f"w-{number}")
    await expect(seen.locator("#states")).to_contain_text("waiting 2000")
    await seen.locator("#clusters").focus()
    await seen.keyboard.press("End")
    await expect(seen.locator("#clusters [aria-selected=true]")).to_contain_text("acme/c01999")
    await seen.get_by_role("tab", name="Flow").click()
    await expect(rows(seen, "said").first).to_contain_text("cluster.waiting.acme.c01999")
    assert await seen.evaluate("document.querySelectorAll('*').length") < 700


async def test_a_closed_page_asks_for_a_token_first_and_shows_all_after(browser, closed):
    window = await browser.new_page()
    await window.goto(closed.url)
    await expect(window.locator("#sign-in")).to_be_visible()
    await expect(window.locator("#names li")).to_have_count(0)
    await window.locator("#token").fill(TOKEN)
    await window.locator("#token").press("Enter")
    await expect(window.locator("#line")).to_have_text("live")
    await window.close()
