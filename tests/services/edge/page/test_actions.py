"""Signed-in operators change clusters on the page as the command line does, and nobody else changes anything."""

import pytest

from events.errors import Denied, TryLater
from tests.services.edge.page.colonies import Colonies, colony
from tests.services.edge.page.page_server import JO, open_page

GPU = "/colonies/acme/train/gpu"


@pytest.fixture
def kube():
    return Colonies(colony())


@pytest.fixture
async def page(bus, tmp_path, kube):
    async with open_page(bus, tmp_path, kube=kube) as one:
        yield one


def cluster(kube):
    return kube.kept["acme", "train"]["spec"]["clusters"][0]


async def act(page, action, body=None, **how):
    return await page.ask("POST", f"{GPU}/{action}", json=body or {}, headers=JO, **how)


@pytest.mark.parametrize(
    ("action", "body", "field", "value"),
    [
        ("extend", {"timeToLive": "12h"}, "timeToLive", "12h"),
        ("hibernate", {}, "hibernate", True),
    ],
)
async def test_an_action_is_written_into_the_colony(page, kube, *, action, body, field, value):
    assert (await act(page, action, body)).json == {"changed": True}
    assert cluster(kube)[field] == value


async def test_a_cluster_that_hibernates_is_woken_once(page, kube):
    assert (await act(page, "wake")).json == {"changed": False}
    cluster(kube)["hibernate"] = True
    assert (await act(page, "wake")).json == {"changed": True}
    assert cluster(kube)["hibernate"] is False


async def test_pools_are_scaled_by_name(page, kube):
    assert (await act(page, "scale", {"nodes": {"workers": 5}})).status == 200
    assert cluster(kube)["pools"][0]["nodes"] == 5


async def test_a_life_is_never_shortened(page, kube):
    assert (await act(page, "extend", {"timeToLive": "1h"})).json == {"changed": False}
    assert cluster(kube)["timeToLive"] == "6h"


async def test_a_cluster_that_has_ended_is_recreated(page, kube):
    assert (await act(page, "recreate")).status == 409
    kube.kept["acme", "train"] = colony(phase="Released")
    assert (await act(page, "recreate")).status == 200
    assert cluster(kube)["askedAt"] == "2026-01-01T12:00:00Z"


@pytest.mark.parametrize("force", [False, True])
async def test_a_colony_is_deleted_with_all_of_its_clusters(page, kube, force):
    kept = kube.kept["acme", "train"]
    got = await page.ask("DELETE", f"/colonies/acme/train?force={str(force).lower()}", headers=JO)
    assert (got.status, kube.kept) == (200, {})
    assert bool(kept["metadata"].get("annotations")) is force


@pytest.mark.parametrize(
    ("path", "body", "status", "detail"),
    [
        (
            f"{GPU}/explode",
            {},
            404,
            "there is no such action: expected one of extend, scale, hibernate",
        ),
        (f"{GPU}/scale", {}, 422, "nodes is missing: expected the number of nodes of each pool, by name"),
        (f"{GPU}/scale", {"nodes": {"workers": 0}}, 422, "the body is not understood"),
        (f"{GPU}/scale", {"nodes": {"cpu": 1}}, 404, "cluster gpu has no pool cpu: it has workers"),
        (f"{GPU}/extend", {"timeToLive": "soon"}, 422, "timeToLive is 'soon'"),
        (f"{GPU}/extend", {"ttl": "1h"}, 422, "the body is not understood"),
        ("/colonies/acme/train/cpu/wake", {}, 404, "Colony train has no cluster cpu: it has gpu"),
        ("/colonies/acme/other/gpu/wake", {}, 404, "there is no Colony other"),
    ],
)
async def test_an_action_that_cannot_be_done_says_why(page, kube, *, path, body, status, detail):
    got = await page.ask("POST", path, json=body, headers=JO)
    assert (got.status, got.json["detail"][: len(detail)]) == (status, detail)
    assert kube.kept == Colonies(colony()).kept


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (Denied("no", "Forbidden"), 403),
        (Denied("the Colony was changed meanwhile", "Invalid"), 409),
        (TryLater("no answer", 2.0), 503),
    ],
    ids=["not granted", "changed meanwhile", "away"],
)
async def test_an_error_of_the_kubernetes_api_is_reported(page, kube, error, status):
    kube.error = error
    assert (await act(page, "wake")).status == status


ROUTES = [("POST", f"{GPU}/hibernate"), ("DELETE", "/colonies/acme/train")]


@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_without_an_operators_token_nothing_is_changed(page, kube, method, path):
    assert (await page.ask(method, path)).status == 401
    assert (await page.ask(method, path, headers={"Authorization": "Bearer mine"})).status == 403
    assert kube.kept == Colonies(colony()).kept


@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_another_site_changes_nothing_with_an_operators_session(page, kube, method, path):
    await page.sign_in()
    for headers in ({"Origin": "https://evil.example"}, {"X": "no Origin"}):
        assert (await page.ask(method, path, headers=headers)).status == 403
    assert kube.kept == Colonies(colony()).kept
    assert (await page.ask(method, path, headers=page.origin)).status == 200
