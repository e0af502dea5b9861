"""What comes in by HTTP is kept once and then answered with 202, or refused for the right reason."""

import asyncio
import gzip
import json

import pytest

from events.bus import Unavailable
from events.cloudevents import decode
from events.errors import TOO_LARGE, Denied
from events.memory.bus import MemoryBus
from tests.services.edge.house import RUN, SECRET, House, github

BODY = json.dumps(RUN).encode()


async def test_a_signed_delivery_is_kept_as_it_came_and_then_answered_with_202(house: House):
    answer = await house.github()
    assert (answer.status, answer.json) == (202, {"id": "d-1"})
    (kept,) = await house.kept()
    event = decode(kept.headers, kept.data)
    assert (event.id, event.type) == ("d-1", "com.github.workflow_run.requested")
    assert (event.source, event.subject) == ("https://api.github.com/repos/acme/models", "4711")
    assert event.time.isoformat() == "2026-01-01T11:59:58+00:00"
    assert kept.data == BODY
    assert kept.subject.startswith("hook.github.acme.ci.")
    assert house.counts() == {"github.202": 1}


async def test_a_delivery_counts_once_however_often_it_is_sent_for_a_week(house: House):
    for _ in range(8):
        assert (await house.github()).status == 202
        house.passes(days=1)
    assert len(await house.kept()) == 1
    assert (await house.github(**{"X-GitHub-Delivery": "d-2"})).status == 202
    assert len(await house.kept()) == 2


async def test_an_id_that_comes_again_with_another_body_is_a_conflict(house: House):
    await house.github()
    answer = await house.github(json.dumps(RUN | {"zen": 1}).encode())
    assert answer.status == 409
    assert len(await house.kept()) == 1


async def test_two_secrets_are_good_while_they_are_changed_and_nothing_restarts(house: House):
    old, new = github(BODY), github(BODY, "the new one", "d-2")
    house.endpoint("github.acme.ci", SECRET, "the new one")
    assert (await house.post("/hooks/github/acme/ci", BODY, old)).status == 202
    assert (await house.post("/hooks/github/acme/ci", BODY, new)).status == 202
    house.endpoint("github.acme.ci", "the new one")
    assert (await house.post("/hooks/github/acme/ci", BODY, old)).status == 401
    (house.secrets / "github.acme.ci").unlink()
    assert (await house.post("/hooks/github/acme/ci", BODY, new)).status == 404


REFUSED = {
    "no signature": ({"X-Hub-Signature-256": ""}, 401, "x-hub-signature-256"),
    "re-signed": (github(BODY, "a guess"), 401, "x-hub-signature-256"),
    "text for a signature": ({"X-Hub-Signature-256": "sha256=é"}, 401, "x-hub-signature-256"),
    "form": ({"Content-Type": "application/x-www-form-urlencoded"}, 415, "Content-Type"),
    "no content type": ({"Content-Type": ""}, 415, "Content-Type"),
    "charset": ({"Content-Type": "application/json; charset=utf-16"}, 415, "Content-Type"),
    "packed": ({"Content-Encoding": "gzip"}, 415, "Content-Encoding"),
    "no event": ({"X-GitHub-Event": ""}, 422, "X-GitHub-Event"),
    "no delivery": ({"X-GitHub-Delivery": ""}, 422, "X-GitHub-Delivery"),
    "long delivery": ({"X-GitHub-Delivery": "d" * 300}, 422, "X-GitHub-Delivery"),
}


@pytest.mark.parametrize(("changed", "status", "field"), REFUSED.values(), ids=REFUSED)
async def test_what_is_wrong_with_a_request_is_said_as_problem_details(house: House, changed, status, field):
    answer = await house.github(BODY, **changed)
    assert (answer.status, answer.json["status"], answer.json["field"]) == (status, status, field)
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert SECRET not in answer.body.decode()
    assert house.counts() == {f"github.{status}": 1}
    assert await house.kept() == ()


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "no JSON object"),
        (BODY[:-9], "no JSON object"),
        (b"[]", "no JSON object"),
        (b'{"a": "\xff"}', "UTF-8"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested"),
    ],
    ids=["empty", "half", "list", "bytes", "deep"],
)
async def test_a_signed_body_that_cannot_be_read_is_refused_with_its_reason(house: House, body, why):
    answer = await house.github(body)
    assert (answer.status, answer.json["field"]) == (422, "body")
    assert why in answer.json["detail"]


async def test_a_body_that_was_cut_no_longer_bears_its_signature(house: House):
    answer = await house.post("/hooks/github/acme/ci", BODY[:-9], github(BODY))
    assert answer.status == 401


