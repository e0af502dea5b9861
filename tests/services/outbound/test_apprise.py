"""A text reaches a service through apprise: within its time, at no forbidden address, and without its URL in a word."""

import asyncio
import json
import subprocess
import sys
import time

import msgspec
import pytest

from events.errors import TryLater
from events.http.addresses import LOOPBACK, Reach
from services.outbound.apprise_process import AppriseProcesses
from services.outbound.apprise_protocol import AppriseReply, AppriseRequest
from services.outbound.formats import ChatMessage
from services.outbound.outcome import ReceiverResponse
from services.outbound.sender import sending
from services.outbound.texts import ChatText
from tests.services.outbound.receiver import receiving

TOKEN = "t0ken0fThe5ervice"  # noqa: S105 - of no service
TEXT = ChatText("Cluster train/gpu is ready", "It costs 28.50 USD per hour, <b>1</b> USD so far.", "success")


def message(url: str) -> ChatMessage:
    return ChatMessage(url, TEXT)


def port_of(server: asyncio.Server) -> int:
    return int(server.sockets[0].getsockname()[1])


async def send(url: str, patience: float = 20.0, reach: Reach | None = None) -> ReceiverResponse:
    return await AppriseProcesses(patience, reach).send(message(url))


async def test_a_text_arrives_with_its_title_its_body_and_its_kind():
    async with receiving() as receiver:
        assert (await send(receiver.url.replace("http", "json"))).status == 200
    (got,) = receiver.got
    told = json.loads(got.body)
    assert (told["title"], told["message"], told["type"]) == (TEXT.title, TEXT.body, "success")


async def test_a_service_that_reads_slacks_webhooks_gets_the_text():
    async with receiving() as receiver:
        url = receiver.url.replace("http", "mmost")
        assert (await send(f"{url}/{TOKEN * 2}")).status == 200
    assert "Cluster train/gpu is ready" in json.loads(receiver.got[0].body)["text"]


@pytest.mark.parametrize(
    ("patch", "url", "path"),
    [
        ("discord.NotifyDiscord.notify_url", f"discord://4174216298/{TOKEN}", f"/4174216298/{TOKEN}"),
        (
            "slack.NotifySlack.webhook_url",
            "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ",
            "/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ",
        ),
    ],
)
async def test_discord_and_slack_get_what_their_webhooks_take(patch, url, path):
    where, _, name = patch.rpartition(".")
    async with receiving() as receiver:
        program = (
            f"import apprise.plugins.{where.partition('.')[0]} as module\n"
            f"module.{where.partition('.')[2]}.{name} = {receiver.url!r}\n"
            "from services.outbound.apprise_worker import main; main()"
        )
        request = AppriseRequest(url, TEXT.title, TEXT.body, TEXT.kind, checked=False)
        done = await asyncio.to_thread(
            subprocess.run,
            (sys.executable, "-c", program), input=msgspec.json.encode(request), capture_output=True, check=True,
        )  # fmt: skip
    (got,) = receiver.got
    assert got.path.partition("?")[0] == path
    assert "It costs 28.50 USD per hour" in got.body.decode()
    reply = msgspec.json.decode(done.stdout, type=AppriseReply)
    if "discord" in url:
        assert reply.sent
    else:  # Slack's own answer is the text `ok`
        assert (reply.sent, reply.status) == (False, 200)


async def test_an_e_mail_arrives():
    got: list[str] = []

    async def smtp(reader, writer):
        writer.write(b"220 here\r\n")
        data = False
        while line := await reader.readline():
            got.append(line.decode().rstrip())
            word = line.split(b" ")[0].strip().upper()
            if data and line != b".\r\n":
                continue
            writer.write(b"354 go on\r\n" if word == b"DATA" else b"250 ok\r\n")
            data = word == b"DATA"
            if word == b"QUIT":
                break
        writer.close()

    server = await asyncio.start_server(smtp, "127.0.0.1", 0)
    async with server:
        url = f"mailto://127.0.0.1:{port_of(server)}?from=alate@example.com&to=team@example.com"
        assert (await send(url)).status == 200
    assert "Subject: Cluster train/gpu is ready" in "\n".join(got)
    assert any(line.startswith("RCPT TO:<team@example.com>") or "team@example.com" in line for line in got)


