"""The page in a real browser: it is live, reconnects by itself, and can be used by keyboard and on a phone."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, async_playwright, expect

from events.bus import Consumer
from schemas import addon, cluster, teardown
from schemas.placement import Attempt, Placement
from services.edge.page.summary import subject_groups
from tests.services.edge.page.colonies import Colonies, colony
from tests.services.edge.page.page_server import TOKEN, open_page
from tests.services.edge.page.page_server import Page as PageServer
from tests.services.edge.page.states import LOT, addon_state, seen, state, wish

CHROMIUM = Path("/usr/bin/chromium")
pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),  # the browser's connection lives in one loop
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no {CHROMIUM}: apt-get install chromium"),
]
PHONE = {"width": 390, "height": 844}


fixture = pytest_asyncio.fixture(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def browser() -> AsyncIterator[Browser]:
    """One for all tests; each has windows of its own, which share nothing."""
    async with async_playwright() as play:
        one = await play.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield one
        await one.close()


@fixture
async def page(bus, tmp_path) -> AsyncIterator[PageServer]:
    async with open_page(bus, tmp_path) as one:
        yield one


@fixture
async def closed(bus, tmp_path) -> AsyncIterator[PageServer]:
    """A page that nobody may view without a token."""
    async with open_page(bus, tmp_path, is_open=False) as one:
        yield one


@fixture
async def window(browser, page) -> AsyncIterator[Page]:
    """The page in a window; nothing in it may go wrong."""
    wrong: list[str] = []
    one = await browser.new_page(viewport={"width": 1280, "height": 800})
    one.on("pageerror", lambda error: wrong.append(str(error)))
    one.on("console", lambda line: wrong.append(line.text) if "Content Security" in line.text else None)
    await one.goto(page.url)
    await expect(one.locator("#status")).to_have_text("live")
    yield one
    await one.close()
    assert wrong == []


def rows(window: Page, box: str):
    return window.locator(f"#{box} .row:visible")


async def go(window: Page, name: str) -> None:
    await window.get_by_role("tab", name=name).click()


async def test_a_message_is_shown_at_once_and_as_text(page, window):
    await go(window, "Flow")
    await page.publish("cluster.requested.acme", b'{"name":"<img src=x onerror=alert(1)>"}')
    await expect(rows(window, "messages").filter(has_text="cluster.requested.acme")).to_be_visible()
    assert await window.locator("img[onerror]").count() == 0


async def test_observations_are_folded_away_until_they_are_asked_for(page, window):
    await go(window, "Flow")
    groups = subject_groups()
    hidden = sum(group.snapshot for group in groups)
    await page.publish_state(seen())
    await page.publish("cluster.requested.acme")
    await expect(rows(window, "messages").first).to_contain_text("cluster.requested.acme")
    await expect(rows(window, "messages").filter(has_text="inventory.cluster")).to_have_count(0)
    await expect(window.locator("#subjects li")).to_have_count(len(groups) - hidden + 1)
    await expect(window.locator("#subjects li").last).to_contain_text(f"observations ({hidden})")
    await window.get_by_label("Show observations").check()
    await expect(rows(window, "messages").filter(has_text="inventory.cluster.acme")).to_have_count(1)
    await expect(window.locator("#subjects li")).to_have_count(len(groups))


@pytest.mark.parametrize("between", ["nothing answers", "a proxy answers"])
async def test_after_an_interruption_the_page_reconnects_and_has_missed_nothing(page, window, tmp_path, between):
    await go(window, "Flow")
    address = urlsplit(page.url).netloc
    if between == "a proxy answers":  # a browser gives up on that, the page does not
        await window.route("**/live*", lambda route: route.fulfill(status=502), times=1)
    async with AsyncExitStack() as stack:
        await page.publish("cluster.requested.before")
        await expect(rows(window, "messages").filter(has_text="cluster.requested.before")).to_be_visible()
        count = int((await window.locator("#message-count").text_content()).split()[0])
        await page.stop()
        await expect(window.locator("#status")).to_contain_text("disconnected")
        await page.publish("cluster.requested.meanwhile")
        await stack.enter_async_context(open_page(page.bus, tmp_path, address=address))
        await expect(window.locator("#status")).to_have_text("live", timeout=20_000)
        await expect(rows(window, "messages").filter(has_text="cluster.requested.meanwhile")).to_have_count(1)
        await expect(window.locator("#message-count")).to_have_text(f"{count + 1} messages since this page was opened")


async def test_a_dead_letter_is_redelivered_by_a_signed_in_operator_and_by_nobody_else(page, window):
    consumer = Consumer("gateway-intake", "INTAKE", ("cluster.requested", "cluster.requested.*"))
    feed = page.bus.consume(consumer)
    waiting = asyncio.ensure_future(anext(feed))
    await asyncio.sleep(0)
    number = await page.dead_letter("cluster.requested.acme", "spec.x was not known yet")
    await window.get_by_role("tab", name="Dead letters").click()
    group = window.locator("#groups li", has_text="spec.x was not known yet")
    await expect(group.get_by_role("button")).to_be_disabled()
    await window.locator("#who").click()
    await window.locator("#token").fill("not it")
    await window.locator("#token").press("Enter")
    await expect(window.locator("#sign-in-wrong")).to_have_text("the token is no operator's")
    await window.locator("#token").fill(TOKEN)
    await window.locator("#token").press("Enter")
    await expect(window.locator("#who")).to_have_text("Sign out operator.jo")
    await group.get_by_role("button").click()
    await expect(window.locator("#letters-sum")).to_contain_text("1 redelivered")
    assert await page.bus.at("DLQ", number) is None
    assert TOKEN not in await window.content() + await window.evaluate("document.cookie + JSON.stringify(localStorage)")
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)


async def test_everything_is_reached_by_keyboard(page, window):
    for name in "abc":
        await page.publish_state(state(cluster.Stalled, wish(colony=name)))
    await window.get_by_role("tab", name="Dead letters").focus()
    await window.keyboard.press("ArrowRight")
    assert await window.evaluate("document.activeElement.id") == "tab-fleet"
    await expect(rows(window, "clusters")).to_have_count(3)
    await window.locator("#clusters").focus()
    await window.keyboard.press("ArrowDown")
    await window.keyboard.press("End")
    await expect(window.locator("#clusters [aria-selected=true]")).to_contain_text("c/gpu")
    await window.keyboard.press("Enter")
    await expect(window.locator("#cluster")).to_be_visible()
    assert await window.evaluate("location.hash") == "#/cluster/acme/c-gpu"


async def test_the_fleet_follows_every_change(page, window):
    await page.publish_state(state(cluster.Waiting))
    await expect(rows(window, "clusters")).to_contain_text(["▲ waiting"])
    await page.publish_state(state(cluster.Ready))
    await expect(rows(window, "clusters")).to_contain_text(["◆ ready"])
    await page.publish_state(state(cluster.Released))
    await expect(rows(window, "clusters")).to_have_count(0)


NOT_GREEN = {
    "ends": (state(teardown.Draining, wish(colony="ends"), blocked="Job x still has 2 pods"), "■ draining", "2 pods"),
    "hangs": (state(teardown.Stuck, wish(colony="hangs"), message="a volume is left"), "▲ stuck", "a volume is left"),
    "away": (seen(cluster="away-gpu", known=False), "▲ unreachable", "its API server cannot be reached"),
    "bare": (addon_state(addon.Degraded, cluster="bare-gpu"), "▲ degraded", "driver: no such class"),
}
"""By Colony, what is told of its ready cluster, and what its row shows."""


async def test_a_cluster_that_ends_or_cannot_be_used_as_asked_is_not_green(page, window):
    for name in ("good", *NOT_GREEN):
        await page.publish_state(state(cluster.Ready, wish(colony=name)))
    await expect(rows(window, "clusters").locator(".badge.good")).to_have_count(5)
    for name, (news, _, _) in NOT_GREEN.items():
        await page.publish_state(news, f"{name}-gpu")
    await assert_not_green(window)
    await window.reload()
    await assert_not_green(window)


async def assert_not_green(window: Page) -> None:
    for name, (_, shown, message) in NOT_GREEN.items():
        row = rows(window, "clusters").filter(has_text=f"{name}/gpu")
        await expect(row).to_contain_text(shown)
        await expect(row).to_contain_text(message)
    await expect(rows(window, "clusters").locator(".badge.good")).to_have_count(1)


async def test_a_row_shows_use_age_expiry_and_cost(page, window):
    await page.publish_state(state(cluster.Ready, cost_usd=1000.0))
    await page.publish_state(state(teardown.Armed))
    await page.publish_state(seen())
    row = rows(window, "clusters")
    texts = {
        "used": "8 / 16",
        "age": "2h",
        "expires": "in 3h",
        "price": "$41.00",
        "cost": "$1,082",
        "region": "aws us-east-1",
    }
    for column, text in texts.items():
        await expect(row.locator(f".col-{column}")).to_contain_text(text)
    await expect(row.get_by_role("link")).to_have_attribute("href", "#/cluster/acme/train-gpu")


async def test_a_history_is_a_time_line_in_which_short_states_can_be_read(page, window):
    await window.goto(f"{page.url}/#/cluster/default/train-gpu")
    await expect(window.locator("#cluster-name")).to_have_text("train/gpu")
    track = window.locator(".tl-row", has_text="cluster")
    words = [each.split(" ")[-1] for each in await track.locator(".tl-part").all_text_contents()]
    assert words[:4] == ["pending", "launching", "provisioned", "ready"]
    widths = [(await each.bounding_box())["width"] for each in await track.locator(".tl-part").all()]
    assert min(widths) > 30
    await expect(window.locator("#costs canvas")).to_be_visible()


async def test_a_cause_is_a_link_to_the_transition_that_caused_it(page, window):
    await window.goto(f"{page.url}/#/cluster/default/train-gpu")
    armed = rows(window, "transitions").filter(has_text="verifying").first
    await armed.get_by_role("link", name="cluster train-gpu became released").click()
    chosen = window.locator("#transitions [aria-selected=true]")
    await expect(chosen.locator(".entity")).to_have_text("cluster")
    await expect(chosen).to_contain_text("released")


async def test_an_open_cluster_follows_its_changes(page, window):
    await page.publish_state(state(cluster.Launching))
    await rows(window, "clusters").first.click()
    await expect(window.locator("#cluster-state")).to_have_text("● launching")
    await page.publish_state(state(cluster.Ready))
    await expect(window.locator("#cluster-state")).to_have_text("◆ ready")
    await expect(rows(window, "transitions")).to_have_count(2)


async def test_the_fleet_is_sorted_and_filtered(page, window):
    for name, price in (("a", 1.0), ("b", 9.0), ("c", 5.0)):
        lot = msgspec.structs.replace(LOT, price_per_hour=price)
        attempt = Attempt(number=1, placement=Placement(cloud="aws", region="r1", lots=(lot,)))
        await page.publish_state(state(cluster.Ready, wish(colony=name), attempt=attempt))
    await page.publish_state(state(cluster.Stalled, wish(colony="d")))
    first = rows(window, "clusters").first
    await expect(first).to_contain_text("d/gpu")
    await window.locator("#clusters-head").get_by_role("button", name="Per hour").click()
    await expect(first).to_contain_text("b/gpu")
    await window.locator("#states").get_by_role("button", name="stalled").click()
    await expect(rows(window, "clusters")).to_have_count(1)
    await window.locator("#states").get_by_role("button", name="stalled").click()
    await window.get_by_label("Find").fill("c/gpu")
    await expect(rows(window, "clusters")).to_have_count(1)
    await expect(window.locator("#sum-clusters")).to_have_text("1 of 4")


async def test_nothing_overflows_a_phone(page, window):
    await page.publish_state(state(cluster.Ready, wish(colony="a-rather-long-name-of-a-colony-that-does-not-end")))
    await page.publish_state(state(cluster.Stalled, message="a rather long sentence " * 9))
    await window.set_viewport_size(PHONE)
    await expect(rows(window, "clusters")).to_have_count(2)
    await rows(window, "clusters").first.click()
    widest = "Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)"
    for tab in ("Fleet", "Cluster", "Flow", "Dead letters"):
        await go(window, tab)
        assert await window.evaluate(widest) <= PHONE["width"], tab


async def test_ten_thousand_clusters_and_their_changes_take_few_elements(page, window):
    for number in range(10_000):
        await page.publish_state(state(cluster.Ready, wish(colony=f"c{number:05}")))
    await expect(window.locator("#sum-clusters")).to_have_text("10,000", timeout=20_000)
    for number in range(2_000):
        await page.publish_state(state(cluster.Waiting, wish(colony=f"c{number:05}")))
    await expect(window.locator("#states")).to_contain_text("waiting 2000")
    await window.locator("#clusters").focus()
    await window.keyboard.press("End")
    await expect(window.locator("#clusters [aria-selected=true]")).to_contain_text("c09999/gpu")
    await go(window, "Flow")
    await expect(rows(window, "messages").first).to_contain_text("cluster.waiting.acme.c01999-gpu")
    assert await window.evaluate("document.querySelectorAll('*').length") < 1000


async def test_a_closed_page_asks_for_a_token_first_and_shows_all_after(browser, closed):
    window = await browser.new_page()
    await window.goto(closed.url)
    await expect(window.locator("#sign-in")).to_be_visible()
    await expect(window.locator("#subjects li")).to_have_count(0)
    await window.locator("#token").fill(TOKEN)
    await window.locator("#token").press("Enter")
    await expect(window.locator("#status")).to_have_text("live")
    await window.close()


@pytest.fixture
def kube():
    return Colonies(colony())


@fixture
async def managed(bus, tmp_path, kube) -> AsyncIterator[object]:
    """A page beside a Kubernetes API that has the Colony of the cluster."""
    async with open_page(bus, tmp_path, kube=kube) as one:
        await one.publish_state(state(cluster.Ready))
        yield one


async def signed_in(browser, managed) -> Page:
    window = await browser.new_page(viewport={"width": 1280, "height": 800})
    await window.goto(f"{managed.url}/#/cluster/acme/train-gpu")
    await expect(window.locator("#actions button")).to_have_count(4)
    await expect(window.locator("#actions button:enabled")).to_have_count(0)
    await window.locator("#who").click()
    await window.locator("#token").fill(TOKEN)
    await window.locator("#token").press("Enter")
    await expect(window.locator("#actions button:enabled")).to_have_count(4)
    return window


async def test_an_operator_extends_scales_and_hibernates_a_cluster(browser, managed, kube):
    window = await signed_in(browser, managed)
    act, dialog = window.locator("#actions"), window.locator("#action")
    await act.get_by_role("button", name="Extend").click()
    await dialog.get_by_label("Time to live").fill("soon")
    await dialog.get_by_role("button", name="Extend").click()
    await expect(dialog.locator("#action-wrong")).to_contain_text("timeToLive is 'soon'")
    await dialog.get_by_label("Time to live").fill("12h")
    await dialog.get_by_role("button", name="Extend").click()
    await expect(dialog).to_be_hidden()
    await act.get_by_role("button", name="Scale").click()
    await dialog.get_by_label("Nodes of pool workers").fill("3")
    await dialog.get_by_role("button", name="Scale").click()
    await expect(dialog).to_be_hidden()
    await act.get_by_role("button", name="Hibernate").click()
    await dialog.get_by_role("button", name="Hibernate").click()
    await expect(act.get_by_role("button", name="Wake")).to_be_visible()
    spec = kube.kept["acme", "train"]["spec"]["clusters"][0]
    assert (spec["timeToLive"], spec["pools"][0]["nodes"], spec["hibernate"]) == ("12h", 3, True)
    await window.close()


async def test_an_operator_deletes_a_colony_after_reading_what_goes_with_it(browser, managed, kube):
    window = await signed_in(browser, managed)
    await window.locator("#actions").get_by_role("button", name="Delete").click()
    await expect(window.locator("#action-text")).to_have_text("Deletes Colony train with its cluster gpu.")
    await window.locator("#action").get_by_role("button", name="Cancel").click()
    assert kube.kept
    await window.locator("#actions").get_by_role("button", name="Delete").click()
    await window.locator("#action").get_by_role("button", name="Delete").click()
    await expect(window.locator("#actions button")).to_have_count(0)
    assert kube.kept == {}
    await window.close()


async def test_conditions_are_shown(browser, managed):
    window = await browser.new_page()
    await window.goto(f"{managed.url}/#/cluster/acme/train-gpu")
    await expect(window.locator("#conditions")).to_contain_text("16 of 16 accelerators")
    await window.close()


DRIFT = "Deployment default/web: /spec/replicas is 5 by kubectl-scale and should be 3"
HOSTILE = "<img src=x onerror=alert(1)>"


async def test_add_ons_are_drawn_in_their_order_and_follow_every_change(page, window):
    await page.publish_state(state(cluster.Ready))
    await page.publish_state(addon_state(addon.Applied, "base.nfd", message=""))
    await page.publish_state(addon_state(addon.Degraded, "base.certs", message=HOSTILE))
    after = ("base.nfd", "base.certs")
    await page.publish_state(addon_state(addon.Applying, "gpu", after=after, gated=True, message="waits for certs"))
    await window.goto(f"{page.url}/#/cluster/acme/train-gpu")
    boxes, table = window.locator("#addons-picture g.addon"), window.locator("#addons-body")
    for at, phase in enumerate(("failed", "applied", "waiting")):
        await expect(boxes.locator(".phase").nth(at)).to_contain_text(phase)
    left = {await each.locator(".name").text_content(): (await each.bounding_box())["x"] for each in await boxes.all()}
    assert left["gpu"] > left["nfd"] == left["certs"]
    await expect(window.locator("#addons-picture .edge")).to_have_count(2)
    await expect(window.locator("#addons-picture .edge.waits")).to_have_count(1)
    await expect(table).to_contain_text(HOSTILE)
    assert await window.locator("img[onerror]").count() == 0
    await expect(window.get_by_role("img", name="3 add-ons: 1 failed, 1 applied, 1 waiting")).to_be_visible()
    await page.publish_state(addon_state(addon.Applied, "base.certs", message=DRIFT))
    await expect(table.locator("tr", has_text="certs").first).to_contain_text(["■ drifted"])
    await expect(table).to_contain_text("/spec/replicas is 5 by kubectl-scale and should be 3")


async def test_a_cycle_among_add_ons_is_drawn_all_the_same(page, window):
    await page.publish_state(state(cluster.Ready))
    for one, other in (("a", "b"), ("b", "a")):
        await page.publish_state(addon_state(addon.Applying, one, after=(other,), gated=True, message=""))
    await window.goto(f"{page.url}/#/cluster/acme/train-gpu")
    await expect(window.locator("#addons-picture g.addon")).to_have_count(2)