async def test_a_bomb_is_not_unpacked(house: House):
    bomb = gzip.compress(bytes(100_000_000))
    answer = await house.github(bomb, **{"Content-Encoding": "gzip"})
    assert answer.status == 415
    assert answer.headers["Accept-Encoding"] == "identity"


async def chunks(size: int):
    for _ in range(size // 1000):
        yield b" " * 1000


@pytest.mark.parametrize("body", [b" " * 1_000_001, None], ids=["announced", "in chunks"])
async def test_a_body_that_is_too_large_is_not_read_to_its_end(house: House, body):
    answer = await house.ask("POST", "/hooks/github/acme/ci", data=body or chunks(1_100_000), headers=github(b""))
    assert (answer.status, answer.json["field"]) == (413, "body")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/hooks/nobody/acme/ci", 404),
        ("POST", "/hooks/github/acme/other", 404),
        ("POST", "/hooks/github/..%2f..%2fetc/passwd", 404),
        ("POST", "/elsewhere", 404),
        ("GET", "/hooks/github/acme/ci", 405),
    ],
)
async def test_what_is_not_there_is_problem_details_too(house: House, method, path, status):
    answer = await house.ask(method, path)
    assert (answer.status, answer.headers["Content-Type"]) == (status, "application/problem+json")


async def test_who_says_too_much_is_told_when_to_come_again(narrow: House):
    for number in range(2):
        assert (await narrow.github(**{"X-GitHub-Delivery": f"d-{number}"})).status == 202
    answer = await narrow.github(**{"X-GitHub-Delivery": "d-2"})
    assert (answer.status, answer.headers["Retry-After"]) == (429, "1")
    narrow.passes(seconds=1)
    assert (await narrow.github(**{"X-GitHub-Delivery": "d-2"})).status == 202


@pytest.mark.parametrize("hours", [1, -1])
async def test_a_clock_that_is_set_keeps_nobody_from_saying_more(narrow: House, hours):
    for number in range(3):
        await narrow.github(**{"X-GitHub-Delivery": f"d-{number}"})
    narrow.passes(hours=hours)
    await narrow.github(**{"X-GitHub-Delivery": "d-2"})
    narrow.passes(seconds=1)
    assert (await narrow.github(**{"X-GitHub-Delivery": "d-3"})).status == 202


async def test_a_stranger_uses_up_nothing(narrow: House):
    for _ in range(5):
        assert (await narrow.github(**{"X-Hub-Signature-256": "sha256=00"})).status == 401
    assert (await narrow.github()).status == 202


async def test_while_the_bus_is_away_nothing_is_promised(house: House):
    assert isinstance(house.bus, MemoryBus)
    behind = house.bus.again()
    house.bus.crash()
    answer = await house.github()
    assert (answer.status, answer.headers["Retry-After"]) == (503, "5")
    assert "the bus is away" in answer.json["detail"]
    assert await behind.read("HOOKS", "hook.>") == ()


async def test_an_acknowledgement_that_was_lost_is_no_second_delivery(house: House, monkeypatch):
    publish = house.bus.publish

    async def unheard(*what, **how):
        await publish(*what, **how)
        raise Unavailable("the answer was lost")

    with monkeypatch.context() as patched:
        patched.setattr(house.bus, "publish", unheard)
        assert (await house.github()).status == 503
    assert (await house.github()).status == 202
    assert len(await house.kept()) == 1


async def test_a_sender_that_leaves_in_the_middle_disturbs_nobody(house: House):
    host, port = house.url.removeprefix("http://").split(":")
    _, writer = await asyncio.open_connection(host, int(port))
    head = "\r\n".join(f"{name}: {value}" for name, value in github(BODY).items())
    writer.write(f"POST /hooks/github/acme/ci HTTP/1.1\r\nHost: x\r\nContent-Length: 999\r\n{head}\r\n\r\n".encode())
    writer.write(BODY[:20])
    await writer.drain()
    writer.close()
    await writer.wait_closed()
    assert (await house.github()).status == 202
    assert len(await house.kept()) == 1


@pytest.mark.parametrize(("reason", "status"), [(TOO_LARGE, 413), ("Forbidden", 503)])
async def test_what_the_bus_refuses_is_the_senders_business_only_if_it_is_too_large(
    house: House, monkeypatch, reason, status
):
    async def denied(*_, **__):
        raise Denied("nats://bus:4222 lets edge not publish on hook.github.acme.ci", reason)

    monkeypatch.setattr(house.bus, "publish", denied)
    answer = await house.github()
    assert answer.status == status
    assert ("nats://" in answer.json["detail"]) == (reason == TOO_LARGE)