@pytest.mark.parametrize(
    ("status", "headers", "response"),
    [
        (429, {"Retry-After": "7"}, (429, "7")),
        (404, {}, (404, "")),
        (500, {}, (500, "")),
        (302, {"Location": "/elsewhere"}, (302, "")),
    ],
)
async def test_what_a_service_refuses_is_said_as_for_webhooks(status, headers, response):
    async with receiving() as receiver:
        receiver.answers.append((status, headers))
        answer = await send(receiver.url.replace("http", "json"))
    assert (answer.status, answer.retry_after) == response
    assert len(receiver.got) == 1


async def test_a_service_that_is_silent_is_given_up_in_time_and_its_process_with_it():
    hold = asyncio.Event()

    async def silent(_, writer):
        await hold.wait()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    began = time.monotonic()
    with pytest.raises(TryLater, match="no answer in 3 s"):
        await send(f"json://127.0.0.1:{port_of(server)}/{TOKEN}", patience=3.0)
    assert time.monotonic() - began < 6
    hold.set()
    server.close()
    await server.wait_closed()


@pytest.mark.parametrize("says", [b"", b"rubbish\r\n\r\n"], ids=["nothing", "rubbish"])
async def test_a_service_that_breaks_off_is_try_later_without_a_word_of_its_url(says):
    async def answer(_, writer):
        writer.write(says)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        with pytest.raises(TryLater) as wrong:
            await send(f"json://user:{TOKEN}@127.0.0.1:{port_of(server)}/{TOKEN}")
    assert str(wrong.value) == "no answer"


async def test_the_loop_goes_on_while_a_text_is_sent():
    async with receiving() as receiver:
        sent = asyncio.create_task(send(receiver.url.replace("http", "json")))
        longest, before = 0.0, time.monotonic()
        while not sent.done():
            await asyncio.sleep(0.005)
            longest, before = max(longest, time.monotonic() - before), time.monotonic()
        await sent
    assert longest < 0.3


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("nonsense://x", "no URL that apprise knows"),
        (f"json://ops.example.com/{TOKEN}", "not encrypted: use jsons://"),
        (f"mailto://me:{TOKEN}@example.com", "not encrypted: use mailtos://"),
        (f"jsons://ops.example.com/{TOKEN}?verify=no", "must not say verify=no"),
        ("rsyslog://ops.example.com", "not encrypted"),
    ],
)
async def test_a_url_that_cannot_be_used_is_refused_with_a_reason_and_without_itself(url, why):
    with pytest.raises(ValueError, match=why) as wrong:
        await send(url)
    assert TOKEN not in str(wrong.value)


async def test_no_forbidden_address_is_connected_to():
    reach = Reach(frozenset(), "ALATE_OUTBOUND_ALLOW")
    async with receiving() as receiver, sending(reach=reach) as post:
        for url in (
            receiver.url.replace("http", "json"),
            "jsons://169.254.169.254/latest",
            "jsons://localhost/x",
            "mailtos://u:p@10.0.0.7?from=a@example.com&to=b@example.com",
        ):
            with pytest.raises(TryLater, match=r"not sent: \S+ is of .* allow it with .* in ALATE_OUTBOUND_ALLOW"):
                await post(message(url))
    assert receiver.got == []


async def test_an_address_that_the_setting_allows_is_connected_to():
    async with receiving() as receiver:
        answer = await send(receiver.url.replace("http", "json"), reach=Reach(frozenset({LOOPBACK})))
    assert (answer.status, len(receiver.got)) == (200, 1)


async def test_a_proxy_of_the_environment_gets_nothing(monkeypatch):
    async with receiving() as proxy, receiving() as receiver:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("http_proxy", proxy.url)
        await send(receiver.url.replace("http", "json"))
    assert (len(proxy.got), len(receiver.got)) == (0, 1)


def test_the_url_of_a_message_is_in_no_text_of_it():
    assert TOKEN not in repr(message(f"jsons://x/{TOKEN}"))
