"""Whoever has a token asks the inventory over HTTP, of what is its own."""

import asyncio
import json

import pytest

from events.errors import Denied
from events.rpc import Endpoint, RpcService
from services.queries.answer import KINDS, SUBJECT

JO = {"Authorization": "Bearer top"}
ACME = {"Authorization": "Bearer mine"}


@pytest.fixture
async def asked(house):
    """What the inventory was asked, by somebody who gives it all back."""
    house.endpoint("operator.jo", "top")
    house.endpoint("reader.acme.x", "mine")
    heard = []

    async def reply(data: bytes) -> bytes:
        if b"cheap" in data:
            raise Denied("maxPrice is no number", "BadQuestion")
        heard.append(json.loads(data))
        return b'{"items":[],"total":0,"remaining":0}'

    desk = RpcService("inventory", "1.0.0", "Echoes.", tuple(Endpoint(n, f"{SUBJECT}{n}", reply) for n in KINDS))
    task = asyncio.ensure_future(house.bus.answer(desk))
    await asyncio.sleep(0)
    yield heard
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("name", KINDS)
async def test_every_question_of_the_bus_is_answered_over_http(house, asked, name):
    got = await house.ask("GET", f"/inventory/{name}?accelerator=H100&limit=5", headers=JO)
    assert (got.status, got.json["total"], got.headers["Content-Type"]) == (200, 0, "application/json")
    assert asked == [{"accelerator": "H100", "limit": "5"}]


async def test_a_tenants_reader_sees_its_own_and_is_refused_others(house, asked):
    await house.ask("GET", "/inventory/nodes", headers=ACME)
    await house.ask("GET", "/inventory/nodes?tenant=acme&cluster=train", headers=ACME)
    assert asked == [{"tenant": "acme"}, {"tenant": "acme", "cluster": "train"}]
    refused = await house.ask("GET", "/inventory/gpus?tenant=umbrella", headers=ACME)
    assert (refused.status, refused.json["field"]) == (403, "tenant")
    assert len(asked) == 2


async def test_the_market_is_everybodys(house, asked):
    await house.ask("GET", "/inventory/offers?cloud=aws", headers=ACME)
    assert asked == [{"cloud": "aws"}]


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer other"}, {"Authorization": "Basic top"}])
async def test_without_a_good_token_nothing_is_asked(house, asked, headers):
    got = await house.ask("GET", "/inventory/nodes", headers=headers)
    assert (got.status, got.headers["WWW-Authenticate"], asked) == (401, "Bearer", [])
    assert b"other" not in got.body


@pytest.mark.parametrize(
    ("path", "status", "sentence"),
    [
        ("offers?maxPrice=cheap", 400, "maxPrice is no number"),
        ("offers?cloud=aws&cloud=gcp", 400, "cloud is given more than once: expected one value"),
        ("prices", 404, "the inventory answers no such question: ask for nodes, gpus, storage, offers"),
    ],
)
async def test_a_wrong_question_gets_the_sentence_the_bus_would_give(house, asked, path, status, sentence):
    got = await house.ask("GET", f"/inventory/{path}", headers=JO)
    assert (got.status, got.json["detail"]) == (status, sentence)


async def test_while_no_inventory_answers_the_asker_is_told_to_ask_again(house):
    house.endpoint("operator.jo", "top")
    got = await house.ask("GET", "/inventory/nodes", headers=JO)
    assert (got.status, got.headers["Retry-After"]) == (503, "5")
